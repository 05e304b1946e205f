"""Recording: what is recorded is what the two models would say, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ahasd.models.errors import ConfigError, TraceError
from ahasd.models.recording import RecordSettings, record
from ahasd.models.trace_files import write_set
from ahasd.models.traces import load_trace

VOCABULARY = 40
PROMPT = [3, 1, 4]
SETTINGS = RecordSettings(tokens=60, steps=9, temperature=0.5, seed=2)


class Trigrams:
    """A model in numpy: logits by hash of the last three tokens; a draft differs by ``noise``."""

    vocabulary = VOCABULARY

    def __init__(self, noise: float = 0.0, scale: float = 3.0) -> None:
        self._noise, self._scale = noise, scale
        self.tokens: list[int] = []
        self.fed = 0

    def _logits(self, last: Sequence[int]) -> np.ndarray[Any, Any]:
        base = np.random.Generator(np.random.PCG64([1, *last])).standard_normal(VOCABULARY)
        own = np.random.Generator(np.random.PCG64([2, *last])).standard_normal(VOCABULARY)
        logits = self._scale * (base + self._noise * own)
        logits[0] = -np.inf  # a token that is never said
        return logits

    def feed(self, tokens: Sequence[int]) -> np.ndarray[Any, Any]:
        out = []
        for token in tokens:
            self.tokens.append(token)
            out.append(self._logits(self.tokens[-3:]))
        self.fed += len(tokens)
        return np.array(out, np.float32)

    def rewind(self, length: int) -> None:
        assert length <= len(self.tokens)
        del self.tokens[length:]


def make(settings: RecordSettings = SETTINGS) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
    return record(Trigrams(), Trigrams(0.6), PROMPT, settings)


def entropy_and_top1(logits: np.ndarray[Any, Any]) -> tuple[float, float]:
    p = np.exp(logits.astype(np.float64) - logits.max())
    p /= p.sum()
    return float(-(p[p > 0] * np.log(p[p > 0])).sum()), float(p.max())


def test_every_row_is_the_drafts_greedy_rollout_from_the_true_prefix() -> None:
    arrays, _ = make()
    y = arrays["y"].tolist()
    matches = set()
    for row in range(SETTINGS.tokens):
        draft = Trigrams(0.6)
        logits = draft.feed([*PROMPT, *y[:row]])[-1]
        for step in range(SETTINGS.steps):
            token = int(np.argmax(logits))
            entropy, top1 = entropy_and_top1(logits)
            assert arrays["draft"][row, step] == token
            assert arrays["entropy"][row, step] == pytest.approx(entropy, abs=2e-3)
            assert arrays["top1"][row, step] == pytest.approx(top1, abs=1e-3)
            logits = draft.feed([token])[-1]
        said = arrays["draft"][row].tolist()
        match = next((k for k in range(len(said)) if said[k] != y[row + k]), len(said))
        assert arrays["match_len"][row] == match
        matches.add(match)
    assert {0, 1, 2} <= matches
    assert (arrays["accept_pred"] == arrays["top1"]).all()


def test_rollouts_are_shared() -> None:
    draft = Trigrams(0.6)
    arrays, _ = record(Trigrams(), draft, PROMPT, SETTINGS)
    misses = int((arrays["match_len"] == 0).sum())
    assert draft.fed <= len(PROMPT) + len(arrays["y"]) + (misses + SETTINGS.steps) * SETTINGS.steps


def test_greedy_text_is_the_targets_best_and_sampled_text_repeats_with_its_seed() -> None:
    greedy, _ = make(RecordSettings(tokens=20, steps=4, temperature=0))
    target = Trigrams()
    logits = target.feed(PROMPT)[-1]
    for token in greedy["y"]:
        assert token == np.argmax(logits)
        logits = target.feed([int(token)])[-1]
    texts = [make(RecordSettings(tokens=20, steps=4, seed=seed))[0]["y"].tolist() for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert 0 not in texts[0] + texts[2]


def test_sampled_text_follows_the_softmax() -> None:
    """One context again and again: a model that has forgotten all."""

    class Flat(Trigrams):
        def _logits(self, last: Sequence[int]) -> np.ndarray[Any, Any]:
            return np.log(np.array([0.5, 0.3, 0.2]))

    arrays, _ = record(Flat(), Flat(), [1], RecordSettings(tokens=1000, steps=1, temperature=1, seed=5))
    shares = np.bincount(arrays["y"], minlength=3) / len(arrays["y"])
    assert shares == pytest.approx([0.5, 0.3, 0.2], abs=0.05)


def test_a_recorded_set_loads(tmp_path: Path) -> None:
    arrays, facts = make()
    provenance = {"rows": 60, "steps": 9, "vocab": VOCABULARY, "vocab_draft": VOCABULARY, **facts}
    pieces = {i: f"<{i}>" for i in range(VOCABULARY)}
    (path,) = write_set(tmp_path / "set", {"00_prompt.npz": arrays}, pieces, provenance)
    trace = load_trace(path)
    assert (trace.rows, trace.steps, trace.context) == (60, 9, 3)
    assert trace.draft.tolist() == arrays["draft"].tolist()
    assert trace.entropy.max() <= trace.h_max


def test_progress_reaches_its_end() -> None:
    seen: dict[str, tuple[int, int]] = {}
    record(
        Trigrams(), Trigrams(0.6), PROMPT, SETTINGS, lambda what, done, of: seen.update({what: (done, of)})
    )
    assert len(seen) == 3
    assert all(done == of for done, of in seen.values())


def test_what_cannot_be_recorded() -> None:
    class Parrot(Trigrams):
        def _logits(self, last: Sequence[int]) -> np.ndarray[Any, Any]:
            return np.where(np.arange(VOCABULARY) == 7, 0.0, -np.inf)

    with pytest.raises(TraceError, match="one token only"):
        record(Parrot(), Parrot(), [7], SETTINGS)
    with pytest.raises(ConfigError, match="--prompt: has 0 tokens"):
        record(Trigrams(), Trigrams(), [], SETTINGS)
    with pytest.raises(ConfigError, match=r"tokens: 1025 must be an integer in 1\.\.1024"):
        RecordSettings(tokens=1025)

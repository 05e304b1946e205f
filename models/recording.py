"""Records a trace from two language models, whatever runs them.

All that the draft model says after a true prefix depends on the position alone. So one pass over the
target's text gives the first draft token of every row, and with it each row as long as it is right; what
comes after a miss is rolled out once for each position where the draft model misses. The sharing is exact
where a model's arithmetic does not depend on how its input is cut into passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ahasd.models.errors import ConfigError, TraceError
from ahasd.models.settings import check, param
from ahasd.models.trace_checks import CONTEXT_MAX, ROWS, STEPS

__all__ = ["CausalModel", "RecordSettings", "Said", "record"]

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]
"""What is being done, how much of it is done, of how much."""

CHUNK = 64
"""Tokens of one pass over known text: bounds the logits in memory."""
H_STEP = 0.5
"""Nats: ``h_max`` is the largest entropy seen, rounded up to this."""


class CausalModel(Protocol):
    """A causal language model with a KV cache."""

    @property
    def vocabulary(self) -> int:
        """Ids that it may say: 0 up to here."""

    def feed(self, tokens: Sequence[int]) -> npt.NDArray[Any]:
        """Append ``tokens``; logits [len(tokens), vocabulary] after each, minus infinity for never."""

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""


@dataclass(frozen=True, kw_only=True)
class RecordSettings:
    """Settings of a recording."""

    tokens: int = param(ROWS, unit="tokens", low=1, high=ROWS, note="rows of the trace")
    steps: int = param(STEPS, unit="tokens", low=1, high=STEPS, note="of each rollout")
    temperature: float = param(0.7, low=0, high=100, note="of the target's own text; 0: greedy")
    seed: int = param(0, low=0, high=2**63 - 1)

    def __post_init__(self) -> None:
        check(self)


@dataclass
class Said:
    """What a model says at several places: token with its features."""

    ids: npt.NDArray[np.int64]
    entropy: Floats
    top1: Floats

    @classmethod
    def none(cls, *shape: int) -> Said:
        """Room for as much."""
        return cls(np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape))

    def put(self, at: Any, logits: npt.NDArray[Any]) -> None:
        """The greedy choices of ``logits`` [..., vocabulary]."""
        p, self.entropy[at] = _softmax(logits)
        self.ids[at] = np.argmax(logits, axis=-1)
        self.top1[at] = p.max(axis=-1)


def record(
    target: CausalModel,
    draft: CausalModel,
    prompt: Sequence[int],
    settings: RecordSettings,
    progress: Progress | None = None,
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """The arrays of a trace, and what its provenance must say of them.

    Parameters
    ----------
    target, draft : CausalModel
        Fresh, and of one vocabulary of ids.
    prompt : sequence of int
    settings : RecordSettings
    progress : callable, optional
        Called now and then.

    Raises
    ------
    TraceError
        If prompt and text hold one id only, so that nothing could be refuted.
    """
    tell = progress or (lambda what, done, of: None)
    if not 1 <= len(prompt) <= CONTEXT_MAX:
        raise ConfigError(f"--prompt: has {len(prompt)} tokens, expected 1 to {CONTEXT_MAX}")
    y, target_entropy = _generate(target, prompt, settings, tell)
    if len({*prompt, *y}) < 2:
        raise TraceError("the target model says one token only, which nothing can refute")
    first = _first_tokens(draft, prompt, y, tell)
    right = first.ids == np.array(y)
    after = _after_misses(draft, len(prompt), first, right, settings, tell)
    arrays = _rows(first, after, right, settings)
    kind = np.uint16 if max(target.vocabulary, draft.vocabulary) <= 1 << 16 else np.uint32
    h_max = min(H_STEP * math.ceil(arrays["entropy"].max() / H_STEP) or H_STEP, math.log(draft.vocabulary))
    rows = settings.tokens
    return {
        "y": np.array(y, kind),
        **arrays,
        "draft": arrays["draft"].astype(kind),
        "lookahead": np.full(rows, settings.steps, np.uint8),
        "turn": np.zeros(rows, np.uint8),
        "target_entropy": np.array(target_entropy[:rows], np.float16),
        "context": np.array(len(prompt), np.uint16),
        "prompt": np.array(prompt, kind),
        "prompt_token": np.array(prompt[-1], kind),
    }, {"h_max": h_max}


def _softmax(logits: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    """Probabilities and entropy (nats), at temperature 1."""
    x = logits.astype(np.float64)
    x -= x.max(axis=-1, keepdims=True)
    p = np.exp(x)
    whole = p.sum(axis=-1, keepdims=True)
    p /= whole
    entropy = np.log(whole[..., 0]) - np.where(p > 0, p * np.where(np.isfinite(x), x, 0), 0).sum(axis=-1)
    return p, np.maximum(entropy, 0)


def _generate(
    target: CausalModel, prompt: Sequence[int], settings: RecordSettings, tell: Progress
) -> tuple[list[int], list[float]]:
    """The target's text. Its noise belongs to the position, so it does not matter which draft is checked."""
    count = settings.tokens + settings.steps
    y: list[int] = []
    entropies: list[float] = []
    logits = _pass(target, prompt)
    for position in range(count):
        entropies.append(float(_softmax(logits)[1]))
        scores = logits.astype(np.float64)
        if settings.temperature > 0:
            scores = scores / settings.temperature + _gumbel(settings.seed, position, len(scores))
        y.append(int(np.argmax(scores)))
        if position + 1 < count:
            logits = target.feed([y[-1]])[-1]
        tell("target model's text", position + 1, count)
    return y, entropies


def _gumbel(seed: int, position: int, size: int) -> Floats:
    """Noise of one position: argmax of logits / T + noise is a draw from the softmax at T."""
    uniform = np.random.Generator(np.random.PCG64([seed, position])).random(size)
    return -np.log(-np.log(np.clip(uniform, 1e-300, 1 - 1e-16)))


def _pass(model: CausalModel, tokens: Sequence[int]) -> npt.NDArray[Any]:
    """Feed known text; the logits after its last token."""
    for at in range(0, len(tokens), CHUNK):
        logits: npt.NDArray[Any] = model.feed(tokens[at : at + CHUNK])[-1]
    return logits


def _first_tokens(draft: CausalModel, prompt: Sequence[int], y: Sequence[int], tell: Progress) -> Said:
    """What the draft model says after each true prefix; its cache then holds all but the last of y."""
    said = Said.none(len(y))
    said.put(0, _pass(draft, prompt))
    for at in range(0, len(y) - 1, CHUNK):
        logits = draft.feed(y[at : min(at + CHUNK, len(y) - 1)])
        said.put(slice(at + 1, at + 1 + len(logits)), logits)
        tell("draft model's first tokens", at + len(logits), len(y) - 1)
    return said


def _after_misses(
    draft: CausalModel,
    context: int,
    first: Said,
    right: npt.NDArray[np.bool_],
    settings: RecordSettings,
    tell: Progress,
) -> Said:
    """[position of a miss, tokens since] what the draft model goes on to say.

    From the last miss to the first, so that its cache is only ever cut.
    """
    after = Said.none(len(right), settings.steps)
    misses = np.flatnonzero(~right)[::-1].tolist()
    for done, miss in enumerate(misses):
        longest = settings.steps - 1 - max(0, miss - (settings.tokens - 1))
        draft.rewind(context + miss)
        token = int(first.ids[miss])
        for step in range(longest):
            after.put((miss, step), draft.feed([token])[-1])
            token = int(after.ids[miss, step])
        tell("draft model after its misses", done + 1, len(misses))
    return after


def _rows(
    first: Said, after: Said, right: npt.NDArray[np.bool_], settings: RecordSettings
) -> dict[str, npt.NDArray[Any]]:
    """Each row: right tokens, the first wrong one, and what follows it."""
    rows, steps = settings.tokens, settings.steps
    said, match = Said.none(rows, steps), np.zeros(rows, np.uint8)
    for row in range(rows):
        window = right[row : row + steps]
        match[row] = good = steps if window.all() else int(np.argmin(window))
        on, off = min(good + 1, steps), max(steps - good - 1, 0)
        for name in ("ids", "entropy", "top1"):
            values = getattr(said, name)
            values[row, :on] = getattr(first, name)[row : row + on]
            if off:
                values[row, on:] = getattr(after, name)[row + good, :off]
    return {
        "draft": said.ids,
        "entropy": said.entropy.astype(np.float16),
        "top1": said.top1.astype(np.float16),
        "accept_pred": said.top1.astype(np.float16),
        "match_len": match,
    }

"""Synthetic traces: text whose acceptance and entropy follow stated parameters, for sweeps.

All that the draft model says after a true prefix depends on the position alone, so rollouts from different
rows agree wherever they share their prefix, exactly. docs/traces.md has the model and its limits.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ahasd.models.errors import ConfigError
from ahasd.models.settings import check, override, param, parse_assignments
from ahasd.models.trace_checks import ROWS, STEPS

__all__ = ["PREFIX", "RawTrace", "SyntheticSettings", "name_of", "parse", "synthesise"]

PREFIX = "synth:"

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_NORMAL = NormalDist()

ENTROPY_SHARES = (0.0, 0.617, 0.691, 0.828, 0.945, 0.997, 1.0)
ENTROPY_EDGES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 7.0)
"""Nats that these shares of tokens stay below: 3695 tokens of Qwen2.5-0.5B drafting for 3B, the last edge
assumed (nithinj25/mini_project, results/phase4.json). Straight between them: mean 0.556."""
TOP1_ENTROPY = (0.0, 0.125, 0.375, 0.75, 1.5, 3.0, 5.0)
TOP1 = (1.0, 0.989, 0.943, 0.81, 0.65, 0.35, 0.15)
"""Largest probability at these nats, the rounded mean of the bundled traces; 1/V at ln V nats."""


@dataclass(frozen=True, kw_only=True)
class SyntheticSettings:
    """Settings of a synthetic trace. All follows from each position's difficulty (mean 0, spread 1)."""

    acceptance: float = param(
        0.825,
        low=0,
        high=1,
        source="LLaMA-2 7B drafting for 70B on Alpaca, implied by SpecDec++'s published points",
        note="share of positions whose first draft token is right",
    )
    link: float = param(
        0.7,
        low=0,
        high=1,
        source="fit to acceptance by entropy of nithinj25/mini_project; arXiv 2604.14682 has about 0.2",
        note="correlation of entropy and difficulty: 0 none, 1 entropy tells all",
    )
    correlation: float = param(
        0.4,
        low=0,
        high=0.999,
        source="bundled traces: entropy 0.4 to 0.7 from token to token",
        note="of difficulty, from one token to the next (AR(1))",
    )
    passages: float = param(
        0.2,
        low=0,
        high=1,
        source="judgement: rise of acceptance with depth as in the bundled traces",
        note="share of difficulty that changes only with the passage; raises acceptance with depth",
    )
    passage_length: float = param(
        64,
        unit="tokens",
        low=1,
        high=4096,
        source="judgement",
        note="over which a passage's part falls to 1/e",
    )
    entropy: float = param(
        0.556,
        unit="nats",
        low=0.001,
        high=12,
        source="mean over the shares of nithinj25/mini_project",
        note="mean after a true prefix, before the cap h_max",
    )
    entropy_after_miss: float = param(
        2.0, unit="nats", low=0, high=12, source="smollm2-sampled", note="mean of the next token's"
    )
    entropy_decay: float = param(
        48,
        unit="tokens",
        low=1,
        high=1e6,
        source="smollm2-sampled: 2.0 after one token, 1.0 after 32",
        note="over which the mean after a miss falls to 1/e: off the path drafts look confident",
    )
    h_max: float = param(
        7.0, unit="nats", low=0.01, high=12.47, source="smollm2-sampled", note="cap of entropy"
    )
    vocabulary: int = param(32000, unit="tokens", low=2, high=1 << 18, source="LLaMA-2")
    context: int = param(128, unit="tokens", low=2, high=31743, source="judgement", note="of the prompt")
    rows: int = param(
        ROWS, unit="tokens", low=1, high=ROWS, source="the bundled traces", note="length of the text"
    )
    seed: int = param(0, low=0, high=2**63 - 1)

    def __post_init__(self) -> None:
        check(self)
        if self.h_max > math.log(self.vocabulary):
            raise ConfigError(
                f"h_max: {self.h_max:g} must be at most ln(vocabulary) = {math.log(self.vocabulary):.3f} nats"
            )

    @property
    def positions(self) -> int:
        """Tokens of the target's text: some more than rows, for the last rollouts to be compared with."""
        return self.rows + STEPS


class RawTrace(NamedTuple):
    """What the files of a trace hold."""

    arrays: dict[str, npt.NDArray[Any]]
    pieces: dict[int, str]
    provenance: dict[str, Any]


def parse(text: str) -> SyntheticSettings:
    """The settings of ``KEY=VALUE,...``, with or without the prefix ``synth:``.

    Raises
    ------
    ConfigError
        If a key is unknown (near ones are listed) or a value is out of range.
    """
    parts = [part for part in text.removeprefix(PREFIX).split(",") if part.strip()]
    changes = {f"synth.{key}": value for key, value in parse_assignments(parts).items()}
    return override(SyntheticSettings(), "synth", changes)


def name_of(settings: SyntheticSettings) -> str:
    """``synth:KEY=VALUE,...`` with what differs from the defaults; equal settings have equal names."""
    default = SyntheticSettings()
    given = {
        field.name: getattr(settings, field.name)
        for field in dataclasses.fields(settings)
        if getattr(settings, field.name) != getattr(default, field.name)
    }
    return PREFIX + ",".join(f"{key}={value!r}" for key, value in given.items())


def synthesise(settings: SyntheticSettings) -> RawTrace:
    """Draw a trace, of 64 steps a row. The same settings give the same bytes."""
    draw = _Draw(settings.seed)
    ids = _Ids(settings, draw)
    right, entropy = _on_path(settings, draw)
    next_miss = _next_miss(right)
    rows = settings.rows
    start = np.arange(rows)
    reach = next_miss[:rows] - start
    step = np.arange(STEPS)
    on_path = step <= reach[:, None]
    place = start[:, None] + step
    missed = np.minimum(next_miss[:rows], settings.positions - 1)[:, None]
    beyond = np.maximum(step - reach[:, None] - 1, 0)
    off_entropy = _off_path(settings, draw, right)
    halves = _half(np.where(on_path, entropy[place], off_entropy[missed, beyond]), settings.h_max)
    h = halves.astype(np.float64)
    different, back = np.unique(h, return_inverse=True)
    predictions = _prediction(different, settings)
    said = np.where(right, ids.y, ids.wrong)
    match = np.minimum(reach, STEPS)
    arrays: dict[str, npt.NDArray[Any]] = {
        "y": ids.y.astype(ids.type),
        "draft": np.where(on_path, said[place], ids.off[missed, beyond]).astype(ids.type),
        "entropy": halves,
        "top1": _top1(h, settings.vocabulary).astype(np.float16),
        "accept_pred": predictions[back].reshape(h.shape).astype(np.float16),
        "match_len": match.astype(np.uint8),
        "lookahead": np.full(rows, STEPS, np.uint8),
        "turn": np.zeros(rows, np.uint8),
        "target_entropy": _half(entropy[:rows], settings.h_max),
        "context": np.array(settings.context, np.uint16),
        "prompt": ids.prompt.astype(ids.type),
        "prompt_token": ids.prompt[-1].astype(ids.type),
    }
    used = np.unique(np.concatenate([arrays[name].ravel() for name in ("y", "draft", "prompt")])).tolist()
    return RawTrace(arrays, {i: f" {i}" for i in used}, _provenance(settings))


class _Draw:
    """Random numbers from the generator's raw doubles alone: streams of other draws may change with numpy."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def uniform(self, *shape: int) -> Floats:
        """In [0, 1)."""
        return self._generator.random(shape)

    def below(self, limit: int, *shape: int) -> Ints:
        """Integers from 0 to ``limit`` - 1."""
        return (self.uniform(*shape) * limit).astype(np.int64)

    def normal(self, *shape: int) -> Floats:
        """Mean 0, spread 1."""
        return _normal_scores(self.uniform(*shape))

    def chain(self, rho: float, *shape: int) -> Floats:
        """AR(1) along the last axis, mean 0, spread 1."""
        out = self.normal(*shape)
        fresh = math.sqrt(1 - rho * rho)
        for i in range(1, shape[-1]):
            out[..., i] = rho * out[..., i - 1] + fresh * out[..., i]
        return out


class _Ids:
    """Token ids: the target's, what the draft says in their place where it misses, and after a miss."""

    def __init__(self, settings: SyntheticSettings, draw: _Draw) -> None:
        v, positions = settings.vocabulary, settings.positions
        self.type = np.uint16 if v <= 1 << 16 else np.uint32
        self.prompt = draw.below(v, settings.context)
        self.y = draw.below(v, positions)
        self.y[0] = (self.prompt[0] + 1 + draw.below(v - 1, 1)[0]) % v  # a trace of one id cannot be refuted
        self.wrong = (self.y + 1 + draw.below(v - 1, positions)) % v
        self.off = draw.below(v, positions, STEPS)


def _on_path(settings: SyntheticSettings, draw: _Draw) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Whether the draft token after each true prefix is right, and its entropy."""
    positions = settings.positions
    slow = math.exp(-1 / settings.passage_length)
    share = settings.passages
    difficulty = math.sqrt(share) * draw.chain(slow, positions)
    difficulty += math.sqrt(1 - share) * draw.chain(settings.correlation, positions)
    # By rank, so that the share of right tokens is what was asked for, whatever the correlation.
    rank = (np.argsort(np.argsort(difficulty, kind="stable"), kind="stable") + 0.5) / positions
    right = rank < settings.acceptance
    link = settings.link
    doubt = link * _normal_scores(rank)
    doubt += math.sqrt(1 - link * link) * draw.chain(settings.correlation, positions)
    shares = np.array([_NORMAL.cdf(z) for z in doubt])
    scale = settings.entropy / _table_mean()
    return right, np.interp(shares, ENTROPY_SHARES, ENTROPY_EDGES) * scale


def _off_path(settings: SyntheticSettings, draw: _Draw, right: npt.NDArray[np.bool_]) -> Floats:
    """[position of the miss, tokens since] nats: exponential, with a mean that falls."""
    mean = settings.entropy_after_miss * np.exp(-np.arange(STEPS) / settings.entropy_decay)
    out = np.zeros((settings.positions, STEPS))
    scores = draw.chain(settings.correlation, int((~right).sum()), STEPS)
    survival = np.array([_NORMAL.cdf(-z) for z in scores.ravel()]).reshape(scores.shape)
    out[~right] = -np.log(np.maximum(survival, 1e-300)) * mean
    return out


def _next_miss(right: npt.NDArray[np.bool_]) -> Ints:
    """The first position from each on where the draft is wrong; far off where there is none."""
    out = np.empty(len(right), dtype=np.int64)
    miss = len(right) + STEPS
    for i in range(len(right) - 1, -1, -1):
        miss = miss if right[i] else i
        out[i] = miss
    return out


def _prediction(h: Floats, settings: SyntheticSettings) -> Floats:
    """P(right | entropy) of the model itself: a predictor that sees the entropy and is calibrated."""
    scale = settings.entropy / _table_mean()
    shares = np.interp(h / scale, ENTROPY_EDGES, ENTROPY_SHARES)
    doubt = _normal_scores(np.clip(shares, 1e-6, 1 - 1e-6))
    accept, link = settings.acceptance, settings.link
    if accept in (0, 1):
        return np.full_like(h, accept)
    threshold = _NORMAL.inv_cdf(accept)
    if link == 1:
        return np.where(doubt < threshold, 1.0, 0.0)
    scores = (threshold - link * doubt) / math.sqrt(1 - link * link)
    return np.array([_NORMAL.cdf(z) for z in scores])


def _top1(h: Floats, vocabulary: int) -> Floats:
    """Largest probability at an entropy: never less than exp(-H), which a choice among equals has."""
    limit = math.log(vocabulary)
    known = [(x, p) for x, p in zip(TOP1_ENTROPY, TOP1, strict=True) if x < limit and p > 1 / vocabulary]
    return np.maximum(
        np.interp(h, [x for x, _ in known] + [limit], [p for _, p in known] + [1 / vocabulary]), np.exp(-h)
    )


def _half(h: Floats, h_max: float) -> npt.NDArray[np.float16]:
    """In half precision, never above ``h_max``."""
    cap = np.float16(h_max)
    if float(cap) > h_max:
        cap = np.nextafter(cap, np.float16(0))
    return np.minimum(h.astype(np.float16), cap)


def _normal_scores(shares: Floats) -> Floats:
    scores = [_NORMAL.inv_cdf(min(max(u, 1e-16), 1 - 1e-16)) for u in shares.ravel()]
    return np.array(scores).reshape(shares.shape)


def _table_mean() -> float:
    pairs = list(zip(ENTROPY_SHARES, ENTROPY_EDGES, strict=True))
    return sum((s1 - s0) * (h0 + h1) / 2 for (s0, h0), (s1, h1) in itertools.pairwise(pairs))


def _provenance(settings: SyntheticSettings) -> dict[str, Any]:
    return {
        "target": "none: synthetic",
        "draft": "none: synthetic",
        "corpus": "none: random ids",
        "licence": "no third-party content",
        "synthetic": dataclasses.asdict(settings),
        "fields": {
            "accept_pred": "P(right | entropy): a calibrated predictor that sees entropy alone",
            "target_entropy": "the draft's entropy at the same position; nothing else is known of the target",
        },
        "rows": settings.rows,
        "h_max": settings.h_max,
        "vocab": settings.vocabulary,
        "vocab_draft": settings.vocabulary,
    }

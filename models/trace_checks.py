"""Every field of a trace against its range and the others; the first contradiction is reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ahasd.models.errors import TraceError

__all__ = ["ROWS", "STEPS", "check_arrays"]

ROWS = 1024
"""Positions of a trace file that have a rollout, unless its provenance has ``rows``; no more."""
STEPS = 64
"""Steps of each rollout, unless its provenance has ``steps``; no more."""
TOKEN_LIMIT = 1 << 18
CONTEXT_MAX = 32767
TOP1_TOLERANCE = 0.02
"""Nats: entropy and top1 are rounded to half precision apart; the shipped sets need 0.001."""

_FLOATS = ("entropy", "top1", "accept_pred", "target_entropy")

Array = npt.NDArray[Any]


def check_arrays(
    path: str, raw: Mapping[str, Array], pieces: Mapping[int, str], provenance: Mapping[str, Any]
) -> dict[str, Array]:
    """The arrays as int64 and float64, without ``context`` and ``prompt_token``, which ``prompt`` implies.

    Raises
    ------
    TraceError
        At the first contradiction: file, field, position, what was found and expected.
    """
    rows, steps = provenance.get("rows", ROWS), provenance.get("steps", STEPS)
    shapes = _shapes(rows, steps)
    arrays = {name: _typed(path, name, array, shapes.get(name)) for name, array in raw.items()}
    _check_prompt(path, arrays)
    vocab = provenance.get("vocab", TOKEN_LIMIT)
    known = np.zeros(TOKEN_LIMIT, dtype=bool)
    known[[i for i in pieces if i < TOKEN_LIMIT]] = True
    for name in ("prompt", "y", "draft"):
        ids = arrays[name]
        _refuse(path, name, ids, (ids < 0) | (ids >= vocab), f"expected a token id from 0 to {vocab - 1}")
        _refuse(path, name, ids, ~known[ids], "which has no text in pieces.json")
    count, limit = len(np.unique(arrays["draft"])), provenance["vocab_draft"]
    if count > limit:
        raise TraceError(f"{path}: draft has {count} different ids, expected at most vocab_draft = {limit}")
    _check_probabilities(path, arrays, float(provenance["h_max"]))
    _check_rollouts(path, arrays, rows, steps)
    return {name: array for name, array in arrays.items() if name not in ("context", "prompt_token")}


def _shapes(rows: int, steps: int) -> dict[str, tuple[int, ...]]:
    """Of every array but ``prompt``."""
    rollouts = dict.fromkeys(("draft", "entropy", "top1", "accept_pred"), (rows, steps))
    positions = dict.fromkeys(("match_len", "lookahead", "turn", "target_entropy"), (rows,))
    return {"y": (rows + steps,), **rollouts, **positions, "context": (), "prompt_token": ()}


def _typed(path: str, name: str, array: Array, shape: tuple[int, ...] | None) -> Array:
    floating = name in _FLOATS
    kinds, word = ("f", "a floating-point type") if floating else ("iu", "an integer type")
    if array.dtype.kind not in kinds:
        raise TraceError(f"{path}: {name} has type {array.dtype}, expected {word}")
    if shape is not None and array.shape != shape:
        raise TraceError(f"{path}: {name} has shape {list(array.shape)}, expected {list(shape)}")
    return array.astype(np.float64 if floating else np.int64)


def _refuse(
    path: str, name: str, array: Array, bad: Array, expected: str | Callable[[tuple[int, ...]], str]
) -> None:
    """Raise for the first position where ``bad`` holds."""
    if not bad.any():
        return
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
    where = f"{name}[{', '.join(map(str, at))}]"
    text = expected if isinstance(expected, str) else expected(at)
    raise TraceError(f"{path}: {where} is {array[at].item():.6g}, {text}")


def _check_prompt(path: str, arrays: Mapping[str, Array]) -> None:
    context, prompt = int(arrays["context"]), arrays["prompt"]
    if not 1 <= context <= CONTEXT_MAX:
        raise TraceError(f"{path}: context is {context}, expected 1 to {CONTEXT_MAX}")
    if prompt.shape != (context,):
        raise TraceError(f"{path}: prompt has shape {list(prompt.shape)}, expected [context] = [{context}]")
    if (token := int(arrays["prompt_token"])) != prompt[-1]:
        raise TraceError(f"{path}: prompt_token is {token}, expected {prompt[-1]}, the last of prompt")


def _check_probabilities(path: str, arrays: Mapping[str, Array], h_max: float) -> None:
    for name in ("top1", "accept_pred"):
        p = arrays[name]
        _refuse(path, name, p, ~((p >= 0) & (p <= 1)), "expected a probability from 0 to 1")
    entropy, target = arrays["entropy"], arrays["target_entropy"]
    _refuse(
        path,
        "entropy",
        entropy,
        ~((entropy >= 0) & (entropy <= h_max)),
        f"expected 0 to h_max = {h_max:g} nats",
    )
    _refuse(
        path,
        "target_entropy",
        target,
        ~((target >= 0) & np.isfinite(target)),
        "expected finite nats of at least 0",
    )
    floor = -np.log(np.maximum(arrays["top1"], 1e-6))
    _refuse(
        path,
        "entropy",
        entropy,
        entropy < floor - TOP1_TOLERANCE,
        lambda at: f"expected at least -ln(top1) = {floor[at]:.4g} nats",
    )


def _check_rollouts(path: str, arrays: Mapping[str, Array], rows: int, steps: int) -> None:
    turn, lookahead, match = arrays["turn"], arrays["lookahead"], arrays["match_len"]
    turns = np.diff(turn, prepend=turn[:1])
    _refuse(
        path, "turn", turn, turns < 0, lambda at: f"expected at least {turn[at[0] - 1]}, the turn before it"
    )
    _refuse(path, "lookahead", lookahead, (lookahead < 1) | (lookahead > steps), f"expected 1 to {steps}")
    _refuse(
        path,
        "match_len",
        match,
        (match < 0) | (match > lookahead),
        lambda at: f"expected 0 to {lookahead[at]}",
    )

    ends = _ends(turn, lookahead, steps)
    reach = np.minimum(steps, ends - np.arange(rows))
    _refuse(
        path,
        "lookahead",
        lookahead,
        lookahead != reach,
        lambda at: f"expected {reach[at]} (the turn ends before position {ends[at]})",
    )
    same = arrays["draft"] == np.lib.stride_tricks.sliding_window_view(arrays["y"], steps)[:rows]
    leading = np.where(same.all(axis=1), steps, np.argmin(same, axis=1))
    right = np.minimum(leading, lookahead)
    _refuse(
        path,
        "match_len",
        match,
        match != right,
        lambda at: f"expected {right[at]}, the draft tokens equal to y from {at[0]} on",
    )


def _ends(turn: Array, lookahead: Array, steps: int) -> Array:
    """[rows] the position after the last one of each row's turn.

    The last turn may end after the last row; only the last row's own lookahead can tell.
    """
    changes = np.flatnonzero(np.diff(turn)) + 1
    rows = len(turn)
    last = rows - 1 + int(lookahead[-1]) if lookahead[-1] < steps else rows + steps
    return np.append(changes, last)[np.searchsorted(changes, np.arange(rows), side="right")]

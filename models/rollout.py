"""What the draft model says from any true prefix on, for any number of steps, by the rules of traces."""

from __future__ import annotations

import math
from typing import NamedTuple

from ahasd.models.errors import TraceError
from ahasd.models.policies.base import Features
from ahasd.models.traces import Trace

__all__ = ["DraftRollout", "DraftToken", "quantise_entropy"]


class DraftToken(NamedTuple):
    """One drafted token with what the hardware sees of it."""

    id: int
    entropy: float
    """Nats, of the draft model's softmax at this step."""
    top1: float
    """Largest probability of that softmax."""
    accept_pred: float
    """Learned probability that the token is accepted, given that all before it was."""

    @property
    def features(self) -> Features:
        """What a drafting policy sees of the token."""
        return Features(self.entropy, self.top1, self.accept_pred)


def quantise_entropy(h_nats: float, h_max: float) -> int:
    """Entropy in 1/256 of ``h_max``, as a token carries it: floor, saturated to 255."""
    return min(255, math.floor(h_nats * 256 / h_max))


class DraftRollout:
    """The draft model of a trace: greedy, restarted at any position of the target's own output.

    Rules, for the rollout that begins at ``base`` (R rows, K recorded steps):

    - step k < K is the recorded one of row ``base``;
    - past K a rollout that has missed (``match_len`` < K) repeats its last column, one that has not goes on
      with the rollout of position ``base`` + K;
    - from ``lookahead`` (if it is below K) and from position R on, a token counts as wrong: the first such
      one differs from y. If the recorded id happens to equal y there, the smallest id of the trace that does
      not is returned instead, with the recorded entropy;
    - a base from R on has no row: the last column of the last row, made wrong in the same way, is repeated.
    """

    def __init__(self, trace: Trace) -> None:
        self._rows = trace.rows
        self._steps = trace.steps
        self._y: list[int] = trace.y.tolist()
        self._match: list[int] = trace.match_len.tolist()
        self._columns = (
            trace.draft.tolist(),
            trace.entropy.tolist(),
            trace.top1.tolist(),
            trace.accept_pred.tolist(),
        )
        self._substitutes: list[int] = sorted({*self._y, *trace.prompt.tolist()})[:2]
        if len(self._substitutes) < 2:
            raise TraceError(f"{trace.name}: y and prompt hold one id only, expected two or more")

    def token(self, base: int, step: int) -> DraftToken:
        """Step ``step`` (from 0) of the rollout whose first token stands for ``y[base]``.

        Raises
        ------
        IndexError
            If ``base`` or ``step`` is negative.
        """
        if base < 0 or step < 0:
            raise IndexError(f"rollout step {step} from position {base}: both count from 0")
        row, column = self._seat(base, step)
        ids, entropy, top1, accept_pred = (field[row][column] for field in self._columns)
        if base + step == self.first_wrong(base) and base + step < len(self._y):
            ids = self._other_than(ids, self._y[base + step])
        return DraftToken(ids, entropy, top1, accept_pred)

    def right(self, base: int) -> int:
        """Leading tokens of the rollout from ``base`` that the target accepts."""
        return self.first_wrong(base) - base

    def first_wrong(self, base: int) -> int:
        """Position of the first token of the rollout from ``base`` that is not the target's own."""
        if base >= self._rows:
            return base
        while base < self._rows and self._match[base] == self._steps:
            base += self._steps
        return min(self._rows, base + self._match[base] if base < self._rows else base)

    def _seat(self, base: int, step: int) -> tuple[int, int]:
        """Row and column that step ``step`` from ``base`` is read from."""
        while base < self._rows and step >= self._steps and self._match[base] == self._steps:
            base, step = base + self._steps, step - self._steps
        if base >= self._rows:
            return self._rows - 1, self._steps - 1
        return base, min(step, self._steps - 1)

    def _other_than(self, recorded: int, true: int) -> int:
        if recorded != true:
            return recorded
        return next(i for i in self._substitutes if i != true)

"""Whose round was it? Finds the batch that a verdict is about: drafting runs ahead of verdicts."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

__all__ = ["Rounds"]

T = TypeVar("T")


class Rounds(Generic[T]):
    """What each open batch was drafted with, by the position of its first token.

    A verification may begin inside a batch (after a verdict's own token has taken the first place), may span
    several, and batches may be dropped without ever being verified: the position alone tells.
    """

    def __init__(self) -> None:
        self._open: deque[tuple[int | None, T]] = deque()

    def opened(self, position: int | None, tag: T) -> None:
        """A batch drafted with ``tag`` begins at ``position``: all that was drafted from there on is void."""
        while self._open and (position is None or (self._open[-1][0] or 0) >= position):
            self._open.pop()
        self._open.append((position, tag))

    def judged(self, position: int | None) -> T | None:
        """Tag of the batch that ``position`` lies in, the latest without one; None if there is none."""
        while position is not None and len(self._open) > 1 and (self._open[1][0] or 0) <= position:
            self._open.popleft()
        if not self._open:
            return None
        return self._open[-1 if position is None else 0][1]

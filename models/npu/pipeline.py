"""Time of work that passes through DMA, two weight buffers and the arrays, block by block. Integer ps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

__all__ = ["Block", "Pipeline", "Run", "State", "runs"]

T = TypeVar("T")


class Block(NamedTuple):
    """Weights of one buffer and what is done with them; ps."""

    load: int
    """DMA."""
    entry: int
    """From its first input row to the first of the next block."""
    drain: int
    """From there to its last result."""


Run = tuple[Block, int]
"""A block, and how often it comes in a row."""


def runs(items: Iterable[T]) -> list[tuple[T, int]]:
    """Equal neighbours together, each with its number."""
    return [(item, sum(1 for _ in same)) for item, same in itertools.groupby(items)]


class State(NamedTuple):
    """When parts are free, and results there; ps."""

    dma: int = 0
    older: int = 0
    """The buffer that the next block is loaded into is free."""
    newer: int = 0
    """The other one is."""
    arrays: int = 0
    """The next unit may enter."""
    done: int = 0
    """All results so far are there."""


class Pipeline:
    """DMA, buffers and arrays: work is added in order, each block as early as all of them allow.

    Skipping is exact. A block, and ``delay``, form new times from old ones by maxima and added constants
    only. So from a state that is later by c in all its parts they lead to one that is later by c. Once some
    work has left the state as it was but for a shift by d, the same work will do so again: k more of it shift
    it by k x d. The only absolute time is that of an operator's inputs; it must not bind a block that is
    skipped, and cannot, once the arrays are free at that time or later, for that only grows.

    Parameters
    ----------
    preload : int
        From the end of a block's load to its first input row.
    skip : bool
        False does all blocks one by one.
    """

    def __init__(self, preload: int, skip: bool = True, state: State = State()) -> None:  # noqa: B008
        self._dma, self._older, self._newer, self._arrays, self.done = state
        """``done``: when all results so far are there."""
        self._preload = preload
        self._skip = skip

    @property
    def state(self) -> State:
        return State(self._dma, self._older, self._newer, self._arrays, self.done)

    def run(self, work: Iterable[Run], inputs: int) -> None:
        """Blocks of one operator, whose inputs are there at ``inputs``; loads do not wait for these."""
        dma, older, newer, arrays, done = self._dma, self._older, self._newer, self._arrays, self.done
        preload, skip = self._preload, self._skip
        for (load, entry, drain), left in work:
            while left:
                left -= 1
                was_dma, was_older, was_newer, was_arrays, was_done = dma, older, newer, arrays, done
                dma = (dma if dma > older else older) + load
                first = dma + preload
                if arrays > first:
                    first = arrays
                if inputs > first:
                    first = inputs
                older, newer, arrays = newer, first + entry, first + entry
                if arrays + drain > done:
                    done = arrays + drain
                shift = dma - was_dma
                if (
                    left
                    and arrays - was_arrays == shift
                    and newer - was_newer == shift
                    and older - was_older == shift
                    and done - was_done == shift
                    and was_arrays >= inputs
                    and skip
                ):
                    shift *= left
                    dma += shift
                    older += shift
                    newer += shift
                    arrays += shift
                    done += shift
                    break
        self._dma, self._older, self._newer, self._arrays, self.done = dma, older, newer, arrays, done

    def delay(self, ps: int) -> None:
        """The vector unit works on all results so far: they count as done later."""
        self.done += ps

    def repeat(self, work: Callable[[], None], times: int) -> None:
        """``work`` adds the same work ``times`` times; it must not look at anything but the state."""
        for left in range(times - 1, -1, -1):
            before = self.state
            work()
            now = self.state
            shifts = {new - old for new, old in zip(now, before, strict=True)}
            if self._skip and len(shifts) == 1:
                shift = left * shifts.pop()
                self._dma, self._older, self._newer, self._arrays, self.done = (t + shift for t in now)
                return

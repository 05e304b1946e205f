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

    def shift_from(self, other: State) -> int | None:
        """By how much all of it is later than ``other``; None if not all by the same."""
        shift = self.dma - other.dma
        same = all(a - b == shift for a, b in zip(self, other, strict=True))
        return shift if same else None

    def shifted(self, ps: int) -> State:
        return State(*(value + ps for value in self))


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

    def __init__(self, preload: int, skip: bool = True) -> None:
        self.state = State()
        self._preload = preload
        self._skip = skip

    def run(self, work: Iterable[Run], inputs: int) -> None:
        """Blocks of one operator, whose inputs are there at ``inputs``; loads do not wait for these."""
        dma, older, newer, arrays, done = self.state
        preload, skip = self._preload, self._skip
        for (load, entry, drain), count in work:
            left = count
            while left:
                left -= 1
                before = State(dma, older, newer, arrays, done)
                dma = (dma if dma > older else older) + load
                first = dma + preload
                if arrays > first:
                    first = arrays
                if inputs > first:
                    first = inputs
                older, newer, arrays = newer, first + entry, first + entry
                if arrays + drain > done:
                    done = arrays + drain
                if left and skip and before.arrays >= inputs and arrays - before.arrays == dma - before.dma:
                    now = State(dma, older, newer, arrays, done)
                    shift = now.shift_from(before)
                    if shift is not None:
                        dma, older, newer, arrays, done = now.shifted(left * shift)
                        break
        self.state = State(dma, older, newer, arrays, done)

    def delay(self, ps: int) -> None:
        """The vector unit works on all results so far: they count as done later."""
        self.state = self.state._replace(done=self.state.done + ps)

    def repeat(self, work: Callable[[], None], times: int) -> None:
        """``work`` adds the same work ``times`` times; it must not look at anything but the state."""
        for left in range(times - 1, -1, -1):
            before = self.state
            work()
            shift = self.state.shift_from(before) if self._skip else None
            if shift is not None:
                self.state = self.state.shifted(left * shift)
                return

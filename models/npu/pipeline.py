"""Time of work that passes through DMA, two weight buffers and the arrays, block by block. Integer ps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

__all__ = ["Block", "Pipeline", "State"]


class Block(NamedTuple):
    """Weights of one buffer and what is done with them; ps."""

    load: int
    """DMA."""
    entry: int
    """From its first input row to the first of the next block."""
    drain: int
    """From there to its last result."""


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

    def relative(self) -> tuple[int, ...]:
        return tuple(value - self.dma for value in self)


class Pipeline:
    """DMA, buffers and arrays: work is added in order, each block as early as all of them allow.

    Parameters
    ----------
    preload : int
        From the end of a block's load to its first input row.
    """

    def __init__(self, preload: int) -> None:
        self.state = State()
        self._preload = preload

    def run(self, blocks: Sequence[Block], inputs: int) -> None:
        """Blocks of one operator, whose inputs are there at ``inputs``; loads do not wait for these."""
        dma, older, newer, arrays, done = self.state
        preload = self._preload
        for load, entry, drain in blocks:
            if older > dma:
                dma = older
            dma += load
            first = dma + preload
            if arrays > first:
                first = arrays
            if inputs > first:
                first = inputs
            arrays = first + entry
            older, newer = newer, arrays
            if arrays + drain > done:
                done = arrays + drain
        self.state = State(dma, older, newer, arrays, done)

    def delay(self, ps: int) -> None:
        """The vector unit works on all results so far: they count as done later."""
        self.state = self.state._replace(done=self.state.done + ps)

    def repeat(self, work: Callable[[], None], times: int) -> None:
        """``work`` adds the same blocks ``times`` times, and is called only until it has become periodic.

        Exact: ``run`` and ``delay`` form new times from old ones by maxima and added constants only. So from
        a state that is later by c in all its parts they lead to one that is later by c. Once ``work`` has
        left the state as it was but for a shift by d, it will do so again, and k further calls shift it by
        k x d. ``work`` must not look at anything but the state.
        """
        for call in range(times):
            before = self.state
            work()
            if self.state.relative() == before.relative():
                shift = (times - call - 1) * (self.state.dma - before.dma)
                self.state = State(*(value + shift for value in self.state))
                return

"""Counts the passes that a device makes, for their energy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ahasd.models.energy import Activity

__all__ = ["Meter"]

PassActivity = Callable[[int, int], Activity]
"""From KV entries and tokens to the events of a pass: a method of the cost model."""


class Meter:
    """A device's passes, one at a time. One that was broken off, or that runs, counts by the part done.

    Integers alone, so the sum depends neither on the order of passes nor on the engine.
    """

    def __init__(self) -> None:
        self._whole: Counter[tuple[PassActivity, int, int]] = Counter()
        self._parts = Activity()
        self._open: tuple[PassActivity, int, int, Callable[[], int], int] | None = None

    def begin(
        self, activity: PassActivity, kv_len: int, tokens: int, done_ps: Callable[[], int], whole_ps: int
    ) -> None:
        """A pass begins.

        Parameters
        ----------
        activity, kv_len, tokens : the pass
        done_ps : callable
            How much of it is done when called, ps.
        whole_ps : int
            All of it, ps.

        Raises
        ------
        RuntimeError
            If the one before has not ended.
        """
        if self._open is not None:
            raise RuntimeError("a device makes one pass at a time")
        self._open = activity, kv_len, tokens, done_ps, whole_ps

    def end(self) -> None:
        """The pass that runs, if one does, is complete or broken off."""
        if self._open is None:
            return
        activity, kv_len, tokens, done_ps, whole_ps = self._open
        if done_ps() >= whole_ps:
            self._whole[activity, kv_len, tokens] += 1
        else:
            self._parts += self._part()
        self._open = None

    @property
    def total(self) -> Activity:
        """Everything until now."""
        whole = ((activity(kv_len, tokens), n) for (activity, kv_len, tokens), n in self._whole.items())
        return Activity.total(whole) + self._parts + self._part()

    def _part(self) -> Activity:
        """Of the pass that runs."""
        if self._open is None:
            return Activity()
        activity, kv_len, tokens, done_ps, whole_ps = self._open
        done = done_ps()
        whole = activity(kv_len, tokens)
        return whole if done >= whole_ps else whole.times(done, whole_ps)

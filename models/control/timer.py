"""Cycle tables and the pre-verify timer's arithmetic."""

from __future__ import annotations

from ahasd.models.control.params import UnitParams

__all__ = ["CycleTable", "duration", "longest_fit"]


def duration(now: int, then: int, params: UnitParams) -> int:
    """Ticks from ``then`` to ``now``: modulo the timebase, saturated to ``duration_bits``."""
    return min((now - then) % (1 << params.time_bits), params.duration_max)


class CycleTable:
    """NVCT, PDCT or PVCT: the latest ratios of ticks to length, UQ24.8; the oldest entry is replaced."""

    def __init__(self, params: UnitParams) -> None:
        self.params = params
        self.entries = [0] * params.cycle_entries
        self.oldest = 0

    def preset(self, ratio: int) -> None:
        """Set all entries (``clear`` and the first ``start``)."""
        self.entries = [ratio] * self.params.cycle_entries
        self.oldest = 0

    def record(self, ticks: int, length: int) -> None:
        """Record that work of ``length`` took ``ticks``."""
        self.entries[self.oldest] = (ticks << 8) // length
        self.oldest = (self.oldest + 1) % len(self.entries)

    def predict(self, length: int) -> int:
        """Ticks that work of ``length`` will take, saturated to ``duration_bits``."""
        mean = sum(self.entries) // len(self.entries)
        return min(mean * length >> 8, self.params.duration_max)


def longest_fit(left: int, cost: int, most: int) -> int:
    """Largest n <= ``most`` with ``left`` >= n x ``cost``; 0 if ``left`` < ``cost``."""
    if left < cost:
        return 0
    return most if cost == 0 else min(left // cost, most)

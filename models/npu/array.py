"""A weight-stationary systolic array: cycles of its units of work.

A unit streams up to ``rows`` input rows through one tile of rows x columns weights. The formulas are those
that fit ONNXim's cycle counts (docs/npu.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from ahasd.models.errors import ConfigError
from ahasd.models.first_order.dram import ceil_div

__all__ = ["SystolicArray"]

_SHORTEST = 4
"""Cycles that a unit's rows take at least to enter."""


@dataclass(frozen=True)
class SystolicArray:
    """``rows`` (the K side) x ``columns`` (the M side) processing elements.

    Raises
    ------
    ConfigError
        If it has no element.
    """

    rows: int
    columns: int

    def __post_init__(self) -> None:
        if self.rows < 1 or self.columns < 1:
            raise ConfigError(f"array: {self.rows}x{self.columns} must be at least 1x1")

    @property
    def preload(self) -> int:
        """Cycles to bring weights into an array that has no other work."""
        return 2 * self.rows - 1

    @property
    def pace(self) -> int:
        """Cycles from unit to unit: max(its rows, 4, ``rows``), for the next weights must be loaded.

        A unit has no more rows than the array, so its own number never decides.
        """
        return max(_SHORTEST, self.rows)

    def latency(self, n: int) -> int:
        """Cycles from the first of a unit's ``n`` input rows to the last result."""
        return self.rows + self.columns - 2 + max(n, _SHORTEST)

    def pieces(self, n: int) -> int:
        """Units that ``n`` input rows take on each tile of weights."""
        return ceil_div(n, self.rows)

    def units(self, n: int, k: int, m: int) -> int:
        """Units of n x k inputs with k x m weights: pieces of rows x tiles of weights."""
        return self.pieces(n) * ceil_div(k, self.rows) * ceil_div(m, self.columns)

    def drain(self, n: int) -> int:
        """Cycles that results trail behind the entry of the last unit, its pace included."""
        last = n - (self.pieces(n) - 1) * self.rows
        return self.latency(last) - self.pace

    def cycles(self, n: int, units: int) -> int:
        """``units`` units of a matmul of ``n`` input rows, all at hand, from idle to the last result."""
        return self.preload + units * self.pace + self.drain(n)

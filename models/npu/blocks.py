"""How a matmul is cut to the scratchpad: groups of input rows, blocks of weights."""

from __future__ import annotations

from typing import NamedTuple

from ahasd.models.npu.array import SystolicArray

__all__ = ["Part", "Scratchpad"]


class Part(NamedTuple):
    """Weights that are loaded, used and given back together."""

    weights: int
    """Elements."""
    columns: int
    units: int
    """Units that use them, of all arrays."""
    complete: bool
    """Its results are: no more of K follows."""


class Scratchpad:
    """Half of it holds inputs, a quarter each of two buffers holds weights.

    A block of weights is as wide as all arrays and as deep as K, or as a buffer allows.
    """

    def __init__(self, array: SystolicArray, arrays: int, elements: int) -> None:
        self._array = array
        self._width = arrays * array.columns
        self._half = elements // 2
        self._depth = max(1, elements // 4 // self._width // array.rows) * array.rows

    def groups(self, n: int, k: int) -> list[int]:
        """Input rows whose K elements fit together; weights are swept once for each group."""
        fit = max(1, self._half // k)
        if n <= fit:
            return [n]
        fit = max(1, fit // self._array.rows) * self._array.rows
        return [min(fit, n - at) for at in range(0, n, fit)]

    def parts(self, n: int, k: int, m: int) -> list[Part]:
        """The k x m weights for ``n`` input rows, block by block."""
        full, rest = divmod(m, self._width)
        return self._column(n, k, self._width) * full + (self._column(n, k, rest) if rest else [])

    def _column(self, n: int, k: int, columns: int) -> list[Part]:
        out = []
        for top in range(0, k, self._depth):
            rows = min(self._depth, k - top)
            units = self._array.units(n, rows, columns)
            out.append(Part(rows * columns, columns, units, top + rows == k))
        return out

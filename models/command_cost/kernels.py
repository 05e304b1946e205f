"""Kernels of a platform's PIM ranks, each shape simulated once. Integer ps, without refresh; ``stretched``
adds that.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ahasd.models.cost_cache import CostCache
from ahasd.models.errors import ConfigError
from ahasd.models.first_order.dram import ceil_div
from ahasd.models.platform.params import Platform

__all__ = ["Kernels", "kernel_scope"]

_INTERVALS = 40
"""Refresh intervals of the kernel that tells what a refresh costs."""


def kernel_scope(platform: Platform) -> dict[str, Any]:
    """All that a kernel depends on beside its shape and ranks."""
    pim = asdict(platform.pim)
    del pim["draft_ranks"]
    return {"dram": asdict(platform.dram), "pim": pim}


class Kernels:
    """Kernels on ``ranks`` ranks, which share the work equally.

    Refresh is left out of the kernels and charged on all of them by the ratio of a long kernel with it: a
    pass is a sequence of kernels of any length, and refresh comes at any time in them.
    """

    def __init__(self, platform: Platform, ranks: int, cache: CostCache) -> None:
        self._platform = platform
        self._ranks = ranks
        self._on_channel = ceil_div(ranks, platform.dram.channels)
        self._cache = cache
        self._tck_ps = platform.dram.tck_ps
        self._columns = platform.dram.columns
        self._read_bytes = (
            platform.pim.units_per_rank * platform.pim.banks_at_once * platform.dram.access_bytes
        )
        self._bank_rows = platform.dram.rank_bytes // (platform.dram.banks * platform.dram.row_bytes)
        self._stretch: tuple[int, int] | None = None
        self._alike: dict[int, bool] = {}

    def gemv_ps(self, out: int, inp: int, vectors: int, *, broadcast: bool, gather: bool) -> int:
        """out x inp weights with ``vectors`` inputs: broadcast unless they are there, PIM mode, gather."""

        def simulate() -> int:
            from ahasd.models.pim import gemv

            return gemv(
                self._platform, out, inp, vectors, self._ranks, False, broadcast=broadcast, gather=gather
            ).cycles

        key = ("gemv", self._ranks, out, inp, vectors, int(broadcast), int(gather))
        return self._cache.time(key, simulate) * self._tck_ps

    def read_ps(self, size: int, vectors: int) -> int:
        """Each rank reads ``size`` bytes of its own once, with ``vectors`` MACs a byte, in PIM mode already.

        With a sequencer in each rank and without refresh, all rows but the first two are taken to be as long
        as the second. Exact: a rank reads row after row of the same banks, each opened when a read needs it.
        No constraint but refresh's is longer than a row (``_periodic`` checks), so what binds a row's
        commands comes from that row and the one before; these being the same for all further rows, so are
        the distances.
        """
        reads = max(1, ceil_div(size, self._read_bytes))
        rows, rest = divmod(reads - 1, self._columns)
        rest += 1
        if rows < 3 or rows >= self._bank_rows or not self._periodic(vectors):
            return self._reads(reads, vectors) * self._tck_ps
        first = self._reads(2 * self._columns + rest, vectors)
        row = first - self._reads(self._columns + rest, vectors)
        return (first + (rows - 2) * row) * self._tck_ps

    def exchange_ps(self, inputs: int, results: int) -> int:
        """``inputs`` bytes to all ranks, then ``results`` bytes from each; the channels work side by side."""
        if not inputs + results:
            return 0

        def simulate() -> int:
            from ahasd.models.command_cost.exchange import exchange_clocks

            return exchange_clocks(self._platform, inputs, results, self._on_channel)

        key = ("exchange", self._on_channel, inputs, results)
        return self._cache.time(key, simulate) * self._tck_ps

    def stretched(self, ps: int) -> int:
        """What work of ``ps`` takes with all-bank refresh, on the average over when it begins."""
        if self._stretch is None:
            found = self._cache.get(("refresh", self._ranks), self._simulate_refresh)
            assert isinstance(found, list)
            added, refreshes = found
            whole = refreshes * self._platform.dram.trefi
            if added >= whole:
                raise ConfigError(
                    f"platform.dram.trfc: {self._platform.dram.trfc} leaves no time between refreshes"
                )
            self._stretch = whole, whole - added
        return ceil_div(ps * self._stretch[0], self._stretch[1])

    @property
    def sustained_gbps(self) -> float:
        """Of all ranks that read whole rows with one MAC a byte, GB/s."""
        size = min(1000, self._bank_rows) * self._columns * self._read_bytes
        return 1000 * self._ranks * size / self.stretched(self.read_ps(size, 1))

    @property
    def refresh_share(self) -> float:
        """Of the time."""
        self.stretched(0)
        assert self._stretch is not None
        return 1 - self._stretch[1] / self._stretch[0]

    def _reads(self, reads: int, vectors: int) -> int:
        """Clocks of ``reads`` column reads of each rank, from PIM mode on."""

        def simulate() -> int:
            from ahasd.models.pim import gemv

            size, ranks = reads * self._read_bytes, self._ranks
            found = gemv(self._platform, ranks, size, vectors, ranks, False, broadcast=False, gather=False)
            return found.cycles - found.phases["switch"]

        return self._cache.time(("read", self._ranks, reads, vectors), simulate)

    def _periodic(self, vectors: int) -> bool:
        """Rows are alike: see ``read_ps``."""
        if vectors not in self._alike:
            row = self._reads(2 * self._columns, vectors) - self._reads(self._columns, vectors)
            longest = self._cache.time(("longest constraint",), self._longest_constraint)
            self._alike[vectors] = self._platform.pim.sequencer == "device" and longest <= row
        return self._alike[vectors]

    def _longest_constraint(self) -> int:
        """Clocks; those that refresh is part of apart."""
        from ahasd.models.dram import dram_of_platform

        spec = dram_of_platform(self._platform)
        constraints = spec.standard.constraints
        return max(spec.clocks(c) for c in constraints if "REF" not in c.earlier + c.later)

    def _simulate_refresh(self) -> list[int]:
        """Clocks that refreshes add to a long kernel, and their number."""
        from ahasd.models.pim import gemv

        dram = self._platform.dram
        rows = min(self._bank_rows, ceil_div(_INTERVALS * dram.trefi, dram.columns * dram.tccd_l))
        size = rows * self._columns * self._read_bytes
        ranks = self._ranks
        with_, without = (
            gemv(self._platform, ranks, size, 1, ranks, refresh, broadcast=False, gather=False)
            for refresh in (True, False)
        )
        return [with_.cycles - without.cycles, with_.commands["REF"]]

"""First-order memory: how long it takes to stream bytes off a rank's banks or over the bus. Integer ps.

Formulas and their meaning: docs/first-order-timing.md.
"""

from __future__ import annotations

from ahasd.models.platform.params import Platform

__all__ = ["Streams", "ceil_div"]


def ceil_div(a: int, b: int) -> int:
    """Smallest integer that is at least a / b."""
    return -(-a // b)


class Streams:
    """Rates of a platform's memory, from its timing parameters alone."""

    def __init__(self, platform: Platform) -> None:
        dram, pim = platform.dram, platform.pim
        self._dram = dram
        self._lanes, self._mac_ps = pim.lanes, pim.clock_ps
        self.unit_access = pim.banks_at_once * dram.access_bytes
        """Bytes that a PIM unit reads at once."""
        self._column_ps = dram.tccd_l * dram.tck_ps
        self._row_ps = (dram.trcd + dram.trp) * dram.tck_ps
        self.exchange_ps = (dram.cl + dram.cwl) * dram.tck_ps
        """From the last read of a gather to the first write of a broadcast: CL and CWL."""
        beats = ceil_div(8 * dram.access_bytes, dram.channel_bits)
        burst_ps = max(dram.tccd_s * dram.tck_ps, ceil_div(beats * 1_000_000, dram.data_rate))
        bank_ps = (dram.trcd + dram.columns * dram.tccd_l + dram.trp) * dram.tck_ps
        activate_ps = max(dram.trrd_l, ceil_div(dram.tfaw, 4)) * dram.tck_ps
        self._bus_row_ps = max(dram.columns * burst_ps, activate_ps, ceil_div(bank_ps, dram.banks))

    def refreshed(self, ps: int) -> int:
        """Time that work of ``ps`` takes when refresh interrupts it."""
        return ceil_div(ps * self._dram.trefi, self._dram.trefi - self._dram.trfc)

    def unit_ps(self, size: int, macs_per_byte: int) -> int:
        """A PIM unit reads ``size`` bytes of its banks, row by row, with so many MACs a byte.

        A column takes the longer of tCCD_L and its MACs; each row adds tRCD + tRP.
        """
        columns = ceil_div(size, self.unit_access)
        macs = ceil_div(self.unit_access * macs_per_byte, self._lanes) * self._mac_ps
        rows = ceil_div(columns, self._dram.columns)
        return self.refreshed(columns * max(self._column_ps, macs) + rows * self._row_ps)

    def channel_ps(self, size: int) -> int:
        """``size`` bytes pass over one channel, rows opened behind each other."""
        accesses = ceil_div(size, self._dram.access_bytes)
        return self.refreshed(ceil_div(accesses * self._bus_row_ps, self._dram.columns))

    def bus_ps(self, size: int, ranks: int) -> int:
        """``size`` bytes that lie evenly on ``ranks`` ranks: the time of the channel that has most."""
        share = ceil_div(ranks, self._dram.channels)
        return self.channel_ps(ceil_div(size * share, ranks))

    @property
    def unit_peak(self) -> float:
        """GB/s of one PIM unit, columns only."""
        return 1000 * self.unit_access / self._column_ps

    @property
    def unit_sustained(self) -> float:
        """GB/s of one PIM unit over whole rows, refresh included, one MAC a byte."""
        size = self._dram.columns * self.unit_access * 1000
        return 1000 * size / self.unit_ps(size, 1)

    @property
    def bus_peak(self) -> float:
        """GB/s of all channels' pins."""
        return self._dram.channels * self._dram.channel_bits * self._dram.data_rate / 8000

    @property
    def bus_sustained(self) -> float:
        """GB/s of all channels, refresh included."""
        size = self._dram.row_bytes * 1000
        return 1000 * self._dram.channels * size / self.channel_ps(size)

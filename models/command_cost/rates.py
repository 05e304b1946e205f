"""Sustained rates of a platform's memory from simulated commands, refresh included. GB/s."""

from __future__ import annotations

from ahasd.models.command_cost.kernels import Kernels, kernel_scope
from ahasd.models.cost_cache import CostCache
from ahasd.models.npu.command_dma import CommandDma
from ahasd.models.platform.params import Platform

__all__ = ["bus_gbps", "pim_gbps"]

_ROWS = 1000


def pim_gbps(platform: Platform) -> float:
    """All ranks read whole rows with one MAC a byte."""
    dram, pim = platform.dram, platform.pim
    kernels = Kernels(platform, dram.ranks, CostCache(kernel_scope(platform)))
    size = _ROWS * pim.units_per_rank * pim.banks_at_once * dram.row_bytes
    return 1000 * dram.ranks * size / kernels.stretched(kernels.read_ps(size, 1))


def bus_gbps(platform: Platform) -> float:
    """All channels read from all ranks."""
    return CommandDma(platform, platform.dram.ranks, CostCache(kernel_scope(platform))).gbps

"""Sustained rates of a platform's memory from simulated commands, refresh included. GB/s."""

from __future__ import annotations

from ahasd.models.command_cost.kernels import Kernels, kernel_scope
from ahasd.models.cost_cache import CostCache
from ahasd.models.npu.command_dma import CommandDma
from ahasd.models.platform.params import Platform

__all__ = ["bus_gbps", "pim_gbps"]


def pim_gbps(platform: Platform) -> float:
    """All ranks read whole rows with one MAC a byte."""
    return Kernels(platform, platform.dram.ranks, CostCache(kernel_scope(platform))).sustained_gbps


def bus_gbps(platform: Platform) -> float:
    """All channels read from all ranks."""
    return CommandDma(platform, platform.dram.ranks, CostCache(kernel_scope(platform))).gbps

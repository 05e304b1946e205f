"""A matmul as ``ahasd kernel matmul`` reports it."""

from __future__ import annotations

from typing import Any

from ahasd.models.cost_cache import CostCache
from ahasd.models.errors import ConfigError
from ahasd.models.first_order.dram import ceil_div
from ahasd.models.npu.array import SystolicArray
from ahasd.models.npu.command_dma import CommandDma, memory_scope
from ahasd.models.npu.matmul import matmul
from ahasd.models.platform.params import Platform

__all__ = ["matmul_report"]


def matmul_report(
    platform: Platform,
    shape: tuple[int, int, int],
    *,
    array: tuple[int, int],
    arrays: int = 1,
    element_bytes: int = 1,
    memory: bool = True,
) -> dict[str, Any]:
    """cycles (NPU clocks), ps, commands by kind, bandwidth_gbps of memory, and the configuration.

    ``shape`` is n, k, m. Weights and inputs lie on the target model's ranks.

    Raises
    ------
    ConfigError
        If a number is out of range.
    """
    if not 1 <= element_bytes <= 4:
        raise ConfigError(f"--element-bytes: {element_bytes} must be from 1 to 4")
    n, k, m = shape
    npu = platform.npu
    dma = CommandDma(platform, platform.target_ranks, CostCache(memory_scope(platform))) if memory else None
    found = matmul(
        SystolicArray(*array),
        n,
        k,
        m,
        dma=dma,
        arrays=arrays,
        clock_ps=npu.clock_ps,
        element_bytes=element_bytes,
        scratchpad_bytes=npu.scratchpad_kib << 10,
    )
    ps = found.cycles * npu.clock_ps
    access = platform.dram.access_bytes
    return {
        "cycles": found.cycles,
        "ps": ps,
        "commands": {
            "PRELOAD": found.units,
            "GEMM": found.units,
            "RD": ceil_div(found.bytes_read, access),
            "WR": ceil_div(found.bytes_written, access),
        },
        "bandwidth_gbps": round(1000 * (found.bytes_read + found.bytes_written) / ps, 3),
        "config": {
            "platform": platform.name,
            "array": f"{array[0]}x{array[1]}",
            "arrays": arrays,
            "n": n,
            "k": k,
            "m": m,
            "element_bytes": element_bytes,
            "memory": memory,
            "scratchpad_kib": npu.scratchpad_kib,
            "clock_ps": npu.clock_ps,
        },
    }

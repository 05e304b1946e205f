"""Exchange between the ranks of a channel and the memory controller, as commands on the channel."""

from __future__ import annotations

from ahasd.models.first_order.dram import ceil_div
from ahasd.models.pim import pim_of_platform
from ahasd.models.pim.execution import run_lanes
from ahasd.models.pim.lane import Lane
from ahasd.models.pim.program import BARRIER, BUFFER, WAIT, Op
from ahasd.models.platform.params import Platform

__all__ = ["exchange_clocks"]


def exchange_clocks(platform: Platform, inputs: int, results: int, ranks: int) -> int:
    """``inputs`` bytes to the buffers of all ranks at once, then ``results`` bytes from each in turn."""
    spec = pim_of_platform(platform)
    dram = spec.dram
    interval = max(dram["CCD_S"], dram["BL"])

    def buffer(kind: str, size: int) -> Op:
        return Op(kind, BUFFER, 0, ceil_div(size, dram.organisation.access_bytes), interval)

    program: list[Op] = []
    if inputs:
        program += [buffer("WR", inputs), Op(BARRIER)]
    for rank in range(ranks if results else 0):
        if rank:
            program.append(Op(WAIT, number=dram["CS"]))
        program.append(buffer("RD", results))
    return run_lanes([Lane(spec, program, refresh=False, in_sets=True)])

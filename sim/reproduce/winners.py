"""Where each system wins: PIM bandwidth over bus bandwidth, and acceptance."""

from __future__ import annotations

from collections.abc import Mapping

from ahasd.models.first_order.dram import Streams
from ahasd.models.platform import load_platform, with_overrides
from ahasd.sim.reproduce.cells import Cell, Outcome
from ahasd.sim.reproduce.scope import MAP_ACCEPTANCE, MAP_MEMORY, MAP_SYSTEMS, map_cells, map_settings
from ahasd.sim.reproduce.table import Field, Table

__all__ = ["ON_NPU", "bandwidth_ratio", "winners_table"]

ON_NPU = ("npu-only", "npu-pim-sync", "async", "ahasd")
"""Those that verify over the bus, each draft on one device."""


def bandwidth_ratio(banks: int, clocks: int) -> float:
    """Sustained bandwidth of all PIM units over that of the bus."""
    platform = with_overrides(load_platform(), dict(map_settings(banks, clocks)))
    streams = Streams(platform)
    units = platform.dram.ranks * platform.pim.units_per_rank
    return units * streams.unit_sustained / streams.bus_sustained


def winners_table(outcomes: Mapping[Cell, Outcome], tokens: int) -> Table:
    """Tokens a second of each system at each place, and the fastest."""
    cells = map_cells(tokens)
    rows: list[list[Field]] = []
    for memory in MAP_MEMORY if cells else ():
        for acceptance in MAP_ACCEPTANCE:
            speeds: dict[str, float | None] = {}
            for system in MAP_SYSTEMS:
                figures = outcomes[cells[memory, acceptance, system]].figures
                speeds[system] = figures["tokens_per_s"] if figures else None
            known = {system: value for system, value in speeds.items() if value}
            best = max(known, key=lambda system: known[system], default=None)
            verifying = {s: v for s, v in known.items() if s in ON_NPU}
            second = max(verifying, key=lambda system: verifying[system], default=None)
            rows.append([bandwidth_ratio(*memory), acceptance, best, second, *speeds.values()])
    return Table(
        name="map",
        title="Where each system wins",
        header=["PIM over bus", "acceptance", "fastest", "fastest that verifies on the NPU", *MAP_SYSTEMS],
        rows=rows,
        note="Tokens a second, LLaMA2-7B/13B, svip, synthetic traces. Acceptance: share of first draft "
        "tokens that are right.",
    )

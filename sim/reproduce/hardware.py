"""Claims that gates and clocks decide: areas from the synthesis report, and the time of a task switch."""

from __future__ import annotations

import functools
import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ahasd import models
from ahasd.models.platform import Platform, load_platform, with_overrides
from ahasd.sim.reproduce.view import View

__all__ = [
    "PARTS",
    "Area",
    "added_share",
    "area_readings",
    "platform_of",
    "switch_us",
]

PARTS = {"H1": "edc", "H2": "tvc", "H3": "queues", "H4": "attention unit"}
"""Claim to part of the area table."""

GATE_CYCLES = 3
"""Of the rank gate, from the last rank idle to the other set on (``ahasd.rtl.rank_gate.SWITCH_CYCLES``)."""


@dataclass(frozen=True, kw_only=True)
class Area:
    """One way to read the synthesis report."""

    storage: str
    """Memory arrays as ``flops`` or ``latches``."""
    shrink: str
    """45 to 28 nm: ``measured`` on NAND2 cells, or ``ideal``."""
    dram: bool
    """In a DRAM process."""
    mm2: dict[str, float]
    """By part."""

    @property
    def text(self) -> str:
        """Completes "holds under: ..."."""
        words = ["arrays in latches"] if self.storage == "latches" else []
        words += ["ideal shrink from 45 nm"] if self.shrink == "ideal" else []
        words += ["a DRAM process (10 x)"] if self.dram else []
        return ", ".join(words)


@functools.cache
def _report() -> dict[str, Any]:
    path = Path(models.__file__).parent / "data" / "area.json"
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report


def area_readings() -> list[Area]:
    """All ways, the default (flip-flops, measured shrink, logic process) first."""
    report = _report()
    readings = []
    for dram, storage, shrink in itertools.product((False, True), report["um2"], report["to_28_nm"]):
        factor = report["to_28_nm"][shrink] * (report["dram_process"] if dram else 1) * 1e-6
        um2 = {**report["um2"][storage], "attention unit": report["attention_unit_um2"]}
        mm2 = {part: area * factor for part, area in um2.items()}
        readings.append(Area(storage=storage, shrink=shrink, dram=dram, mm2=mm2))
    return readings


def added_share(area: Area) -> float:
    """All added area over the die that the paper's own percentage implies."""
    return sum(area.mm2.values()) / float(_report()["die_mm2"])


def platform_of(view: View) -> Platform:
    """The platform that a view's runs had."""
    assumption = view.assumption
    changes = {k: v for k, v in assumption.settings.items() if k.startswith("platform.")}
    return with_overrides(load_platform(assumption.platform), changes)


def switch_us(view: View) -> float | None:
    """A task switch on the PIM side, us: slowest decision of the control unit, rank gate, the ranks' switch.

    Decisions are counted from the event that the unit accepts to the last token of the request.
    """
    cycles = [
        latency["max"]
        for outcome in view.outcomes.values()
        if outcome.figures and outcome.figures["engine"]
        for name, latency in outcome.figures["engine"]["latency_cycles"].items()
        if name.endswith((".draft", ".preverify"))
    ]
    if not cycles:
        return None
    platform = platform_of(view)
    return float((max(cycles) + GATE_CYCLES) * platform.control_clock_ps + platform.pim.switch_ps) * 1e-6

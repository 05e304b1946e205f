"""Timing of a component: minimum period and worst paths by block, with names of the source."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from amaranth.lib.wiring import Component

from ahasd.models.errors import ConfigError
from ahasd.synth.emit import named
from ahasd.synth.flow import Emit, Synthesise
from ahasd.synth.gates import Flatten, Gates, block_of, source_name
from ahasd.synth.liberty import read_library
from ahasd.synth.longest_path import EndPoint, longest_paths
from ahasd.synth.opensta import find_sta, opensta_paths
from ahasd.synth.scale import DRAM_DELAY
from ahasd.synth.tools import find_liberty, find_yosys

__all__ = ["ENGINES", "IO_SHARE", "BlockTiming", "PathStep", "TimingReport", "block_timings", "timing"]

IO_SHARE = 0.1
"""Part of the period outside the block at inputs, and again at outputs."""

ENGINES = ("auto", "opensta", "own")


@dataclass(frozen=True, kw_only=True)
class PathStep:
    """One cell's output on a path."""

    net: str
    """Name in the source; of a net that synthesis made, its block and number."""
    cell: str
    """Library cell; ``port`` for an input."""
    at_ns: float
    """Arrival after the clock edge."""


@dataclass(frozen=True, kw_only=True)
class BlockTiming:
    """The slowest path that ends in a block."""

    name: str
    """Path of sub-module names; the top has all paths."""
    period_ns: float
    """The least period at which the block's registers and ports make it."""
    fmax_mhz: float
    start: str
    """Register or port in which the path begins."""
    end: str
    path: tuple[PathStep, ...]
    ends: int
    """Registers and output ports, bits, that were looked at."""


@dataclass(frozen=True, kw_only=True)
class TimingReport:
    """Timing of a design."""

    top: str
    library: str
    engine: str
    """``opensta`` or ``own``."""
    target_ns: float
    """Period that it was synthesised for."""
    io_share: float
    blocks: tuple[BlockTiming, ...]
    """The top first."""
    metrics: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON's types."""
        top = self.blocks[0]
        return {
            "schema": 1,
            "top": self.top,
            "library": self.library,
            "engine": self.engine,
            "target_ns": self.target_ns,
            "io_share": self.io_share,
            "dram_process": {
                "factor": DRAM_DELAY,
                "period_ns": round(top.period_ns * DRAM_DELAY, 4),
                "fmax_mhz": round(top.fmax_mhz / DRAM_DELAY, 1),
            },
            "blocks": [asdict(block) for block in self.blocks],
        }

    def to_json(self) -> str:
        """``to_dict`` as JSON text with a final newline."""
        return json.dumps(self.to_dict(), indent=2) + "\n"


def _period(end: EndPoint, target: float, share: float) -> float:
    """The period at which the path's slack is zero: delays outside are a share of it."""
    return target - end.slack / (1 - share * (end.from_port + end.to_port))


def block_timings(gates: Gates, ends: list[EndPoint], target: float, share: float) -> list[BlockTiming]:
    """The slowest path of the top, and of each block that has registers."""
    worst: dict[str, tuple[float, EndPoint]] = {}
    count: dict[str, int] = {}
    for end in ends:
        block = "" if end.to_port else block_of(end.cell)
        period = _period(end, target, share)
        for name in {block, "*"}:
            count[name] = count.get(name, 0) + 1
            if name not in worst or period > worst[name][0]:
                worst[name] = (period, end)
    worst.pop("", None)
    rows = []
    for name in sorted(worst, key=lambda n: (n != "*", n)):
        period, end = worst[name]
        steps = tuple(
            PathStep(net=gates.names.get(s.net, s.cell), cell=s.kind or "port", at_ns=round(s.at, 4))
            for s in end.path
        )
        rows.append(
            BlockTiming(
                name=gates.top if name == "*" else f"{gates.top}.{name}",
                period_ns=round(period, 4),
                fmax_mhz=round(1000 / period, 1),
                start=steps[0].net,
                end=_register(gates, end),
                path=steps,
                ends=count[name],
            )
        )
    return rows


def _register(gates: Gates, end: EndPoint) -> str:
    if end.to_port:
        return end.cell
    gate = gates.by_name[end.cell]
    inputs = gates.netlist.library.cells[gate.kind].inputs
    outputs = [gates.names[net] for pin, net in gate.pins.items() if pin not in inputs and net in gates.names]
    return min(outputs, key=lambda name: ("_" in name[:1], len(name))) if outputs else source_name(end.cell)


def timing(
    block: str | Component,
    name: str | None = None,
    *,
    liberty: str | os.PathLike[str] = "nangate45",
    yosys: str = "yowasp",
    period_ps: int = 1000,
    engine: str = "auto",
    cache: Path | None = None,
    storage: str = "flops",
) -> TimingReport:
    """Synthesise a block and find its longest paths; ``auto`` takes OpenSTA if it is installed.

    Raises
    ------
    ConfigError
        If there is no such block or engine.
    ToolError
        If a tool or library is missing, or synthesis fails.
    """
    if engine not in ENGINES:
        raise ConfigError(f"engine: {engine!r} must be one of {', '.join(ENGINES)}")
    library = read_library(find_liberty(liberty))
    tool = find_yosys(yosys)
    component, name = named(block, name)
    netlist = Synthesise(Emit(component, name).run(), library, tool, period_ps, cache, storage).run()
    gates = Flatten(netlist, tool, cache).run()
    chosen = engine if engine != "auto" else ("opensta" if find_sta() else "own")
    target = period_ps / 1000
    ends = (opensta_paths if chosen == "opensta" else longest_paths)(gates, target, IO_SHARE)
    return TimingReport(
        top=name,
        library=library.name,
        engine=chosen,
        target_ns=target,
        io_share=IO_SHARE,
        blocks=tuple(block_timings(gates, ends, target, IO_SHARE)),
        metrics=netlist.metrics,
    )

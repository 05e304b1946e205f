"""Area of a component by block and kind: Emit, Synthesise, MeasureArea."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from amaranth.lib.wiring import Component

from ahasd.models.errors import ConfigError, ToolError
from ahasd.synth.blocks import PAPER_BLOCKS, PAPER_ROWS
from ahasd.synth.emit import named
from ahasd.synth.flow import STORAGE, STORAGES, Emit, Netlist, Synthesise
from ahasd.synth.liberty import Library, read_library
from ahasd.synth.scale import DIES_MM2, DRAM_FACTOR, MACRO_FORMULA, PAPER_MM2, macro_um2, scaling
from ahasd.synth.tools import find_liberty, find_yosys

__all__ = ["AreaReport", "BlockArea", "MeasureArea", "area"]


@dataclass(frozen=True, kw_only=True)
class BlockArea:
    """Area of one module, in um^2 of the library's process, before layout (cells only, no utilisation)."""

    name: str
    """Path of sub-module names."""
    parent: str | None
    um2: float
    """Its own, without its sub-blocks; = sequential + combinational."""
    total_um2: float
    """With its sub-blocks."""
    ge: float
    """Own area in two-input NANDs of the library."""
    total_ge: float
    flops: int
    """Its own flip-flops."""
    total_flops: int
    latches: int
    sequential_um2: float
    """Flip-flops, latches and clock gates."""
    combinational_um2: float
    storage_um2: float
    """The part of ``um2`` that is memory arrays as flip-flops, with address decode and read multiplexers."""
    storage_flops: int
    logic_um2: float
    """``um2`` without ``storage_um2``."""


@dataclass(frozen=True, kw_only=True)
class AreaReport:
    """Area of a design."""

    top: str
    library: Library
    period_ps: int
    blocks: tuple[BlockArea, ...]
    """The top first, each block before its sub-blocks."""
    storage: str = "flops"
    """What memory arrays are made of: ``flops`` or ``latches``."""
    bits: dict[str, int] = field(default_factory=dict)
    """Block -> bits of its memory arrays."""
    metrics: dict[str, Any] = field(default_factory=dict)
    """``cached``, ``synthesis_s``, ``yosys``, ``rtlil_bytes``."""

    @cached_property
    def total(self) -> dict[str, float]:
        """Sums over the blocks: um2, ge, flops, latches, sequential, combinational, storage, logic."""
        keys = [f.name for f in fields(BlockArea) if not f.name.startswith(("name", "parent", "total_"))]
        return {key: _tidy(math.fsum(getattr(block, key) for block in self.blocks)) for key in keys}

    @cached_property
    def scaled(self) -> dict[str, Any]:
        """At 28 nm in a logic and in a DRAM process, as a share of dies; beside the paper's area table."""
        um2 = self.total["um2"]
        result: dict[str, Any] = {}
        for way in scaling(self.library):
            mm2 = way.mm2(um2)
            result[way.name] = {
                "factor": way.factor,
                "formula": way.formula,
                "logic_28nm": _placed(mm2),
                "dram_process": {"factor": DRAM_FACTOR} | _placed(mm2 * DRAM_FACTOR),
            }
        return result | {"paper": self._paper_rows()}

    def _paper_rows(self) -> list[dict[str, Any]]:
        """The paper's rows beside ours, ``other`` for what it does not list; empty if there are none."""
        ways = scaling(self.library)
        mine = {
            row: [b for b in self.blocks if b.name in _under(self.top, names)]
            for row, names in PAPER_ROWS.items()
        }
        if self.top in PAPER_BLOCKS:
            mine = {PAPER_BLOCKS[self.top]: [self.blocks[0]]}
        if not any(mine.values()):
            return []
        listed = {row: math.fsum(block.total_um2 for block in blocks) for row, blocks in mine.items()}
        rest = {} if self.top in PAPER_BLOCKS else {"other": self.total["um2"] - math.fsum(listed.values())}
        return [
            {
                "row": row,
                "blocks": [block.name for block in mine.get(row, [])],
                "um2": _tidy(um2),
                "mm2": {way.name: round(way.mm2(um2), 9) for way in ways},
                "paper_mm2": PAPER_MM2.get(row),
            }
            for row, um2 in (listed | rest).items()
        ]

    def memories(self) -> list[dict[str, Any]]:
        """Each block with memory arrays: bits, what they take as built, and as a macro (an estimate)."""
        node = self.library.node_nm
        return [
            {
                "block": block.name,
                "bits": self.bits[block.name],
                "built_um2": block.storage_um2,
                "macro_um2": round(macro_um2(self.bits[block.name], node), 1) if node else None,
            }
            for block in self.blocks
            if self.bits.get(block.name)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The report without wall-clock figures; the same for every run with the same tools."""
        return {
            "schema": 1,
            "top": self.top,
            "library": {
                "name": self.library.name,
                "sha256": self.library.sha256,
                "node_nm": self.library.node_nm,
                "nand2_um2": self.library.nand2.area,
            },
            "yosys": self.metrics.get("yosys"),
            "period_ps": self.period_ps,
            "storage": {
                "kind": self.storage,
                "macro_formula": MACRO_FORMULA,
                "memories": self.memories(),
            },
            "blocks": [asdict(block) for block in self.blocks],
            "total": self.total,
            "scaled": self.scaled,
        }

    def to_json(self) -> str:
        """``to_dict`` as JSON text with a final newline."""
        return json.dumps(self.to_dict(), indent=2) + "\n"


def _placed(mm2: float) -> dict[str, Any]:
    return {"mm2": round(mm2, 9), "die_share": {die: round(mm2 / size, 9) for die, size in DIES_MM2.items()}}


def _under(top: str, names: tuple[str, ...]) -> set[str]:
    return {f"{top}.{name}" for name in names}


def _leaf(module: str, sub: str) -> str:
    """``sub`` as named inside ``module``, without the number that Amaranth adds to a taken name."""
    return re.sub(r"\$\d+$", "", sub.removeprefix(f"{module}."))


def _memory_bits(rtlil: Path) -> dict[str, int]:
    """Block -> bits of the memories that its RTLIL declares."""
    bits: dict[str, int] = {}
    block = ""
    for line in rtlil.read_text(encoding="utf-8").splitlines() if rtlil.exists() else ():
        if match := re.match(r"module \\(\S+)", line):
            block = re.sub(r"\$\d+(?=\.|$)", "", match[1])
        elif match := re.match(r"\s*memory width (\d+) size (\d+) ", line):
            bits[block] = bits.get(block, 0) + int(match[1]) * int(match[2])
    return bits


def _tidy(value: float) -> float:
    """Sums of areas given to 6 decimals; counts stay whole."""
    rounded = round(value, 6)
    return int(rounded) if rounded == int(rounded) else rounded


@dataclass(frozen=True)
class MeasureArea:
    """Mapped netlist -> area by block."""

    netlist: Netlist
    period_ps: int
    metrics: dict[str, Any] = field(default_factory=dict)
    storage: str = "flops"

    def run(self) -> AreaReport:
        """The report, counted from cells and areas of the library and checked against Yosys' own sums.

        Raises
        ------
        ToolError
            If a cell is not of the library, or the sums differ.
        """
        blocks = self._walk(self.netlist.top, self.netlist.top, None)
        ours, theirs = blocks[0].total_um2, self.netlist.areas.get(self.netlist.top)
        if theirs is not None and not math.isclose(ours, theirs, rel_tol=1e-6):
            raise ToolError(f"area of {self.netlist.top}: {ours} um2 by cells, {theirs} um2 by yosys")
        return AreaReport(
            top=self.netlist.top,
            library=self.netlist.library,
            period_ps=self.period_ps,
            blocks=tuple(blocks),
            storage=self.storage,
            bits=_memory_bits(self.netlist.folder / "design.il"),
            metrics={**self.metrics, **self.netlist.metrics},
        )

    def _walk(self, module: str, name: str, parent: str | None) -> list[BlockArea]:
        """The block of ``module`` and its sub-blocks; a module used more than once appears with #2, ..."""
        library, modules = self.netlist.library, self.netlist.cells
        cells = dict(modules[module])
        storage = modules.get(f"{module}_{STORAGE}", {}) if cells.pop(f"{module}_{STORAGE}", 0) else {}
        below: list[BlockArea] = []
        for sub in [sub for sub in cells if sub in modules]:
            leaf = f"{name}.{_leaf(module, sub)}"
            for k in range(cells.pop(sub)):
                below += self._walk(sub, leaf if k == 0 else f"{leaf}#{k + 1}", name)
        unknown = sorted((cells.keys() | storage.keys()) - library.cells.keys())
        if unknown:
            raise ToolError(f"{name}: cells that library {library.name} does not have: {', '.join(unknown)}")

        def um2(of: dict[str, int], sequential: bool) -> float:
            chosen = ((library.cells[cell], count) for cell, count in of.items())
            return math.fsum(cell.area * count for cell, count in chosen if cell.sequential is sequential)

        def count(of: dict[str, int], kind: str) -> int:
            return sum(n for cell, n in of.items() if getattr(library.cells[cell], kind))

        sequential = um2(cells, True) + um2(storage, True)
        combinational = um2(cells, False) + um2(storage, False)
        stored = um2(storage, True) + um2(storage, False)
        flops = count(cells, "flop") + count(storage, "flop")
        total = sequential + combinational + math.fsum(block.um2 for block in below)
        block = BlockArea(
            name=name,
            parent=parent,
            um2=_tidy(sequential + combinational),
            total_um2=_tidy(total),
            ge=_tidy((sequential + combinational) / library.nand2.area),
            total_ge=_tidy(total / library.nand2.area),
            flops=flops,
            total_flops=flops + sum(block.flops for block in below),
            latches=count(cells, "latch") + count(storage, "latch"),
            sequential_um2=_tidy(sequential),
            combinational_um2=_tidy(combinational),
            storage_um2=_tidy(stored),
            storage_flops=count(storage, "flop"),
            logic_um2=_tidy(sequential + combinational - stored),
        )
        return [block, *below]


def area(
    block: str | Component,
    name: str | None = None,
    *,
    liberty: str | os.PathLike[str] = "nangate45",
    yosys: str = "yowasp",
    period_ps: int = 1000,
    cache: Path | None = None,
    storage: str = "flops",
) -> AreaReport:
    """Synthesize a block of ``BLOCKS``, or a component under ``name``, and measure it.

    ``storage``: memory arrays of ``flops`` or ``latches``; ``liberty``: ``nangate45``, ``osu018`` or a
    file; ``yosys``: ``yowasp``, ``native`` or an executable. The first run of a design takes from seconds to
    minutes, the next ones of the same are read from ``cache``.

    Raises
    ------
    ConfigError
        If there is no such block or storage, or the name is not usable.
    ToolError
        If a tool or library is missing, or synthesis fails.
    """
    if storage not in STORAGES:
        raise ConfigError(f"storage: {storage!r} must be one of {', '.join(STORAGES)}")
    library = read_library(find_liberty(liberty))
    tool = find_yosys(yosys)
    component, name = named(block, name)  # after all that may be missing: an unused component warns
    design = Emit(component, name).run()
    netlist = Synthesise(design, library, tool, period_ps, cache, storage).run()
    return MeasureArea(netlist, period_ps, design.metrics, storage).run()

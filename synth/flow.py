"""Steps from a component to a mapped netlist: Emit, Synthesise.

A step is a frozen dataclass: its fields are its inputs, ``run`` returns its outputs, among them ``metrics``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from amaranth.lib.wiring import Component

from ahasd.synth.emit import emit_rtlil
from ahasd.synth.liberty import Library
from ahasd.synth.results import content_key, result_folder
from ahasd.synth.tools import Yosys, relative

__all__ = ["STORAGE", "STORAGES", "Design", "Emit", "Netlist", "Synthesise", "latch_cells"]

STORAGE = "__storage__"
"""Suffix of the module that holds a module's memory arrays."""

STORAGES = ("flops", "latches")
"""What memory arrays can be made of."""

_FANOUT = 4  # load of an output, in input capacitances of the smallest inverter

_SCRIPT = """\
read_rtlil design.il
hierarchy -check -top {top}
chformal -remove
delete */t:$print
# Memory arrays go into modules of their own, so that storage can be told from logic.
proc
opt_clean
memory -nomap
setattr -set submod "{storage}" */t:$mem_v2
submod
{latches}synth -top {top} -booth -noabc
dfflibmap -liberty {liberty}
opt
abc -liberty {liberty} -constr abc.constr -script {logic} * *{storage} %d
abc -liberty {liberty} -constr abc.constr -script {array} *{storage}
opt_clean -purge
tee -q -o stat.json stat -json -liberty {liberty}
write_verilog -noattr netlist.v
"""
# -booth and -constr: 2.26 against 3.97 ns for a 32 x 16 multiplier, at 3 % less area (NanGate 45 nm).
# `synth` runs ABC once more by itself, for nothing here: -noabc.

_LATCH_MEMORY = Path(__file__).with_name("latch_memory.v")
_LATCHES = """\
read_liberty -lib {liberty}
techmap -autoproc -map memory.v */t:$mem_v2
techmap -map cells.v
"""

_LOGIC = "+strash;dch;map,-B,0.9,-D,{half};topo;buffer,-c;topo;upsize,-D,{half};dnsize,-D,{half}"
"""ABC on logic. It sees one module at a time, every input at time 0: a path through two of them gets half of
the period in each (NanGate, control unit: 0.98 ns at a half, 1.10 at 0.8 of it, for 4 % less area)."""

_ARRAY = "+strash;dch;amap;topo;buffer,-c,-N,16;topo;upsize,-D,{quarter};dnsize,-D,{quarter}"
"""ABC on memory arrays: wide multiplexers are smallest when mapped for area (``amap``: 8706 um2 against 10044
for the predictor's table, at the same speed); addresses and enables go to thousands of gates, through a
buffer tree of fan-out 16, and come late: a quarter of the period."""


@dataclass(frozen=True)
class Design:
    """A design as RTLIL text."""

    top: str
    rtlil: str
    metrics: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Emit:
    """Component -> RTLIL."""

    component: Component
    name: str

    def run(self) -> Design:
        """The design; metrics: ``rtlil_bytes``."""
        rtlil = emit_rtlil(self.component, self.name)
        return Design(self.name, rtlil, {"rtlil_bytes": len(rtlil.encode())})


@dataclass(frozen=True)
class Netlist:
    """A mapped netlist with the hierarchy kept, in a result folder that must not be changed."""

    top: str
    folder: Path
    library: Library
    metrics: dict[str, Any]

    @property
    def verilog(self) -> Path:
        """The netlist; its names are those of ``stat`` but ``$`` cells are renamed ``_N_``."""
        return self.folder / "netlist.v"

    @cached_property
    def cells(self) -> dict[str, dict[str, int]]:
        """Module -> cell or sub-module type -> count."""
        return {name: module["num_cells_by_type"] for name, module in self._modules.items()}

    @cached_property
    def areas(self) -> dict[str, float]:
        """Module -> um^2 with its sub-modules, as Yosys counts; empty for a Yosys that does not (0.23)."""
        return {name: module["area"] for name, module in self._modules.items() if "area" in module}

    @cached_property
    def _modules(self) -> dict[str, dict[str, Any]]:
        stat = json.loads((self.folder / "stat.json").read_text(encoding="utf-8"))
        return {name.removeprefix("\\"): module for name, module in stat["modules"].items()}


def latch_cells(library: Library) -> str:
    """Techmap from generic latches and ``latch_memory.v``'s clock gate to the smallest cells of ``library``.

    Raises
    ------
    ToolError
        If the library has no latch of both kinds or no positive-edge clock gate.
    """
    lines = []
    for name, enable in (("\\$_DLATCH_P_", False), ("\\$_DLATCH_N_", True)):
        cell, pin = library.latch(negative=enable)
        data = next(p for p in cell.inputs if p != pin)
        out = next(p for p, function in cell.functions.items() if function == "IQ")
        lines.append(
            f"module {name} (input E, D, output Q); {cell.name} _TECHMAP_REPLACE_ "
            f"(.{data}(D), .{pin}(E), .{out}(Q)); endmodule"
        )
    gate, clock, enable_pin, out = library.clock_gate()
    lines.append(
        f"module AHASD_CLOCK_GATE (input CK, E, output GCK); {gate.name} _TECHMAP_REPLACE_ "
        f"(.{clock}(CK), .{enable_pin}(E), .{out}(GCK)); endmodule"
    )
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Synthesise:
    """RTLIL -> gates of ``library``, optimised for ``period_ps``."""

    design: Design
    library: Library
    yosys: Yosys
    period_ps: int = 1000
    cache: Path | None = None
    """Where result folders are kept; ``results.cache_root()`` by default."""
    storage: str = "flops"
    """What memory arrays are made of: ``flops`` or ``latches``."""

    def run(self) -> Netlist:
        """The netlist; metrics: ``cached``, ``synthesis_s`` (wall clock of the run that made it), ``yosys``.

        Raises
        ------
        ToolError
            If Yosys fails, the cache cannot be written, or the library lacks latches or clock gates.
        """
        latches = latch_cells(self.library) if self.storage == "latches" else ""
        load = _FANOUT * self.library.femtofarad * next(iter(self.library.inverter.inputs.values()))
        constraints = f"set_driving_cell {self.library.inverter.name}\nset_load {load:.4g} [all_outputs]\n"

        def script(liberty: str) -> str:
            period = {"half": self.period_ps // 2, "quarter": self.period_ps // 4}
            return _SCRIPT.format(
                top=self.design.top,
                storage=STORAGE,
                liberty=liberty,
                latches=_LATCHES.format(liberty=liberty) if latches else "",
                logic=_LOGIC.format(**period),
                array=_ARRAY.format(**period),
            )

        def make(folder: Path) -> None:
            (folder / "design.il").write_text(self.design.rtlil, encoding="utf-8")
            if latches:
                (folder / "memory.v").write_text(_LATCH_MEMORY.read_text(encoding="utf-8"), encoding="utf-8")
                (folder / "cells.v").write_text(latches, encoding="utf-8")
            (folder / "abc.constr").write_text(constraints, encoding="utf-8")
            (folder / "flow.ys").write_text(script(relative(self.library.path, folder)), encoding="utf-8")
            seconds = self.yosys.run(folder)
            run = {"synthesis_s": round(seconds, 3), "yosys": self.yosys.version}
            (folder / "run.json").write_text(json.dumps(run) + "\n", encoding="utf-8")

        key = content_key(
            self.design.rtlil,
            script("LIBERTY"),
            constraints,
            self.library.sha256,
            self.yosys.version,
            latches and latches + _LATCH_MEMORY.read_text(encoding="utf-8"),
        )
        folder, cached = result_folder(key, make, self.cache)
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        return Netlist(self.design.top, folder, self.library, {"cached": cached, **run})

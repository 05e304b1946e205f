"""Formal equivalence of a block's mapped netlist and its RTL, bit by bit of registers and outputs.

Synthesis here moves no register, so both can be cut at them (:mod:`ahasd.synth.miter`), and what is left to
prove is combinational: ABC's SAT sweeping does it for the whole control unit. A reset is part of a register's
next state, so it is proven too; memories, which have none, are taken to agree until they are written.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ahasd.models.errors import ToolError
from ahasd.synth.emit import named
from ahasd.synth.flow import STORAGE, Emit, Netlist, Synthesise
from ahasd.synth.liberty import Library, read_library
from ahasd.synth.miter import Miter, read_clocked
from ahasd.synth.results import cache_root
from ahasd.synth.tools import find_liberty, find_yosys, relative

__all__ = ["BLOCKS", "Equivalence", "cell_models", "prove"]

_READ = """\
read_rtlil design.il
hierarchy -check -top {top}
chformal -remove
delete */t:$print
proc
opt_clean
memory -nomap
setattr -set submod "{storage}" */t:$mem_v2
submod
memory_map
opt_clean
techmap
async2sync
dffunmap
simplemap
flatten
write_json gold.json
design -reset
read_verilog cells.v {netlist}
hierarchy -top {top}
proc
techmap
simplemap
flatten
write_json gate.json
"""
"""RTL and netlist as simple gates and plain registers; memory arrays are named as synthesis names them."""

_PROVE = """\
read_blif miter.blif
simplemap
abc -g AND,OR,XOR -script +strash;&get,-n;&fraig,-x;&put
clean
write_json miter.json
"""
"""ABC's SAT sweeping makes an output that cannot be 1 the constant 0; nothing is read from its messages."""

BLOCKS = (
    "entropy_average",
    "entropy_history",
    "serial_arithmetic",
    "batch_list",
    "task_scheduler",
    "pattern_history_table",
    "preverify_timer",
    "draft_queue",
    "control_unit",
)
"""What `ahasd equiv` proves: the parts of the unit, then all of it at once."""


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """What was proven of a block."""

    block: str
    pairs: int
    """Registers' bits and outputs' bits that were compared."""
    proven: int
    differ: tuple[str, ...]
    """Those that are not proven, by name."""
    unpaired: tuple[str, ...]
    """Registers of the netlist that the RTL does not have by that name."""
    seconds: float

    @property
    def holds(self) -> bool:
        """All pairs are proven."""
        return self.pairs == self.proven > 0


def _expression(function: str) -> str:
    """A Liberty function as Verilog: both use ``! & | ^``; a space between terms is AND, ``'`` is NOT."""
    text = re.sub(r"(\w+)'", r"!\1", function.replace("*", "&").replace("+", "|"))
    return re.sub(r"(?<=[\w)])\s+(?=[\w(!])", " & ", text)


def cell_models(library: Library, kinds: set[str]) -> str:
    """Functional Verilog of cells: gates and plain flip-flops.

    Raises
    ------
    ToolError
        If a cell is anything else.
    """
    modules = []
    for kind in sorted(kinds):
        cell = library.cells[kind]
        pins = [f"input {pin}" for pin in cell.inputs] + [f"output {pin}" for pin in cell.functions]
        body = []
        if cell.flop:
            clock = next(iter(set(cell.inputs) - {"D"}), "")
            if set(cell.inputs) != {"D", clock}:
                raise ToolError(f"equivalence: {kind} is no gate and no plain flip-flop")
            body.append(f"  reg IQ; always @(posedge {clock}) IQ <= D;")
            body += [f"  assign {pin} = {'IQ' if f == 'IQ' else '~IQ'};" for pin, f in cell.functions.items()]
        elif cell.latch:
            raise ToolError(f"equivalence: {kind} is a latch or clock gate")
        else:
            body += [f"  assign {pin} = {_expression(f)};" for pin, f in cell.functions.items()]
        modules.append(f"module {kind}({', '.join(pins)});\n" + "\n".join(body) + "\nendmodule\n")
    return "\n".join(modules)


def prove(
    block: str,
    *,
    liberty: str | os.PathLike[str] = "nangate45",
    yosys: str = "yowasp",
    period_ps: int = 1000,
    cache: Path | None = None,
) -> Equivalence:
    """Prove a block's netlist equivalent to its RTL, in seconds to a minute or two.

    Raises
    ------
    ToolError
        If a tool or library is missing, or Yosys fails.
    """
    library = read_library(find_liberty(liberty))
    tool = find_yosys(yosys)
    component, name = named(block, None)
    design = Emit(component, name).run()
    netlist: Netlist = Synthesise(design, library, tool, period_ps, cache).run()
    kinds = {kind for cells in netlist.cells.values() for kind in cells if kind in library.cells}
    root = cache or cache_root()
    with tempfile.TemporaryDirectory(prefix="tmp-", dir=root) as folder:
        work = Path(folder)
        began = time.monotonic()
        (work / "design.il").write_text(design.rtlil, encoding="utf-8")
        (work / "cells.v").write_text(cell_models(library, kinds), encoding="utf-8")
        script = _READ.format(top=name, storage=STORAGE, netlist=relative(netlist.verilog, work))
        (work / "read.ys").write_text(script, encoding="utf-8")
        tool.run(work, "read.ys")
        miter = Miter(read_clocked(work / "gold.json", name), read_clocked(work / "gate.json", name))
        (work / "miter.blif").write_text(miter.blif(), encoding="utf-8")
        (work / "prove.ys").write_text(_PROVE, encoding="utf-8")
        tool.run(work, "prove.ys")
        module = json.loads((work / "miter.json").read_text(encoding="utf-8"))["modules"]["miter"]
        differ = tuple(
            pair
            for k, (pair, _, _) in enumerate(miter.pairs)
            if module["ports"][f"differ[{k}]"]["bits"] != ["0"]
        )
        return Equivalence(
            block=block,
            pairs=len(miter.pairs),
            proven=len(miter.pairs) - len(differ),
            differ=differ,
            unpaired=tuple(miter.unpaired),
            seconds=round(time.monotonic() - began, 1),
        )

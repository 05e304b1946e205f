"""Formal equivalence of a block's mapped netlist and its RTL, bit by bit of registers and outputs.

Yosys' ``equiv_induct`` on pairs matched by name: the two do not diverge once they have agreed for some
cycles. Initial and reset states are not covered; the vectors on the gates (``ahasd power``) start from reset.
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
from ahasd.synth.results import cache_root
from ahasd.synth.tools import find_liberty, find_yosys, relative

__all__ = ["CONVERGING", "Equivalence", "cell_models", "prove"]

_SCRIPT = """\
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
flatten
opt_clean
rename {top} gold
design -stash gold
read_verilog cells.v {netlist}
hierarchy -top {top}
proc
flatten
opt_clean
rename {top} gate
design -stash gate
design -copy-from gold -as gold gold
design -copy-from gate -as gate gate
equiv_make gold gate equiv
hierarchy -top equiv
clean -purge
opt_merge
equiv_induct -seq {depth}
tee -o status.txt equiv_status
select -count t:$equiv
tee -q -o stat.json stat -json
{unproven}
"""

_DEPTH = 4
"""Steps of the induction."""

CONVERGING = (
    "entropy_average",
    "entropy_history",
    "serial_arithmetic",
    "batch_list",
    "task_scheduler",
    "pattern_history_table",
    "preverify_timer",
)
"""Blocks that are proven within two minutes each; the ring and the whole unit are not in 400 s."""


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """What was proven of a block."""

    block: str
    pairs: int
    """Registers' bits and outputs' bits that were compared."""
    proven: int
    seconds: float

    @property
    def holds(self) -> bool:
        """All pairs are proven."""
        return self.pairs == self.proven


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
    """Prove a block's netlist equivalent to its RTL; wall-clock time from milliseconds to minutes.

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
        (work / "design.il").write_text(design.rtlil, encoding="utf-8")
        (work / "cells.v").write_text(cell_models(library, kinds), encoding="utf-8")
        script = _SCRIPT.format(
            top=name,
            storage=STORAGE,
            netlist=relative(netlist.verilog, work),
            depth=_DEPTH,
            unproven="equiv_remove\ntee -q -o left.json stat -json",
        )
        (work / "flow.ys").write_text(script, encoding="utf-8")
        began = time.monotonic()
        tool.run(work)
        pairs = _count(work / "stat.json")
        left = _count(work / "left.json")
        return Equivalence(
            block=block, pairs=pairs, proven=pairs - left, seconds=round(time.monotonic() - began, 1)
        )


def _count(path: Path) -> int:
    stat = json.loads(path.read_text(encoding="utf-8"))
    cells = stat["modules"]["\\equiv"]["num_cells_by_type"]
    return int(cells.get("$equiv", 0))

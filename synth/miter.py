"""Two clocked designs as one combinational miter: cut at their registers, which are paired by name.

Each register's output becomes an input of both designs, each register's next state and each port an output.
If all pairs of outputs agree for every input, two designs that once hold the same state hold it for ever: an
induction over one step, from any state. A wrong pairing can only make it fail. What nothing drives, in either
design, is an input of its own: nothing may depend on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ahasd.models.errors import ToolError
from ahasd.synth.gates import source_name

__all__ = ["Clocked", "Miter", "read_clocked"]

_TABLES = {
    "$_AND_": ("AB", "11 1"),
    "$_OR_": ("AB", "1- 1\n-1 1"),
    "$_XOR_": ("AB", "10 1\n01 1"),
    "$_NOT_": ("A", "0 1"),
    "$_BUF_": ("A", "1 1"),
    "$_MUX_": ("ABS", "1-0 1\n-11 1"),
}
"""Yosys' simple gates: input pins, and the rows of a BLIF table."""
_REGISTER = "$_DFF_P_"
_NO_LOGIC = ("$scopeinfo",)

Net = int | str


@dataclass(frozen=True)
class Clocked:
    """A flat design of simple gates and plain registers, from Yosys' JSON."""

    cells: list[dict[str, Any]]
    ports: dict[str, dict[str, Any]]
    netnames: dict[str, dict[str, Any]]

    @cached_property
    def registers(self) -> dict[Net, Net]:
        """Register's output -> its next state."""
        return {
            cell["connections"]["Q"][0]: cell["connections"]["D"][0]
            for cell in self.cells
            if cell["type"] == _REGISTER
        }

    @cached_property
    def gates(self) -> list[dict[str, Any]]:
        """Cells that are no registers."""
        return [cell for cell in self.cells if cell["type"] != _REGISTER]

    @cached_property
    def driven(self) -> set[Net]:
        """Outputs of gates, and constants."""
        return {"0", "1"} | {cell["connections"]["Y"][0] for cell in self.gates}

    @cached_property
    def used(self) -> set[Net]:
        """Nets that gates, registers and output ports read, "x" among them if something is left open."""
        read = {cell["connections"][pin][0] for cell in self.gates for pin in _TABLES[cell["type"]][0]}
        return read | {*self.registers.values()} | {net for _, net in self.port_bits("output")}

    @cached_property
    def names(self) -> dict[str, Net]:
        """Each name in the source of a register's output, bit by bit -> that output."""
        found: dict[str, Net] = {}
        for name, net in self.netnames.items():
            for k, bit in enumerate(net["bits"]):
                if bit in self.registers:
                    found[f"{source_name(name)}[{k + net.get('offset', 0)}]"] = bit
        return found

    def port_bits(self, direction: str) -> Iterator[tuple[str, Net]]:
        """(port[bit], net) of a direction."""
        for name, port in self.ports.items():
            if port["direction"] == direction:
                for k, net in enumerate(port["bits"]):
                    yield f"{name}[{k}]", net


def read_clocked(path: Path, top: str) -> Clocked:
    """The module ``top`` of a file of Yosys' ``write_json``.

    Raises
    ------
    ToolError
        If it has cells that are neither simple gates nor plain registers.
    """
    module = json.loads(path.read_text(encoding="utf-8"))["modules"][top]
    cells = [cell for cell in module["cells"].values() if cell["type"] not in _NO_LOGIC]
    strange = sorted({cell["type"] for cell in cells} - _TABLES.keys() - {_REGISTER})
    if strange:
        raise ToolError(f"{top}: cannot be cut into registers and gates: {', '.join(strange)}")
    return Clocked(cells, module["ports"], module["netnames"])


class Miter:
    """Compares ``gate`` with ``gold``.

    Parameters
    ----------
    gold, gate : Clocked
    """

    def __init__(self, gold: Clocked, gate: Clocked) -> None:
        self.gold, self.gate = gold, gate
        self.pairs: list[tuple[str, Net, Net]] = []
        """What is compared: name, net of ``gold``, net of ``gate``."""
        self.unpaired: list[str] = []
        """Names of the netlist's registers that the RTL does not have: compared with nothing."""
        self._shared: dict[Net, Net] = {}  # the netlist's register's output -> the RTL's
        self._pair()

    def _pair(self) -> None:
        known = self.gold.names
        aliases: dict[Net, list[str]] = {}
        for name, net in self.gate.names.items():
            aliases.setdefault(net, []).append(name)
        for net, next_state in self.gate.registers.items():
            same = next((name for name in aliases.get(net, []) if name in known), None)
            if same is None:
                self.unpaired.append(min(aliases.get(net, [str(net)])))
                continue
            self._shared[net] = known[same]
            self.pairs.append((same, self.gold.registers[known[same]], next_state))
        outputs = dict(self.gold.port_bits("output"))
        self.pairs += [(name, outputs[name], net) for name, net in self.gate.port_bits("output")]

    def blif(self, top: str = "miter") -> str:
        """The miter: an output ``differ[k]`` for the k-th of ``pairs``, 1 where the two differ."""
        inputs = {name: f"i{k}" for k, (name, _) in enumerate(self.gold.port_bits("input"))}
        gold: dict[Net, str] = {net: inputs[name] for name, net in self.gold.port_bits("input")}
        gate: dict[Net, str] = {net: inputs[name] for name, net in self.gate.port_bits("input")}
        gold |= {net: f"r{net}" for net in self.gold.registers}
        gate |= {
            net: f"r{self._shared[net]}" if net in self._shared else f"s{net}" for net in self.gate.registers
        }
        for design, known, side in ((self.gold, gold, "a"), (self.gate, gate, "b")):
            known |= {net: f"{side}x{net}" for net in design.used - design.driven - known.keys()}
        free = sorted({*gold.values(), *gate.values()})
        gold |= {"0": "zero", "1": "one"}
        gate |= {"0": "zero", "1": "one"}
        text = [f".model {top}", f".inputs {' '.join(free)}"]
        text += [f".outputs {' '.join(f'differ[{k}]' for k in range(len(self.pairs)))}"]
        text += [".names zero", ".names one", "1"]
        text += _logic(self.gold, gold, "a") + _logic(self.gate, gate, "b")
        for k, (_, mine, other) in enumerate(self.pairs):
            names = f"{gold.get(mine, f'a{mine}')} {gate.get(other, f'b{other}')}"
            text += [f".names {names} differ[{k}]", "10 1", "01 1"]
        return "\n".join([*text, ".end", ""])


def _logic(design: Clocked, known: dict[Net, str], side: str) -> list[str]:
    lines = []
    for cell in design.gates:
        pins, rows = _TABLES[cell["type"]]
        nets = [cell["connections"][pin][0] for pin in (*pins, "Y")]
        lines += [f".names {' '.join(known.get(net, f'{side}{net}') for net in nets)}", rows]
    return lines

"""A mapped netlist without hierarchy, as a graph: cells, their pins, and nets with names of the source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ahasd.synth.flow import STORAGE, Netlist
from ahasd.synth.results import content_key, result_folder
from ahasd.synth.tools import Yosys, relative

__all__ = ["Flatten", "Gate", "Gates"]

_SCRIPT = """\
read_verilog {netlist}
hierarchy -top {top}
flatten
opt_clean
write_verilog -noattr flat.v
design -reset
read_verilog flat.v
hierarchy -top {top}
write_json flat.json
"""
# Read again before write_json: write_verilog renames `$` cells, and both files must have the same names.

Net = int | str
"""A net's number, or "0", "1", "x" for a constant."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One cell: name with the path of its block, type, pin -> net."""

    name: str
    kind: str
    pins: dict[str, Net]


@dataclass(frozen=True)
class Gates:
    """The flat netlist."""

    top: str
    netlist: Netlist
    folder: Path

    @property
    def verilog(self) -> Path:
        """The flat netlist as Verilog, with the same names."""
        return self.folder / "flat.v"

    @cached_property
    def _module(self) -> dict[str, Any]:
        document = json.loads((self.folder / "flat.json").read_text(encoding="utf-8"))
        module: dict[str, Any] = document["modules"][self.top]
        return module

    @cached_property
    def cells(self) -> list[Gate]:
        """All cells, in the netlist's order."""
        return [
            Gate(name, cell["type"], {pin: bits[0] for pin, bits in cell["connections"].items() if bits})
            for name, cell in self._module["cells"].items()
        ]

    @cached_property
    def ports(self) -> dict[str, tuple[str, list[Net]]]:
        """Port -> direction (``input`` or ``output``) and its nets, bit 0 first."""
        return {name: (port["direction"], port["bits"]) for name, port in self._module["ports"].items()}

    @cached_property
    def by_name(self) -> dict[str, Gate]:
        """Cell name -> cell."""
        return {gate.name: gate for gate in self.cells}

    def port_net(self, name: str) -> Net:
        """The net of a port's bit, written ``port`` or ``port[bit]``."""
        match = re.fullmatch(r"(.*)\[(\d+)\]", name)
        if match and match[1] in self.ports:
            return self.ports[match[1]][1][int(match[2])]
        return self.ports[name][1][0]

    def port_nets(self, direction: str) -> Iterator[tuple[str, Net]]:
        """(port[bit], net) of all ports of a direction; the clock too."""
        for name, (way, bits) in self.ports.items():
            if way == direction:
                for k, net in enumerate(bits):
                    yield (f"{name}[{k}]" if len(bits) > 1 else name), net

    @cached_property
    def names(self) -> dict[Net, str]:
        """Net -> its name in the source: the one with fewest made-up parts, then the shortest."""
        best: dict[Net, tuple[int, int, str]] = {}
        for name, net in self._module["netnames"].items():
            plain = source_name(name)
            offset = net.get("offset", 0)
            made_up = len(re.findall(r"(?:^|\.)_\d+_|\$", plain))
            for k, bit in enumerate(net["bits"]):
                full = f"{plain}[{k + offset}]" if len(net["bits"]) > 1 else plain
                key = (made_up, len(full), full)
                if bit not in best or key < best[bit]:
                    best[bit] = key
        return {bit: key[2] for bit, key in best.items()}

    @cached_property
    def blocks(self) -> set[str]:
        """Paths of the sub-blocks that hold cells; "" is the top."""
        return {block_of(gate.name) for gate in self.cells}


def source_name(name: str) -> str:
    """A flat name without the modules that synthesis made for memory arrays, and spaces before an index."""
    block, rest = _split(name)
    return (f"{block}.{rest}" if block and rest else block or rest).replace(" [", "[")


def block_of(name: str) -> str:
    """The block of a cell, from its flat name; a memory array belongs to its block."""
    block, rest = _split(name)
    return block if rest else name.rpartition(".")[0]


def _split(name: str) -> tuple[str, str]:
    """Block and the name inside its array module: ``q.unit.q___storage__.table`` is ``q`` and ``table``."""
    at = name.find(f"_{STORAGE}.")
    if at < 0:
        return name, ""
    path, rest = name[:at], name[at + len(STORAGE) + 2 :]
    leaf = path.rsplit(".", 1)[-1]
    first = path.find(leaf)
    return (path[:first] + leaf if first < len(path) - len(leaf) else ""), rest


@dataclass(frozen=True)
class Flatten:
    """Mapped netlist -> the same without hierarchy."""

    netlist: Netlist
    yosys: Yosys
    cache: Path | None = None

    def run(self) -> Gates:
        """The gates, from the cache if they are there.

        Raises
        ------
        ToolError
            If Yosys fails or the cache cannot be written.
        """

        def make(folder: Path) -> None:
            source = relative(self.netlist.verilog, folder)
            (folder / "flow.ys").write_text(
                _SCRIPT.format(netlist=source, top=self.netlist.top), encoding="utf-8"
            )
            self.yosys.run(folder)

        text = self.netlist.verilog.read_text(encoding="utf-8")
        key = content_key(text, _SCRIPT, self.netlist.top, self.yosys.version)
        folder, _ = result_folder(key, make, self.cache)
        return Gates(self.netlist.top, self.netlist, folder)

"""The netlist with all mutants and without state: registers and memories are taken out and become ports.

What a register holds is an input ``q.NAME``, what it will hold an output ``d.NAME``; likewise for memories
what they return and what they are given. Two copies with the same inputs but other mutants are then compared
by logic alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ahasd.synth.mutation.library import SELECT, MutantLibrary, inserted
from ahasd.synth.results import content_key, result_folder
from ahasd.synth.tools import find_yosys

__all__ = ["Ports", "Stateless", "stateless"]

_SCRIPT = """\
read_rtlil flat.il
{mutations}
memory_collect
memory_nordff
dffunmap
expose -evert t:$mem_v2
write_rtlil registers.il
"""
_REGISTER = re.compile(r"^  cell \$dff (\S+)\n((?:    .*\n)*?)  end\n", re.M)
_PORT = re.compile(r"^  wire(?: width (\d+))?(?: offset \d+)? (input|output) \d+(?: signed)? \\(\S+)$", re.M)
_INIT = re.compile(r"^  attribute \\init (?:\d+')?([01]+)\n(?:  attribute .*\n)*  wire .*\\(\S+)$", re.M)

Ports = dict[str, tuple[str, int]]
"""Direction and width by name."""


@dataclass(frozen=True)
class Stateless:
    """Module ``control_unit`` in ``rtlil``; ``initial`` values of registers, where they have one."""

    rtlil: str
    ports: Ports
    initial: dict[str, int]
    width: int
    """Of the input that picks the mutant."""


def stateless(library: MutantLibrary) -> Stateless:
    """Of a library; the Yosys part is cached.

    Raises
    ------
    ToolError
        If Yosys is missing or fails.
    """
    flat = library.flat.read_text(encoding="utf-8")
    script = _SCRIPT.format(mutations=inserted(library.mutations))

    def make(folder: Path) -> None:
        (folder / "flat.il").write_text(flat, encoding="utf-8")
        (folder / "flow.ys").write_text(script, encoding="utf-8")
        find_yosys().run(folder)

    folder, _ = result_folder(content_key("stateless", flat, script, find_yosys().version), make)
    text = (folder / "registers.il").read_text(encoding="utf-8")
    names = {cell: _pin(body, "Q").removeprefix("\\") for cell, body in _REGISTER.findall(flat)}
    text, ports = _everted(text, names)
    initial = {name: int(bits, 2) for bits, name in _INIT.findall(flat)}
    return Stateless(text, ports, initial, len(library.mutations).bit_length())


def _pin(body: str, pin: str) -> str:
    found = re.search(rf"^    connect \\{pin} (.+)$", body, re.M)
    assert found is not None
    return found[1]


def _everted(text: str, names: dict[str, str]) -> tuple[str, Ports]:
    """Registers as ports, under the names in the netlist without mutants (else under their cells')."""
    wires: list[str] = []

    def evert(match: re.Match[str]) -> str:
        cell, body = match.groups()
        name = names.get(cell, cell.removeprefix("\\"))
        width = re.search(r"parameter \\WIDTH (\d+)", body)
        assert width is not None
        for pin, direction in (("q", "input"), ("d", "output")):
            wires.append(f"  wire width {width[1]} {direction} {2000 + len(wires)} \\{pin}.{name}\n")
        return f"  connect {_pin(body, 'Q')} \\q.{name}\n  connect \\d.{name} {_pin(body, 'D')}\n"

    text = _REGISTER.sub(evert, text)
    head = re.search(r"^module \\control_unit\n", text, re.M)
    assert head is not None
    text = text[: head.end()] + "".join(wires) + text[head.end() :]
    ports = {m[3]: (m[2], int(m[1] or 1)) for m in _PORT.finditer(text)}
    return text, {name: port for name, port in ports.items() if name != SELECT}

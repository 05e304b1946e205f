"""What synthesis needs from a Liberty file: cell areas, logic functions, pin capacitances, flip-flops.

Read in place, never copied: NanGate's licence forbids passing the file on.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from ahasd.models.errors import ToolError
from ahasd.synth.boolean import evaluate

__all__ = ["NODES_NM", "Cell", "Group", "Library", "library_group", "parse_liberty", "read_library"]

NODES_NM = {"NangateOpenCellLibrary": 45.0, "osu018_stdcells": 180.0}
"""Library name -> feature size, nm (FreePDK45; TSMC 0.18 um rules). Others get no ideal shrink."""

_TOKEN = re.compile(
    r"/\*.*?\*/"
    r"|(?P<close>\})"
    r"|(?P<group>\w+)\s*\(\s*(?P<args>[^(){}]*?)\s*\)\s*\{"
    r"|(?P<key>\w+)\s*:\s*(?P<value>\"[^\"]*\"|[^;}\n]*)"
    r"|(?P<complex>\w+)\s*\((?P<list>[^(){}]*)\)\s*;?",
    re.DOTALL,
)


@dataclass
class Group:
    """One Liberty group: ``kind (name) { attributes; groups }``; values are unquoted text."""

    kind: str
    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)

    def all(self, kind: str) -> list[Group]:
        """The sub-groups of one kind."""
        return [group for group in self.groups if group.kind == kind]


def parse_liberty(text: str) -> Group:
    """The library group of a Liberty text.

    Raises
    ------
    ValueError
        If braces do not match or there is no library group.
    """
    stack = [Group("file", "")]
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if match["group"]:
            group = Group(match["group"], match["args"].replace('"', ""))
            stack[-1].groups.append(group)
            stack.append(group)
        elif kind == "close":
            if len(stack) == 1:
                raise ValueError("a closing brace too many")
            stack.pop()
        elif match["key"]:
            stack[-1].attributes[match["key"]] = match["value"].strip().strip('"').strip()
        elif match["complex"]:
            given = match["list"].replace("\\\n", "").strip()
            before = stack[-1].attributes.get(match["complex"])  # fanout_length comes once a fan-out
            stack[-1].attributes[match["complex"]] = given if before is None else f"{before}; {given}"
    if len(stack) != 1:
        raise ValueError(f"group {stack[-1].kind} ({stack[-1].name}) is not closed")
    libraries = stack[0].all("library")
    if len(libraries) != 1:
        raise ValueError("must have one library group")
    return libraries[0]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of a library."""

    name: str
    area: float
    """um^2 (Liberty leaves the unit open; both libraries used here mean um^2)."""
    inputs: dict[str, float]
    """Input pin -> capacitance, in the library's unit."""
    functions: dict[str, str]
    """Output pin -> Liberty function; pins without one are left out."""
    flop: bool
    latch: bool
    """A transparent latch or an integrated clock gate."""
    dont_use: bool
    enable: str = ""
    """A simple latch's enable expression, or what marks a clock gate: its Liberty type."""
    clock: str = ""
    """A clock gate's clock pin."""
    gated: str = ""
    """A clock gate's output pin."""

    @property
    def sequential(self) -> bool:
        """Holds state."""
        return self.flop or self.latch

    def computes(self, table: tuple[bool, ...]) -> bool:
        """Whether the cell has one output and the truth ``table`` (in counting order of its inputs)."""
        if self.sequential or len(self.functions) != 1 or 1 << len(self.inputs) != len(table):
            return False
        function = next(iter(self.functions.values()))
        values = itertools.product((False, True), repeat=len(self.inputs))
        try:
            return table == tuple(
                evaluate(function, dict(zip(self.inputs, row, strict=True))) for row in values
            )
        except ValueError:  # a state variable or a syntax that no simple gate has
            return False


def _cell(group: Group) -> Cell:
    pins = group.all("pin") + [
        pin for bundle in group.all("bus") + group.all("bundle") for pin in bundle.all("pin")
    ]
    gate = "clock_gating_integrated_cell" in group.attributes
    latch = group.all("latch")
    enable = group.attributes.get("clock_gating_integrated_cell", "") if gate else ""
    if latch and not {"clear", "preset"} & latch[0].attributes.keys():
        enable = latch[0].attributes.get("enable", "")
    return Cell(
        name=group.name,
        area=float(group.attributes.get("area", "0")),
        inputs={
            pin.name: float(pin.attributes.get("capacitance", "0"))
            for pin in pins
            if pin.attributes.get("direction") == "input"
        },
        functions={pin.name: pin.attributes["function"] for pin in pins if "function" in pin.attributes},
        flop=bool(group.all("ff") or group.all("ff_bank")),
        latch=bool(group.all("latch") or group.all("latch_bank")) or gate,
        dont_use=group.attributes.get("dont_use") == "true",
        enable=enable,
        clock=next((p.name for p in pins if p.attributes.get("clock_gate_clock_pin") == "true"), ""),
        gated=next((p.name for p in pins if p.attributes.get("clock_gate_out_pin") == "true"), ""),
    )


@dataclass(frozen=True, kw_only=True)
class Library:
    """A standard-cell library, read in place."""

    path: Path
    sha256: str
    name: str
    cells: dict[str, Cell]
    femtofarad: float
    """fF per unit of capacitance."""

    @property
    def node_nm(self) -> float | None:
        """Feature size, nm, if known."""
        return NODES_NM.get(self.name)

    @cached_property
    def nand2(self) -> Cell:
        """The smallest two-input NAND: 1 GE."""
        return self._smallest("NAND2", (True, True, True, False))

    @cached_property
    def inverter(self) -> Cell:
        """The smallest inverter."""
        return self._smallest("inverter", (True, False))

    def latch(self, *, negative: bool) -> tuple[Cell, str]:
        """The smallest latch with two inputs, open while its enable is high (or low), and its enable pin."""
        wanted = re.compile(r"!\s*(\w+)|(\w+)'" if negative else r"(\w+)()")
        found = [
            (cell, (match[1] or match[2]))
            for cell in self.cells.values()
            if cell.latch
            and len(cell.inputs) == 2
            and (match := wanted.fullmatch(cell.enable.strip("()")))
            and not cell.clock
        ]
        if not found:
            raise ToolError(f"{self.path}: library {self.name} has no latch")
        return min(found, key=lambda pair: (pair[0].area, pair[0].name))

    def clock_gate(self) -> tuple[Cell, str, str, str]:
        """The smallest clock gate without a test pin: cell; clock, enable and output pins."""
        found = [
            cell
            for cell in self.cells.values()
            if cell.enable == "latch_posedge" and cell.clock and len(cell.inputs) == 2
        ]
        if not found:
            raise ToolError(f"{self.path}: library {self.name} has no clock gate")
        gate = min(found, key=lambda cell: (cell.area, cell.name))
        enable = next(pin for pin in gate.inputs if pin != gate.clock)
        return gate, gate.clock, enable, gate.gated

    def _smallest(self, what: str, table: tuple[bool, ...]) -> Cell:
        found = [cell for cell in self.cells.values() if not cell.dont_use and cell.computes(table)]
        if not found:
            raise ToolError(f"{self.path}: library {self.name} has no {what}")
        return min(found, key=lambda cell: (cell.area, cell.name))


@lru_cache(maxsize=2)
def _parse(path: Path, _stamp: tuple[int, int]) -> Group:
    return parse_liberty(path.read_bytes().decode("utf-8", errors="replace"))


def library_group(library: Library) -> Group:
    """All that the file of ``library`` says: tables of delay and energy too."""
    stat = library.path.stat()
    return _parse(library.path.resolve(), (stat.st_size, stat.st_mtime_ns))


@lru_cache(maxsize=4)
def _read(path: Path, stamp: tuple[int, int]) -> Library:
    data = path.read_bytes()
    group = _parse(path, stamp)
    scale, _, unit = group.attributes.get("capacitive_load_unit", "1,pf").replace('"', "").partition(",")
    return Library(
        path=path,
        sha256=hashlib.sha256(data).hexdigest(),
        name=group.name,
        cells={cell.name: _cell(cell) for cell in group.all("cell")},
        femtofarad=float(scale) * {"ff": 1.0, "pf": 1000.0}[unit.strip().lower()],
    )


def read_library(path: Path) -> Library:
    """The library in a Liberty file.

    Raises
    ------
    ToolError
        If the file is missing or is no Liberty library with areas.
    """
    try:
        stat = path.stat()
        library = _read(path.resolve(), (stat.st_size, stat.st_mtime_ns))
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError) as error:
        raise ToolError(f"{path}: not a Liberty library: {error}") from None
    if not any(cell.area for cell in library.cells.values()):
        raise ToolError(f"{path}: library {library.name} has no cell with an area")
    return library

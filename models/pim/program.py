"""Programs of the ``tiles`` kind: what a controller sends to a rank for a GEMV or an element-wise operation.

Where the peers' description (peers.toml) leaves the choice, this one is ours and fits their counts: registers
are written through a row of the odd banks, PIM is switched on and off through the same row of the even ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ahasd.models.pim.spec import PimSpec

__all__ = [
    "BARRIER",
    "BUFFER",
    "LEAVE",
    "RESERVED_ROWS",
    "SETS",
    "WAIT",
    "Op",
    "Runs",
    "elementwise_program",
    "gemv_program",
    "operand_rows",
]

RESERVED_ROWS = 4
"""Of every bank: registers, mode switches, parking."""

BARRIER, SETS, LEAVE, WAIT = "barrier", "sets", "leave", "wait"
"""Fences: all data so far have passed; into and out of all-bank mode, all rows closed; a pause."""
BUFFER = -1
"""Place of accesses that need no row."""


class Op(NamedTuple):
    """``number`` column commands to one row of a set (or of a bank, outside all-bank mode), or a fence."""

    kind: str
    """``RD``, ``WR`` or a fence."""
    place: int = 0
    row: int = 0
    number: int = 1
    """Of a pause: clocks."""
    interval: int = 0
    """Clocks from one command to the next; 0: what the memory allows."""
    close: bool = False
    """The row is closed as soon as it may be."""
    column: int = 0


EVEN, ODD = 0, 1


class Runs:
    """Accesses to a set, from row to row, split at the ends of rows."""

    def __init__(self, columns: int, first_row: int = 0) -> None:
        self._columns = columns
        self._next = first_row * columns

    def take(self, kind: str, place: int, count: int) -> Iterator[Op]:
        """The next ``count`` accesses."""
        while count:
            row, column = divmod(self._next, self._columns)
            part = min(count, self._columns - column)
            yield Op(kind, place, row, part, column=column)
            self._next += part
            count -= part


def gemv_program(spec: PimSpec, rows: int, cols: int, vectors: int) -> Iterator[Op]:
    """``rows`` outputs x ``cols`` inputs, padded to tiles; each vector reads all weights."""
    columns = spec.dram.organisation.columns
    blocks = -(-rows // spec.outputs)
    reserved = _Rows(spec)
    first_result = reserved.park - -(-blocks * spec.accumulators // columns)
    yield from _enter(spec, reserved)
    for _ in range(vectors):
        weights = Runs(columns), Runs(columns)
        results = Runs(columns, first_result)
        for _ in range(blocks):
            yield Op("WR", EVEN, reserved.registers)
            for tile in range(-(-cols // spec.inputs)):
                yield Op("WR", ODD, reserved.registers, spec.input_registers, close=True)
                yield from weights[tile % 2].take("RD", tile % 2, spec.tile_reads)
            yield from results.take("WR", ODD, spec.accumulators)
            yield Op("WR", EVEN, reserved.registers)
    yield from _leave(spec, reserved)


def elementwise_program(spec: PimSpec, elements: int, operands: int) -> Iterator[Op]:
    """Blocks of registers: all operands are read, then the result is written; even and odd banks in turn."""
    reserved = _Rows(spec)
    columns = spec.dram.organisation.columns
    blocks = -(-elements // (spec.units * spec.lanes * spec.input_registers))
    area = operand_rows(spec, elements)
    streams = [[Runs(columns, area * i) for i in range(operands + 1)] for _ in (EVEN, ODD)]
    yield from _enter(spec, reserved)
    yield Op("WR", EVEN, reserved.registers)
    for block in range(blocks):
        *inputs, output = streams[block % 2]
        for operand in inputs:
            yield from operand.take("RD", block % 2, spec.input_registers)
        yield from output.take("WR", block % 2, spec.input_registers)
    yield Op("WR", EVEN, reserved.registers)
    yield from _leave(spec, reserved)


def operand_rows(spec: PimSpec, elements: int) -> int:
    """Rows that an operand of an element-wise operation takes in each bank."""
    blocks = -(-elements // (spec.units * spec.lanes * spec.input_registers))
    return -(-(-(-blocks // 2) * spec.input_registers) // spec.dram.organisation.columns)


class _Rows:
    """The last rows of every bank hold no data."""

    def __init__(self, spec: PimSpec) -> None:
        rows = spec.dram.organisation.rows
        self.registers, self.enter, self.leave, self.park = rows - 1, rows - 2, rows - 3, rows - 4


def _enter(spec: PimSpec, rows: _Rows) -> Iterator[Op]:
    """Park every bank on a spare row, four writes that switch the mode, one that loads the program."""
    for bank in range(spec.dram.organisation.banks):
        yield Op("RD", bank, rows.park)
    yield Op(BARRIER)
    for bank in range(4):
        yield Op("WR", bank, rows.enter)
    yield Op(SETS)
    yield Op("WR", ODD, rows.registers)


def _leave(spec: PimSpec, rows: _Rows) -> Iterator[Op]:
    yield Op("WR", ODD, rows.leave)
    yield Op("WR", EVEN, rows.leave)
    yield Op(LEAVE)
    for bank in range(spec.dram.organisation.banks):
        yield Op("RD", bank, rows.park, close=True)

"""Access patterns, as those whose cycle counts are known from a peer simulator (peers.toml)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from ahasd.models.dram.controller import Request
from ahasd.models.dram.spec import Organisation

__all__ = ["PATTERNS", "Pattern"]

Pattern = Callable[[Organisation, int, bool, int], Iterator[Request]]
"""Organisation, count, write, seed."""


def same_row(org: Organisation, count: int, write: bool, seed: int) -> Iterator[Request]:
    """One bank, one row."""
    for i in range(count):
        yield Request(0, 0, i % org.columns, write)


def sequential(org: Organisation, count: int, write: bool, seed: int) -> Iterator[Request]:
    """One bank, row after row."""
    for i in range(count):
        row, column = divmod(i, org.columns)
        yield Request(0, row % org.rows, column, write)


def rotate(org: Organisation, count: int, write: bool, seed: int) -> Iterator[Request]:
    """Bank groups in turn, columns after a full turn, then the next bank of each group, then the next row."""
    for i in range(count):
        turn, group = divmod(i, org.bank_groups)
        step, column = divmod(turn, org.columns)
        row, bank = divmod(step, org.banks_per_group)
        yield Request(group * org.banks_per_group + bank, row % org.rows, column, write)


def banks(org: Organisation, count: int, write: bool, seed: int) -> Iterator[Request]:
    """All banks of a rank in turn (bank groups first), a new row each."""
    for i in range(count):
        row, place = divmod(i, org.banks)
        bank, group = divmod(place, org.bank_groups)
        yield Request(group * org.banks_per_group + bank, row % org.rows, 0, write)


def conflict(org: Organisation, count: int, write: bool, seed: int) -> Iterator[Request]:
    """One bank, a new row each access."""
    for i in range(count):
        yield Request(0, i % org.rows, 0, write)


def uniform(org: Organisation, count: int, write: bool, seed: int) -> Iterator[Request]:
    """Any bank of the channel, row and column, drawn with ``seed``."""
    draw = random.Random(seed).randrange
    for _ in range(count):
        yield Request(draw(org.ranks * org.banks), draw(org.rows), draw(org.columns), write)


PATTERNS: dict[str, Pattern] = {
    "same-row": same_row,
    "sequential": sequential,
    "rotate": rotate,
    "banks": banks,
    "conflict": conflict,
    "random": uniform,
}

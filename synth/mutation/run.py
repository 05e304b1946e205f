"""Which mutants the random bench at the pins tells from the unit as it is."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ahasd.synth.mutation.library import MutantLibrary

__all__ = ["EXPLAINED", "Mutant", "report", "run"]

ROUNDS = ((20, 3_000), (10, 20_000), (4, 100_000))
"""Seeds and cycles: most mutants die early."""

EXPLAINED: dict[str, str] = {}
"""Why a survivor survives, by what Yosys' mutation says."""


@dataclass(frozen=True)
class Mutant:
    """``seed`` and ``cycle`` of its death; none if it survives."""

    number: int
    mutation: str
    seed: int | None
    cycle: int


def run(library: MutantLibrary, budget_s: float = 3600) -> Iterator[Mutant]:
    """Every mutant, until it differs or the rounds are over."""
    code = ctypes.CDLL(str(library.folder / "unit.so"))
    compare = code.ahasd_compare
    compare.restype, compare.argtypes = ctypes.c_int64, [ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64]
    if compare(0, 1, 5000) >= 0:
        raise RuntimeError("the unit differs from itself")
    began = time.monotonic()
    waiting = list(enumerate(library.mutations, 1))
    first = 1
    for seeds, cycles in ROUNDS:
        left = []
        for number, mutation in waiting:
            for seed in range(first, first + seeds):
                if (cycle := compare(number, seed, cycles)) >= 0:
                    yield Mutant(number, mutation, seed, cycle)
                    break
                if time.monotonic() - began > budget_s:
                    left.append((number, mutation))
                    break
            else:
                left.append((number, mutation))
        waiting = left
        first += seeds
    for number, mutation in waiting:
        yield Mutant(number, mutation, None, -1)


def report(mutants: Sequence[Mutant], seconds: float) -> str:
    """The score and the survivors as a Markdown page."""
    dead = [m for m in mutants if m.seed is not None]
    alive = [m for m in mutants if m.seed is None]
    share = 100 * len(dead) / max(len(mutants), 1)
    lines = [
        "# Mutants of the control unit",
        "",
        "Written by `make mutation`. Yosys `mutate` picks changes of the flattened netlist; each runs beside",
        "the unit as it is under the same random NPU, PIM and host, with back-pressure, violations, commands",
        "and jumps of time (`synth/mutation/pins.cc`), and dies when an output differs. The unit as it is",
        "agrees with the golden model on all vectors (`tests/rtl/test_vectors.py`, `test_latency.py`).",
        "",
        f"**{len(dead)} of {len(mutants)} killed, {share:.1f} %.** {seconds:.0f} s of simulation.",
        "",
        "| survivor | mutation | why |",
        "|---|---|---|",
    ]
    for m in alive:
        text = m.mutation.removeprefix("mutate ").replace(" -module control_unit", "")
        lines.append(f"| {m.number} | `{text}` | {EXPLAINED.get(text, 'not explained')} |")
    return "\n".join([*lines, ""])

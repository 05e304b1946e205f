"""Score and survivors of a mutation run as a Markdown page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ahasd.synth.mutation.run import Mutant

__all__ = ["EXPLAINED", "REQUIRED", "passed", "report", "unexplained"]

REQUIRED = 0.95
"""Of the mutants that are not proved equal to the unit."""

_NEVER_LOOKED_AT = (
    "a counter of LLR 0 in the predictor's table: never looked at, since a batch that closes counts itself"
    " and nothing is looked up while none is closed"
)
EXPLAINED = {
    r"-mode cnot1 -cell $flatten\predictor.\pht.$40 -port DATA -portbit 0 -ctrlbit 2"
    " -wire predictor.pht.write__data -wirebit 0": _NEVER_LOOKED_AT,
    r"-mode inv -cell $flatten\predictor.\pht.$procmux$753 -port A -portbit 1"
    " -wire predictor.pht.trained_row -wirebit 1": _NEVER_LOOKED_AT,
}
"""Why a survivor that is not proved equal survives, by what Yosys' mutation says."""

_HEAD = """\
# Mutants of the control unit

Written by `make mutation`. Yosys `mutate` picks changes of the flattened netlist. Inputs are recorded on the
unit as it is and played to each mutant, which dies in the first cycle whose outputs differ
(`synth/mutation/units.cc`). Benches:

- random pins (`pins.cc`): an NPU, a PIM and a host with back-pressure, violations, commands, resets, jumps of
  time, and counters set near powers of two, as `tests/rtl/test_counters.py` sets them, since no simulation
  counts that far;
- recorded events (`scripts.py`): the conformance vectors, random environments, environments timed so that the
  timer decides at the border of what fits, long sequences, a co-simulation; some with back-pressure.

The unit as it is agrees with the golden model on such events (`tests/rtl/test_vectors.py`, `test_latency.py`,
`test_abuse.py`). A survivor counts as equal only if an induction on both side by side proves it (`equal.py`).
"""


def unexplained(mutants: Sequence[Mutant]) -> list[Mutant]:
    """Survivors that are neither proved equal nor explained."""
    return [m for m in mutants if not m.bench and not m.equal and m.text not in EXPLAINED]


def passed(mutants: Sequence[Mutant]) -> bool:
    """Enough are killed and the others are explained."""
    dead = sum(bool(m.bench) for m in mutants)
    return dead >= REQUIRED * sum(not m.equal for m in mutants) and not unexplained(mutants)


def report(mutants: Sequence[Mutant]) -> str:
    """The page."""
    dead = [m for m in mutants if m.bench]
    equal = [m for m in mutants if m.equal]
    distinct = len(mutants) - len(equal)
    kinds = Counter(_kind(m.bench) for m in dead)
    score = (
        f"**{len(dead)} of {distinct} killed that are not proved equal, {_percent(len(dead), distinct)}.**"
    )
    of_all = f"{len(dead)} of all {len(mutants)}, {_percent(len(dead), len(mutants))}"
    lines = [
        _HEAD,
        f"{score} {of_all}; {len(equal)} are proved equal.",
        "",
        "| bench | first to kill |",
        "|---|---|",
        *(f"| {kind} | {count} |" for kind, count in kinds.most_common()),
        "",
        "| survivor | mutation | why |",
        "|---|---|---|",
    ]
    for m in mutants:
        if not m.bench:
            why = f"proved equal: {m.equal}" if m.equal else EXPLAINED.get(m.text, "not explained")
            lines.append(f"| {m.number} | `{m.text}` | {why} |")
    return "\n".join([*lines, ""])


def _kind(bench: str) -> str:
    """A bench's name without its number."""
    return re.sub(r"(, seed)? ?v?\d+$", "", bench) or "vectors"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f} %"

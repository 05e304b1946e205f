"""The table of proofs as a Markdown page."""

from __future__ import annotations

from collections.abc import Sequence

from ahasd.synth.formal.runner import Control, Result
from ahasd.synth.formal.solver import versions

__all__ = ["report"]

_HEAD = """\
# Proofs

Written by `make formal` (`ahasd formal --controls --report FILE`); what the columns mean and how to read a
failure is in [formal.md](../formal.md). All proofs are of components at full size; covers of the control unit
are reached on a small one. One proof: `ahasd formal NAME`.
"""


def report(results: Sequence[Result], controls: Sequence[Control]) -> str:
    """Proofs, negative controls and tools."""
    lines = [_HEAD]
    lines += ["| property | of | statement | checks | base, cycles | induction k | covers, at step | s | |"]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    for r in results:
        reached = "; ".join(f"{name}: {step}" for name, step in r.covers) or "-"
        verdict = "proved" if r.proved else f"**failed**: {', '.join(r.failed)}"
        cells = (
            r.name,
            r.component,
            r.statement,
            r.checks,
            r.search,
            r.k,
            reached,
            f"{r.seconds:.0f}",
            verdict,
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    if controls:
        lines += [
            "",
            "## Negative controls",
            "",
            "Each bug is seeded into the component; the proof must refuse it.",
            "",
        ]
        lines += ["| seeded bug | proof | refused by | s |", "|---|---|---|---|"]
        for c in controls:
            refused = ", ".join(c.failed) or "**nothing**"
            lines.append(f"| {c.name} | {c.proof} | {refused} | {c.seconds:.0f} |")
    tools = ", ".join(f"{name} {version}" for name, version in versions().items())
    total = sum(r.seconds for r in results) + sum(c.seconds for c in controls)
    lines += ["", f"{tools}; one solver at a time, {total:.0f} s in all.", ""]
    return "\n".join(lines)

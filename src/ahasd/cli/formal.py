"""`ahasd formal`: proofs about the hardware."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from ahasd.cli import options
from ahasd.cli.output import print_table

EXAMPLE = "Example: ahasd formal clock-request"


def formal(
    name: Annotated[
        str | None, typer.Argument(help="Property; all of them without one.", metavar="PROPERTY")
    ] = None,
    controls: Annotated[
        bool, typer.Option("--controls", help="Also try bugs that the proofs must refuse.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write the table of proofs to this file.", metavar="FILE")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Prove properties of the hardware by induction, and that they are not empty; exit 1 if one fails."""
    from ahasd.synth.formal.registry import PROPERTIES, find
    from ahasd.synth.formal.report import report as page
    from ahasd.synth.formal.runner import prove_all, refute
    from ahasd.synth.formal.seeds import SEEDS

    proofs = PROPERTIES if name is None else (find(name),)
    results = []
    for result in prove_all(proofs):
        results.append(result)
        if not as_json and sys.stderr.isatty():
            print(f"{result.name}: {result.seconds:.0f} s", file=sys.stderr)
    wanted = {proof.name for proof in proofs}
    tried = [refute(seed) for seed in SEEDS if controls and seed.proof in wanted]
    if report is not None:
        report.write_text(page(results, tried), encoding="utf-8")
    if as_json:
        found = {
            "properties": [result.to_dict() for result in results],
            "controls": [{"name": c.name, "proof": c.proof, "refused_by": c.failed} for c in tried],
        }
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        print_table(
            [
                [
                    r.name,
                    "proved" if r.proved else f"FAILED: {', '.join(r.failed)}",
                    str(r.checks),
                    str(r.k),
                    ", ".join(str(step) for _, step in r.covers),
                    f"{r.seconds:.1f}",
                ]
                for r in results
            ],
            ["property", "result", "checks", "k", "covers at step", "s"],
        )
        if tried:
            rows = [[c.name, c.proof, ", ".join(c.failed) or "NOTHING", f"{c.seconds:.1f}"] for c in tried]
            print_table(rows, ["seeded bug", "proof", "refused by", "s"])
    if not all(r.proved for r in results) or not all(c.failed for c in tried):
        raise typer.Exit(1)

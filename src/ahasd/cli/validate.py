"""`ahasd validate`: our models against peer simulators."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ahasd.cli import options
from ahasd.cli.output import print_table

EXAMPLE = "Example: ahasd validate --section 1"


def validate(
    section: Annotated[
        int | None,
        typer.Option(
            help="1 plain DRAM, 2 PIM kernels, 3 systolic array.",
            show_default="all",
            metavar="N",
            min=1,
            max=3,
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compare with the cycle counts of peer simulators; exit 1 if one is out of its tolerance."""
    from ahasd.models.validation import compare, figures
    from ahasd.sim.files import json_text

    chosen = [figure for figure in figures() if section in (None, figure.section)]
    verdicts = list(compare(chosen))
    wrong = sum(not verdict.ok for verdict in verdicts)
    if as_json:
        found = {"ok": not wrong, "figures": [verdict.to_dict() for verdict in verdicts]}
        sys.stdout.write(json_text(found))
    else:
        print_table(
            [
                [
                    f"{v.figure.section}",
                    v.figure.name,
                    f"{v.ours:g}" if v.ours < 1e6 else f"{v.ours:.0f}",
                    f"{v.figure.value:g}" if v.figure.value < 1e6 else f"{v.figure.value:.0f}",
                    f"{v.difference:+.2%}" if v.difference else "equal",
                    f"{v.figure.tolerance:.0%}" if v.figure.tolerance else "equal",
                    "" if v.ok else "OUT",
                ]
                for v in verdicts
            ],
            ["", "figure", "ours", "theirs", "difference", "allowed", ""],
        )
        print(f"\n{len(verdicts) - wrong} of {len(verdicts)} within their tolerance")
    if wrong:
        raise typer.Exit(1)

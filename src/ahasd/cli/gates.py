"""`ahasd timing`: what the gates say of time."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ahasd.cli import options
from ahasd.cli.output import print_table

TIMING_EXAMPLE = "Example: ahasd timing preverify_timer --paths 1"

Block = Annotated[str, typer.Argument(help="Block, such as control_unit.", metavar="BLOCK")]
Liberty = Annotated[
    str, typer.Option(help="Cell library: nangate45, osu018 or a file.", metavar="LIBRARY")
]
Yosys = Annotated[str, typer.Option(help="Synthesis tool: yowasp, native or an executable.", metavar="TOOL")]
Period = Annotated[int, typer.Option(help="Clock period to synthesize for, ps.", metavar="PS", min=1)]


def timing(
    block: Block = "control_unit",
    liberty: Liberty = "nangate45",
    yosys: Yosys = "yowasp",
    period: Period = 1000,
    engine: Annotated[
        str, typer.Option(help="Analyser: opensta, own, or auto.", metavar="ENGINE")
    ] = "auto",
    paths: Annotated[
        int, typer.Option(help="Show the longest path of so many blocks.", metavar="N", min=0)
    ] = 1,
    as_json: options.Json = False,
) -> None:
    """Synthesize a block and report its minimum period and longest paths, by sub-block."""
    from ahasd.synth.scale import DRAM_DELAY
    from ahasd.synth.timing import timing as measure

    report = measure(block, liberty=liberty, yosys=yosys, period_ps=period, engine=engine)
    if as_json:
        sys.stdout.write(report.to_json())
        return
    print_table(
        [
            [b.name, f"{b.period_ns:.3f}", f"{b.fmax_mhz:.0f}", str(b.ends), b.start, b.end]
            for b in report.blocks
        ],
        ["paths into", "ns", "MHz", "ends", "from", "to"],
    )
    top = report.blocks[0]
    print(
        f"\n{report.library}, {report.engine}, inputs and outputs {report.io_share:.0%} of the period; "
        f"in a DRAM process ({DRAM_DELAY:g}x slower): {top.period_ns * DRAM_DELAY:.2f} ns, "
        f"{top.fmax_mhz / DRAM_DELAY:.0f} MHz"
    )
    for shown in sorted(report.blocks[1:] or report.blocks, key=lambda b: -b.period_ns)[:paths]:
        print(f"\n{shown.name}: {shown.start} to {shown.end}")
        print_table([[f"{s.at_ns:.3f}", s.cell, s.net] for s in shown.path], ["ns", "cell", "net"])

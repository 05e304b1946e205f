"""`ahasd area`: what the control unit takes in gates, beside the paper's table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ahasd.cli import options
from ahasd.cli.gates import Block, Liberty, Period, Storage, Yosys
from ahasd.cli.output import print_table

if TYPE_CHECKING:
    from ahasd.synth.area import AreaReport

EXAMPLE = "Example: ahasd area control_unit --storage latches --chart area.svg"


def area(
    block: Block = "control_unit",
    liberty: Liberty = "nangate45",
    yosys: Yosys = "yowasp",
    period: Period = 1000,
    storage: Storage = "flops",
    chart: Annotated[
        Path | None, typer.Option(help="Draw a chart too: a PNG or SVG file.", metavar="FILE")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Synthesize a block to gates and report its area (the first time takes up to minutes)."""
    from ahasd.synth.area import area as measure
    from ahasd.synth.chart import draw_area

    report = measure(block, liberty=liberty, yosys=yosys, period_ps=period, storage=storage)
    if chart is not None:
        draw_area(report, chart)
    if as_json:
        sys.stdout.write(report.to_json())
        return
    _blocks(report)
    if report.bits:
        _memories(report)
    if report.scaled["paper"]:
        _paper(report)


def _blocks(report: AreaReport) -> None:
    total = report.total
    print_table(
        [
            [
                b.name,
                f"{b.total_um2:.0f}",
                f"{b.total_ge:.0f}",
                str(b.total_flops),
                *(f"{v:.0f}" for v in (b.um2, b.sequential_um2, b.combinational_um2)),
                *(f"{v:.0f}" for v in (b.storage_um2, b.logic_um2)),
            ]
            for b in report.blocks
        ]
        + [
            [
                "total",
                *(f"{total[key]:.0f}" for key in ("um2", "ge", "flops")),
                "",
                *(
                    f"{total[f'{key}_um2']:.0f}"
                    for key in ("sequential", "combinational", "storage", "logic")
                ),
            ]
        ],
        ["block", "um2", "gates", "flops", "own um2", "sequential", "combinational", "storage", "logic"],
    )


def _memories(report: AreaReport) -> None:
    from ahasd.synth.scale import MACRO_FORMULA

    print()
    print_table(
        [
            [
                m["block"],
                str(m["bits"]),
                f"{m['built_um2']:.0f}",
                f"{m['built_um2'] / m['bits']:.2f}",
                "" if m["macro_um2"] is None else f"{m['macro_um2']:.0f}",
            ]
            for m in report.memories()
        ],
        ["memory", "bits", f"as {report.storage}, um2", "um2/bit", "macro estimate, um2"],
    )
    print(f"macro: {MACRO_FORMULA}")


def _paper(report: AreaReport) -> None:
    from ahasd.synth.scale import DIES_MM2, DRAM_FACTOR

    rows = report.scaled["paper"]
    listed = [row for row in rows if row["paper_mm2"] is not None]
    ways = list(rows[0]["mm2"])
    sums = {
        "row": " + ".join(row["row"] for row in listed),
        "um2": sum(row["um2"] for row in listed),
        "mm2": {way: sum(row["mm2"][way] for row in listed) for way in ways},
        "paper_mm2": sum(row["paper_mm2"] for row in listed),
    }
    print()
    print_table(
        [
            [
                row["row"],
                f"{row['um2'] * 1e-6:.4f}",
                *(f"{row['mm2'][way]:.4f}" for way in ways),
                f"{row['mm2'][ways[0]] * DRAM_FACTOR:.3f}",
                *(f"{row['mm2'][ways[0]] * DRAM_FACTOR / die:.3%}" for die in DIES_MM2.values()),
                "" if row["paper_mm2"] is None else f"{row['paper_mm2']:.2f}",
            ]
            for row in (*rows, *([sums] if len(listed) > 1 else []))
        ],
        [
            "mm2",
            "as built",
            *(f"28 nm, {way}" for way in ways),
            f"DRAM process x{DRAM_FACTOR:g}",
            *(f"of {die:g} mm2" for die in DIES_MM2.values()),
            "paper",
        ],
    )

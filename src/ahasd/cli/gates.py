"""`ahasd timing`, `power`, `equiv`, `sweep`: what the gates say of time, energy, equivalence, sizes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ahasd.cli import options
from ahasd.cli.output import print_table

if TYPE_CHECKING:
    from ahasd.synth.power import Energy, PowerReport
    from ahasd.synth.sweep import Point

TIMING_EXAMPLE = "Example: ahasd timing preverify_timer --paths 1"
EQUIV_EXAMPLE = "Example: ahasd equiv batch_list"
SWEEP_EXAMPLE = "Example: ahasd sweep default 'ring 256'"
POWER_EXAMPLE = (
    "Example: ahasd run --record run.jsonl --json > run.json && ahasd power run.jsonl --run run.json"
)

Block = Annotated[str, typer.Argument(help="Block, such as control_unit.", metavar="BLOCK")]
Liberty = Annotated[str, typer.Option(help="Cell library: nangate45, osu018 or a file.", metavar="LIBRARY")]
Yosys = Annotated[str, typer.Option(help="Synthesis tool: yowasp, native or an executable.", metavar="TOOL")]
Period = Annotated[int, typer.Option(help="Clock period to synthesize for, ps.", metavar="PS", min=1)]
Storage = Annotated[str, typer.Option(help="Memory arrays made of flops or latches.", metavar="KIND")]


def timing(
    block: Block = "control_unit",
    liberty: Liberty = "nangate45",
    yosys: Yosys = "yowasp",
    period: Period = 1000,
    storage: Storage = "flops",
    engine: Annotated[str, typer.Option(help="Analyser: opensta, own, or auto.", metavar="ENGINE")] = "auto",
    paths: Annotated[
        int, typer.Option(help="Show the longest path of so many blocks.", metavar="N", min=0)
    ] = 1,
    as_json: options.Json = False,
) -> None:
    """Synthesize a block and report its minimum period and longest paths, by sub-block."""
    from ahasd.synth.scale import DRAM_DELAY
    from ahasd.synth.timing import timing as measure

    report = measure(block, liberty=liberty, yosys=yosys, period_ps=period, engine=engine, storage=storage)
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


def power(
    recordings: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Recordings (ahasd run --record) to replay; all vectors if none is given.", metavar="FILE..."
        ),
    ] = None,
    liberty: Liberty = "nangate45",
    yosys: Yosys = "yowasp",
    period: Period = 1000,
    storage: Storage = "flops",
    run: Annotated[
        Path | None,
        typer.Option(
            help="What ahasd run --json printed of the recorded run: says the unit's share of its energy.",
            metavar="FILE",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Replay recorded events on the control unit's gates, compare all decisions, and sum up energies."""
    from ahasd.synth.power import power as measure

    report = measure(
        recordings or (), liberty=liberty, yosys=yosys, period_ps=period, storage=storage, document=run
    )
    if as_json:
        sys.stdout.write(report.to_json())
        return
    cases = [("clock stops while clk_req is low", report.gated), ("clock always runs", report.ungated)]
    print_table(
        [[name, *_parts(e), *(si(value, unit) for value, unit in _rates(report, e))] for name, e in cases],
        ["", *_HEADER, "mean", "decision", "token"],
    )
    print()
    print_table([[name, *_parts(e)] for name, e in report.blocks], ["block, clock stops", *_HEADER])
    print(
        f"\n{len(report.sources)} recordings: {report.events} events, {report.decisions} decisions, "
        f"{report.tokens} tokens, {report.seconds:.4g} s; the clock is requested in "
        f"{report.active_cycles} of {report.total_cycles} cycles; the gates decide as recorded"
    )
    if report.system_j is not None:
        shares = [
            f"{100 * share:.2g} % ({name})" for name, e in cases if (share := report.share(e)) is not None
        ]
        print(f"of the system's {si(report.system_j, 'J')} that is {', '.join(shares)}")


_HEADER = ("nets", "gates", "clock", "leakage", "total")


def _parts(energy: Energy) -> list[str]:
    parts = (energy.switching, energy.internal, energy.clock, energy.leakage, energy.total)
    return [si(part, "J") for part in parts]


def _rates(report: PowerReport, energy: Energy) -> list[tuple[float, str]]:
    decisions, tokens = max(report.decisions, 1), max(report.tokens, 1)
    return [
        (energy.total / report.seconds, "W"),
        (energy.total / decisions, "J"),
        (energy.total / tokens, "J"),
    ]


def si(value: float, unit: str) -> str:
    """A value with three digits and an SI prefix from femto on: ``1.23 uJ``."""
    for prefix, scale in zip(" munpf", (1.0, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15), strict=True):
        if abs(value) >= scale:
            return f"{value / scale:.3g} {prefix.strip()}{unit}"
    return f"{value:.3g} {unit}"


def equiv(
    blocks: Annotated[
        list[str] | None,
        typer.Argument(help="Blocks; all of the unit and itself if none is given.", metavar="BLOCK..."),
    ] = None,
    liberty: Liberty = "nangate45",
    yosys: Yosys = "yowasp",
    period: Period = 1000,
) -> None:
    """Prove the gates of blocks equivalent to their RTL; exit 1 if a register or output is not proven."""
    from ahasd.synth.equivalence import BLOCKS, prove

    holds = True
    for block in blocks or BLOCKS:
        found = prove(block, liberty=liberty, yosys=yosys, period_ps=period)
        holds &= found.holds
        print(f"{block}: {found.proven} of {found.pairs} bits proven, {found.seconds:.0f} s", flush=True)
        for bit in found.differ:
            print(f"  {bit}: not proven")
        for bit in found.unpaired:
            print(f"  {bit}: no register of the RTL has this name")
    if not holds:
        raise typer.Exit(1)


def sweep(
    variants: Annotated[
        list[str] | None,
        typer.Argument(help="Variants by name, such as 'ring 256'; all if none is given.", metavar="NAME..."),
    ] = None,
    liberty: Liberty = "nangate45",
    yosys: Yosys = "yowasp",
    engine: Annotated[str, typer.Option(help="Analyser: opensta, own, or auto.", metavar="ENGINE")] = "auto",
    report: Annotated[
        Path | None,
        typer.Option(help="Write the table there too, and beside it as CSV.", metavar="FILE"),
    ] = None,
) -> None:
    """Area, clock, latency and system throughput against the unit's sizes (minutes a row the first time)."""
    from ahasd.synth.opensta import find_sta
    from ahasd.synth.sweep import sweep as run
    from ahasd.synth.sweep_report import HEADER, csv_text, markdown, row

    points: list[Point] = []
    for point in run(variants or (), liberty=liberty, yosys=yosys, engine=engine):
        if not points:
            print(HEADER, flush=True)
        points.append(point)
        print(row(point, next((p for p in points if not p.sizes), None)), flush=True)
    if report is not None:
        chosen = engine if engine != "auto" else ("opensta" if find_sta() else "own")
        report.write_text(markdown(points, liberty, chosen), encoding="utf-8")
        report.with_suffix(".csv").write_text(csv_text(points), encoding="utf-8")

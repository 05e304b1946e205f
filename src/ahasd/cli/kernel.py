"""`ahasd kernel`: single kernels on the hardware models, to the command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ahasd.cli import kernel_matmul, options
from ahasd.cli.output import print_table

if TYPE_CHECKING:
    from ahasd.models.dram import KernelResult

app = typer.Typer(
    help="Single kernels: memory streams, PIM, NPU.",
    epilog="Example: ahasd kernel gemv --rows 4096 --cols 1024",
    rich_markup_mode=None,
    no_args_is_help=True,
)
app.command("matmul", epilog=kernel_matmul.EXAMPLE)(kernel_matmul.matmul)

Trace = Annotated[Path | None, typer.Option("--trace", help="Write the commands to a file.", metavar="FILE")]


@app.command(epilog="Example: ahasd kernel stream --preset lpddr5-6400 --pattern rotate --count 4096 --json")
def stream(
    preset: Annotated[
        str,
        typer.Option(
            help="Memory: lpddr5-6400 (8 Gb), lpddr5-6400-16gb, ahasd, hbm2-pim, lp5-like, lp5-pim, a file.",
            metavar="PRESET",
        ),
    ] = "lpddr5-6400",
    pattern: Annotated[
        str,
        typer.Option(help="same-row, sequential, rotate, banks, conflict, random.", metavar="PATTERN"),
    ] = "rotate",
    count: Annotated[int, typer.Option(help="Accesses.", metavar="N")] = 4096,
    write: Annotated[bool, typer.Option("--write", help="Write instead of read.")] = False,
    refresh: Annotated[
        str, typer.Option(help="Refresh: none, all (banks at once), bank.", metavar="KIND")
    ] = "none",
    scheduler: Annotated[
        str, typer.Option(help="fr-fcfs over the window, or in-order.", metavar="SCHEDULER")
    ] = "fr-fcfs",
    window: Annotated[int, typer.Option(help="Requests that fr-fcfs chooses from.", metavar="N")] = 32,
    seed: Annotated[int, typer.Option(help="Of the random pattern.", metavar="N")] = 0,
    trace: Trace = None,
    as_json: options.Json = False,
) -> None:
    """Time a stream of accesses on one memory channel."""
    from ahasd.models.dram import load_dram, write_trace
    from ahasd.models.dram import stream as run
    from ahasd.models.dram.controller import Command
    from ahasd.models.errors import ConfigError

    if scheduler not in ("fr-fcfs", "in-order"):
        raise ConfigError(f"--scheduler: {scheduler!r} must be one of fr-fcfs, in-order")
    spec = load_dram(preset)
    commands: list[Command] | None = None if trace is None else []
    found = run(
        spec,
        pattern,
        count,
        write=write,
        refresh=refresh,
        seed=seed,
        window=window,
        in_order=scheduler == "in-order",
        trace=commands,
    )
    if trace is not None:
        write_trace(trace, spec, commands or [])
    _show(found, as_json)


@app.command(epilog="Example: ahasd kernel gemv --preset ahasd --rows 4096 --cols 1024 --vectors 4 --json")
def gemv(
    rows: Annotated[int, typer.Option(help="Outputs.", metavar="OUTPUTS")],
    cols: Annotated[int, typer.Option(help="Inputs.", metavar="INPUTS")],
    preset: Annotated[
        str, typer.Option(help="PIM: ahasd, hbm2-pim, lp5-like, lp5-pim or a TOML file.", metavar="PRESET")
    ] = "ahasd",
    vectors: Annotated[int, typer.Option(help="Input vectors.", metavar="N")] = 1,
    ranks: Annotated[
        int | None,
        typer.Option(
            help="Ranks that the outputs are split over.",
            show_default="the draft model's for ahasd, else 1",
            metavar="K",
        ),
    ] = None,
    no_refresh: Annotated[bool, typer.Option("--no-refresh", help="Leave refresh out.")] = False,
    trace: Trace = None,
    as_json: options.Json = False,
) -> None:
    """Time a matrix-vector product on PIM units."""
    from ahasd.models.pim import gemv as run
    from ahasd.models.pim import schedule_gemv

    if trace is None:
        found = run(preset, rows, cols, vectors, ranks, not no_refresh)
    else:
        found, execution = schedule_gemv(preset, rows, cols, vectors, ranks, not no_refresh)
        execution.write(trace)
    _show(found, as_json)


def _show(found: KernelResult, as_json: bool) -> None:
    from ahasd.sim.files import json_text

    if as_json:
        sys.stdout.write(json_text(found.to_dict()))
        return
    print_table(
        [
            ["cycles", str(found.cycles)],
            *([f"  {name}", str(cycles)] for name, cycles in found.phases.items()),
            ["time", f"{found.ps / 1e6:.3f} us"],
            *([name, str(number)] for name, number in found.commands.items()),
            ["bandwidth", f"{found.bandwidth_gbps:.2f} GB/s"],
        ]
    )

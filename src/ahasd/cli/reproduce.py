"""`ahasd reproduce`: every figure and table of the paper, and a verdict on every claim."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from ahasd.cli import options
from ahasd.cli.output import PATIENCE, print_table

EXAMPLE = "Example: ahasd reproduce --quick --out results"


def reproduce(
    quick: Annotated[
        bool, typer.Option("--quick", help="One trace instead of six, shorter runs under assumptions.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for tables, figures and the page.", metavar="DIR")] = Path(
        "reproduction"
    ),
    jobs: Annotated[int, typer.Option(help="Processes.", min=1, max=64, metavar="N")] = 2,
    engine: Annotated[
        str, typer.Option(help="Of all runs; a sample is run on the RTL as well.", metavar="ENGINE")
    ] = "golden",
    only: Annotated[
        str | None,
        typer.Option(help="Claims, with commas: no others, and only the runs they need.", metavar="IDS"),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(
            help="Tokens of every run.",
            show_default="1024; with --quick fewer in places",
            metavar="N",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Run every system on every pair and policy, and set each claim of the paper beside what comes out.

    A claim that does not follow is a result. Runs are kept: an interrupted command goes on where it stopped.
    """
    from ahasd.models.errors import ConfigError
    from ahasd.sim.files import json_text, make_folder
    from ahasd.sim.reproduce.charts import check_matplotlib
    from ahasd.sim.reproduce.run import chosen
    from ahasd.sim.reproduce.run import reproduce as run
    from ahasd.sim.reproduce.scope import FULL, QUICK
    from ahasd.sim.reproduce.store import Store

    if engine != "golden":
        raise ConfigError(f"--engine: {engine!r} must be golden; the sample in engines.csv covers the others")
    claims = chosen(name.strip() for name in only.split(",")) if only is not None else chosen(())
    scope = QUICK if quick else FULL
    if tokens is not None:
        if not 1 <= tokens <= 1024:
            raise ConfigError(f"--tokens: {tokens} must be from 1 to 1024")
        scope = scope.with_tokens(tokens)
    check_matplotlib()
    make_folder(out)
    progress = _Progress()
    try:
        report = run(scope, claims, Store(), jobs=jobs, progress=progress)
    finally:
        progress.end()
    report.write(out)
    ledger = report.tables[0]
    if as_json:
        rows = [dict(zip(ledger.header, row, strict=True)) for row in ledger.rows]
        facts = dict(report.facts())
        sys.stdout.write(json_text({"schema": 1, "out": str(out), **facts, "ledger": rows}))
    else:
        from ahasd.sim.reproduce.table import text_of

        keep = ("id", "claim", "paper", "ours", "verdict")
        print_table([[text_of(field) for field in row] for row in ledger.columns(*keep)], keep)
        print(f"\n{report.cells} runs; {out / 'index.html'}")
    for line in report.defects:
        print(f"ahasd: {line}", file=sys.stderr)
    if report.defects:
        raise typer.Exit(1)


class _Progress:
    """A line on standard error; silent when that is no terminal."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown = False

    def __call__(self, done: int, wanted: int) -> None:
        seconds = time.monotonic() - self._began
        if sys.stderr.isatty() and seconds > PATIENCE:
            self._shown = True
            sys.stderr.write(f"\r\x1b[K{done} of {wanted} runs, {seconds:.0f} s")
            sys.stderr.flush()

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

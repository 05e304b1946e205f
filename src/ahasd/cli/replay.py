"""`ahasd replay`: drive a control unit with recorded events."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = "Example: ahasd replay recorded.jsonl --engine rtl --check"


def replay(
    vectors: Annotated[
        list[Path] | None,
        typer.Argument(help="Files in the replay format; with --check and none, all that come with ahasd."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="Control unit to drive: golden, rtl, compiled, top.", metavar="ENGINE")
    ] = "golden",
    check: Annotated[
        bool, typer.Option("--check", help="Compare with the recorded decisions; exit 1 at a difference.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write what the engine decided, in the same format.", metavar="FILE"
        ),
    ] = None,
) -> None:
    """Drive a control unit with recorded events, and compare or write what it decides."""
    from ahasd.models import replay as format
    from ahasd.models.errors import ConfigError
    from ahasd.sim.engines import check_engine, make_replay_unit

    check_engine(engine)
    if not vectors and not check:
        raise ConfigError("VECTOR: a file is missing (with --check, all that come with ahasd are taken)")
    paths = vectors or format.vectors()
    if output is not None and len(paths) > 1:
        raise ConfigError(f"--output: {len(paths)} files are given, expected one")
    differs = False
    for path in paths:
        recording = format.read_replay(path)
        found = format.replay(recording, make_replay_unit(engine), str(path))
        if output is not None:
            format.write_replay(output, found)
        difference = format.first_difference(recording, found) if check else None
        if difference is not None:
            print(f"{path}: {difference}", file=sys.stderr)
            differs = True
        elif check:
            print(f"{path}: {len(recording.steps)} events, the {engine} engine decides the same")
        elif output is None:
            for line in format.lines(found):
                print(line)
    if differs:
        raise typer.Exit(1)

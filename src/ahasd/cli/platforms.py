"""`ahasd platform`: memory, PIM and NPU parameters."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ahasd.cli import options
from ahasd.cli.output import print_table

app = typer.Typer(
    help="Platforms: memory, PIM, NPU.",
    epilog="Example: ahasd platform show",
    rich_markup_mode=None,
    no_args_is_help=True,
)


@app.command("list", epilog="Example: ahasd platform list")
def list_(as_json: options.Json = False) -> None:
    """List the platforms that come with ahasd."""
    from ahasd.models.platform import list_platforms, load_platform
    from ahasd.sim.files import json_text

    found = {name: load_platform(name).description for name in list_platforms()}
    if as_json:
        sys.stdout.write(json_text({"platforms": found}))
    else:
        print_table([[name, description] for name, description in found.items()])


@app.command(epilog="Example: ahasd platform show ahasd --set platform.pim.draft_ranks=4")
def show(
    name: Annotated[str, typer.Argument(help="A name or a TOML file.", metavar="PLATFORM")] = "ahasd",
    settings: options.Settings = None,
    as_json: options.Json = False,
) -> None:
    """Print every parameter with value, unit, range and source, and what does not add up."""
    from ahasd.models.platform import load_platform, platform_rows, with_overrides
    from ahasd.models.platform.notes import platform_notes
    from ahasd.models.settings import parse_assignments
    from ahasd.sim.files import json_text

    platform = with_overrides(load_platform(name), parse_assignments(settings or []))
    rows, notes = platform_rows(platform), platform_notes(platform)
    if as_json:
        parameters = [row._asdict() for row in rows]
        sys.stdout.write(json_text({"name": platform.name, "parameters": parameters, "notes": notes}))
        return
    print(f"{platform.name}: {platform.description}\n")
    print_table(
        [
            [r.path, str(r.value), r.unit, r.allowed, r.source + (f"; {r.note}" if r.note else "")]
            for r in rows
        ],
        ["parameter", "value", "unit", "range", "source"],
    )
    print("\nWhat follows from them, and what does not add up:")
    for note in notes:
        print(f"- {note}")

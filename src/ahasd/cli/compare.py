"""`ahasd compare`: several systems side by side."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ahasd.cli import options
from ahasd.cli.output import Progress, print_table

EXAMPLE = "Example: ahasd compare --systems npu-pim-sync,async,ahasd --trace smollm2-sampled --tokens 512"


def compare(
    systems: Annotated[
        str, typer.Option(help="Names, separated by commas; the first is the yardstick.", metavar="A,B,...")
    ] = "npu-pim-sync,async,async+aau,async+aau+edc,ahasd",
    pair: options.Pair = None,
    policy: options.Policy = None,
    platform: options.Platform = None,
    trace: options.Trace = None,
    tokens: options.Tokens = 1024,
    seed: options.Seed = 0,
    settings: options.Settings = None,
    as_json: options.Json = False,
) -> None:
    """Run several systems on the same work and set their figures side by side (golden engine)."""
    from ahasd.sim.files import json_text
    from ahasd.sim.run import prepare, simulate

    configs = [
        options.run_config(
            settings,
            system=name.strip(),
            pair=pair,
            policy=policy,
            platform=platform,
            trace=trace,
            tokens=tokens,
            engine=_engine(name.strip()),
            seed=seed,
        )
        for name in systems.split(",")
    ]
    for config in configs:
        prepare(config)
    progress = Progress()
    documents = []
    try:
        for config in configs:
            documents.append(simulate(config, progress=progress).to_dict())
    finally:
        progress.end()
    if as_json:
        sys.stdout.write(json_text({"schema": documents[0]["schema"], "runs": documents}))
        return
    from ahasd.sim.views import comparison

    header, *rows = comparison(documents)
    print_table(rows, header)


def _engine(system: str) -> str | None:
    """The golden engine, which all others equal; none for a system without a control unit."""
    from ahasd.sim.systems import find_system

    return "golden" if find_system(system).control_unit else None

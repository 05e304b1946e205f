"""`ahasd run`: one co-simulation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ahasd.cli import options
from ahasd.cli.output import Progress, announce, print_table, table_text

if TYPE_CHECKING:
    from ahasd.sim.config import RunConfig
    from ahasd.sim.result import Result, TraceResult

EXAMPLE = (
    "Example: ahasd run --system async+edc --trace smollm2-greedy/02 --tokens 512 --set control.max_draft=8"
)

VERIFICATIONS = 20
"""Verifications that -v shows."""


def run(
    system: Annotated[
        str | None,
        typer.Option(
            help="ahasd, async[+aau][+edc][+tvc], npu-pim-sync, npu-only, pim-only, pim-sd, specpim, "
            "specpim-gpu, gpu-only, gpu-mobile, oracle, or a .py file with one.",
            show_default="ahasd",
            metavar="SYSTEM",
        ),
    ] = None,
    pair: options.Pair = None,
    policy: options.Policy = None,
    platform: options.Platform = None,
    trace: options.Trace = None,
    tokens: options.Tokens = 1024,
    engine: options.Engine = None,
    seed: options.Seed = 0,
    settings: options.Settings = None,
    record: Annotated[
        Path | None,
        typer.Option(
            help="Write the control unit's events and decisions, for `ahasd replay`.", metavar="FILE"
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write all results into this folder.", metavar="DIR")
    ] = None,
    vcd: Annotated[
        Path | None,
        typer.Option(help="Write the RTL's waves, and a GTKWave save file beside them.", metavar="FILE"),
    ] = None,
    text: Annotated[
        bool, typer.Option("--text", help="Print the text, with the drafts that were dropped marked.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print a timeline of the first verifications.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Run the control unit with PIM, NPU and language-model traces around it, and report."""
    from ahasd.models.errors import ConfigError
    from ahasd.sim.files import json_text
    from ahasd.sim.run import simulate

    if as_json and (text or verbose):
        raise ConfigError("--json: prints one JSON document and nothing else, so neither --text nor -v")
    config = options.run_config(
        settings,
        system=system,
        pair=pair,
        policy=policy,
        platform=platform,
        trace=trace,
        tokens=tokens,
        engine=engine,
        seed=seed,
    )
    _check_outputs(config, record, vcd)
    progress = Progress()
    try:
        details = True if text or verbose or out is not None else None
        result = simulate(config, vcd=vcd, progress=progress, details=details)
    finally:
        progress.end()
    if record is not None:
        _record(result, record)
    if out is not None:
        _write(result, out)
    if as_json:
        sys.stdout.write(json_text(result.to_dict()))
        return
    _print(result, text, verbose)


def _check_outputs(config: RunConfig, record: Path | None, vcd: Path | None) -> None:
    """What the run could not write is said before it begins."""
    from ahasd.models.errors import ConfigError
    from ahasd.sim.compiled.build import is_built
    from ahasd.sim.run import prepare

    plan = prepare(config)
    control, top = plan.control, plan.engine == "top"
    built = is_built(control.predictor, params=control.unit.params, top=top, tick_cycles=control.tick_cycles)
    if plan.engine in ("compiled", "top") and not built:
        length = "a minute or more" if top else "some ten seconds"
        announce(f"compiling the RTL, once for this version of it ({length}) ...")
    for option, path in (("--record", record), ("--vcd", vcd)):
        if path is None:
            continue
        if not plan.system.control_unit:
            raise ConfigError(f"{option}: system {plan.system.name} has no control unit to watch")
        if len(plan.traces) > 1:
            raise ConfigError(f"{option}: {config.trace} is {len(plan.traces)} traces; name one")
        if not path.parent.is_dir():
            raise ConfigError(f"{option}: {path.parent}: no such folder")


def _record(result: Result, path: Path) -> None:
    from ahasd.models.replay import write_replay

    recording = result.runs[0].recording
    assert recording is not None, "checked before the run"
    write_replay(path, recording)


def _write(result: Result, folder: Path) -> None:
    from ahasd.sim.files import json_text, make_folder, write_whole
    from ahasd.sim.perfetto import trace_text
    from ahasd.sim.run_page import run_page
    from ahasd.sim.views import summary, timeline

    make_folder(folder)
    write_whole(folder / "summary.txt", table_text(summary(result)))
    document = result.to_dict()
    documents = document.get("runs", [document])
    for number, (run, own) in enumerate(zip(result.runs, documents, strict=True)):
        suffix = "" if len(result.runs) == 1 else f"-{number:02}-{run.name.replace('/', '-')}"
        write_whole(folder / f"text{suffix}.txt", _marked(run))
        write_whole(folder / f"report{suffix}.html", run_page(run, own))
        write_whole(folder / f"trace{suffix}.json", trace_text(run, own))
        write_whole(
            folder / f"timeline{suffix}.txt",
            "".join(line + "\n" for line in timeline(run, len(run.npu_spans))),
        )
    write_whole(folder / "run.json", json_text(document))


def _print(result: Result, text: bool, verbose: bool) -> None:
    from ahasd.sim.views import summary, timeline

    print_table(summary(result))
    for run in result.runs:
        if verbose:
            print(f"\n{run.name}: the first verifications")
            print("\n".join(timeline(run, VERIFICATIONS)))
        if text:
            print(f"\n{run.name}: committed text, [-drafts that were dropped-]")
            _print_text(run)


def _marked(run: TraceResult) -> str:
    from ahasd.sim.views import Kind, segments

    return (
        "".join(piece if kind is Kind.COMMITTED else f"[-{piece}-]" for kind, piece in segments(run)) + "\n"
    )


def _print_text(run: TraceResult) -> None:
    if not sys.stdout.isatty():
        sys.stdout.write(_marked(run))
        return
    from rich.console import Console
    from rich.text import Text

    from ahasd.sim.views import Kind, segments

    marked = Text()
    for kind, piece in segments(run):
        marked.append(piece, style="" if kind is Kind.COMMITTED else "dim red strike")
    Console(highlight=False).print(marked)

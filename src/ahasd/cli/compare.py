"""`ahasd compare`: several systems and policies side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ahasd.cli import options
from ahasd.cli.output import Progress, print_table

if TYPE_CHECKING:
    from ahasd.sim.comparison import Entry
    from ahasd.sim.paired import Ratio

EXAMPLE = "Example: ahasd compare --systems npu-pim-sync,async,ahasd --trace smollm2-sampled --tokens 512"

WIDTH = 40
"""Characters of the longest bar."""


def compare(
    systems: Annotated[
        str, typer.Option(help="Names, separated by commas; the first is the yardstick.", metavar="A,B,...")
    ] = "npu-pim-sync,async,async+aau,async+aau+edc,ahasd",
    pair: options.Pair = None,
    policy: Annotated[
        str | None,
        typer.Option(help="Drafting policies, separated by commas.", show_default="svip", metavar="P,Q,..."),
    ] = None,
    platform: options.Platform = None,
    trace: options.Trace = None,
    tokens: options.Tokens = 1024,
    seed: options.Seed = 0,
    settings: options.Settings = None,
    chart: Annotated[
        Path | None, typer.Option(help="Draw the bars: a PNG or SVG file.", metavar="FILE")
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write the table as CSV.", metavar="FILE")] = None,
    as_json: options.Json = False,
) -> None:
    """Run systems and policies on the same work and set their figures side by side (golden engine).

    Of several traces, x is the geometric mean of the ratios trace by trace, with a 95 % interval.
    """
    from ahasd.sim.comparison import compare as run
    from ahasd.sim.comparison import csv_text, plan_comparison
    from ahasd.sim.files import json_text, write_whole

    base = options.run_config(settings, pair=pair, platform=platform, trace=trace, tokens=tokens, seed=seed)
    configs = plan_comparison(_names(systems), [base.policy] if policy is None else _names(policy), base)
    _check_outputs(chart, csv)
    progress = Progress()
    try:
        entries = run(configs, progress)
    finally:
        progress.end()
    if chart is not None:
        _draw(entries, chart)
    if csv is not None:
        write_whole(csv, csv_text(entries))
    if as_json:
        first = entries[0].document
        rows = [entry.to_dict() for entry in entries]
        runs = [entry.document for entry in entries]
        sys.stdout.write(json_text({"schema": first["schema"], "rows": rows, "runs": runs}))
        return
    print_table(*_table(entries))
    print()
    print_table(_bars(entries))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _check_outputs(chart: Path | None, csv: Path | None) -> None:
    """What could not be written is said before anything is simulated."""
    from ahasd.models.errors import ConfigError
    from ahasd.sim.reproduce.charts import check_matplotlib

    for option, path in (("--chart", chart), ("--csv", csv)):
        if path is not None and not path.parent.is_dir():
            raise ConfigError(f"{option}: {path.parent}: no such folder")
    if chart is not None:
        if chart.suffix not in (".png", ".svg"):
            raise ConfigError(f"--chart: {str(chart)!r} must end in .png or .svg")
        check_matplotlib()


def _table(entries: list[Entry]) -> tuple[list[list[str]], list[str]]:
    rows = [
        [
            entry.system,
            f"{entry.document['tokens_per_s']:.2f}",
            _interval(entry.ratio),
            _joules(entry.joules()),
            _interval(entry.efficiency),
            _percent(entry.document["acceptance"]),
            _percent(entry.document["useful"]),
            entry.policy,
        ]
        for entry in entries
    ]
    header = ["system", "tokens/s", "x", "J/token", "x tokens/J", "acceptance", "useful", "policy"]
    return rows, header


def _interval(ratio: Ratio | None) -> str:
    if ratio is None:
        return "-"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.mean:.2f}"
    return f"{ratio.mean:.2f} ({ratio.low:.2f}..{ratio.high:.2f})"


def _joules(joules: tuple[float, float, float] | None) -> str:
    return "-" if joules is None else f"{joules[0]:.3g} ({joules[1]:.3g}..{joules[2]:.3g})"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _bars(entries: list[Entry]) -> list[list[str]]:
    """Tokens a second as bars, the longest :data:`WIDTH` characters."""
    block = "\N{FULL BLOCK}"
    try:
        block.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        block = "#"
    most = max(entry.document["tokens_per_s"] for entry in entries)
    return [
        [
            label,
            block * max(1, round(WIDTH * entry.document["tokens_per_s"] / most)),
            f"{entry.document['tokens_per_s']:.2f}",
        ]
        for label, entry in zip(_labels(entries), entries, strict=True)
    ]


def _labels(entries: list[Entry]) -> list[str]:
    """Systems; with their policy where a system is there more than once."""
    systems = [entry.system for entry in entries]
    return [
        f"{entry.system} {entry.policy}" if systems.count(entry.system) > 1 else entry.system
        for entry in entries
    ]


def _draw(entries: list[Entry], path: Path) -> None:
    from ahasd.sim.reproduce.charts import Panel, bars, save

    first = entries[0].document["tokens_per_s"]
    means = [entry.ratio.mean for entry in entries]
    ends = [
        None if e.ratio.low is None or e.ratio.high is None else (e.ratio.low, e.ratio.high) for e in entries
    ]
    unit = f"tokens/s over {_labels(entries)[0]} ({first:.2f})"
    panel = Panel(groups=_labels(entries), series=[("x", means)], errors=[ends])
    save(bars(panel, unit=unit, line=1), path)

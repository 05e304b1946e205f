"""One run as an HTML page that refers to nothing outside: figures, the whole run, its first verifications."""

from __future__ import annotations

from html import escape
from typing import Any

from ahasd.sim.reproduce.page import STYLE
from ahasd.sim.result import TraceResult
from ahasd.sim.timeline_svg import BINS, COLOURS, detail, strip
from ahasd.sim.tracks import KINDS, levels, marks, tick_ps, tracks
from ahasd.sim.views import rows_of

__all__ = ["VERIFICATIONS", "run_page"]

VERIFICATIONS = 40
"""Shown one by one; the whole run is shown by shares of time, so that the page stays small."""

_MORE_STYLE = """
.wide { overflow-x: auto } .wide svg { max-width: none }
.groups { columns: 2 26em } .groups table { break-inside: avoid; margin-bottom: 1em }
.key { display: inline-block; width: 1em; height: 1em; margin: 0 .3em 0 1em; vertical-align: middle }
"""
_NAMES = {
    "verify": "verification",
    "draft": "draft",
    "preverify": "pre-verification",
    "aborted": "draft or pre-verification that was aborted",
}


def run_page(run: TraceResult, document: dict[str, Any]) -> str:
    """The page.

    Parameters
    ----------
    run : TraceResult
        With details.
    document : dict
        Of this run (:meth:`ahasd.sim.result.Result.to_dict`).
    """
    tick = tick_ps(document)
    found, end = tracks(run), run.tally.time_ps
    first = run.npu_spans[:VERIFICATIONS]
    until = first[-1].begin + first[-1].length(end)
    decisions = None if run.recording is None else marks(run, tick)
    queue = levels(run, tick)
    title = f"AHASD: {document['system']}, {run.name}"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
            f"<style>{STYLE}{_MORE_STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            _summary(document),
            "<h2>The whole run</h2>",
            f"<p>Share of time in each of {BINS} equal parts.{_legend()}</p>",
            strip(found, end),
            f"<h2>The first {len(first)} verifications</h2>",
            "<p>Point at a task for its figures.</p>",
            f'<div class="wide">{detail(found, decisions, queue, until, len(first))}</div>',
            "</body></html>\n",
        ]
    )


def _summary(document: dict[str, Any]) -> str:
    """The figures, a table for each group; how long the simulation took is no figure of the run."""
    groups: dict[str, list[str]] = {}
    for row in rows_of(document):
        if row.group:
            line = f'<tr><td>{escape(row.name)}</td><td class="number">{escape(row.value)}</td></tr>'
            groups.setdefault(row.group, []).append(line)
    tables = [
        "\n".join([f'<table><tr><th colspan="2">{escape(group)}</th></tr>', *lines, "</table>"])
        for group, lines in groups.items()
    ]
    return "\n".join(['<div class="groups">', *tables, "</div>"])


def _legend() -> str:
    return "".join(
        f'<span class="key" style="background:{COLOURS[kind]}"></span>{_NAMES[kind]}' for kind in KINDS
    )

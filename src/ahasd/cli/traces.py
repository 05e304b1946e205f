"""`ahasd trace`: recorded language-model traces."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ahasd.cli import options
from ahasd.cli.output import print_table

app = typer.Typer(help="Recorded language-model traces.", rich_markup_mode=None, no_args_is_help=True)

PREVIEW = 400
"""Characters of text that `show` prints."""


@app.command("list", epilog="Example: ahasd trace list")
def list_(as_json: options.Json = False) -> None:
    """List the traces that come with ahasd."""
    from ahasd.models.traces import list_traces
    from ahasd.sim.files import json_text

    names = list_traces()
    if as_json:
        sys.stdout.write(json_text({"traces": names}))
    else:
        print("\n".join(names))


@app.command(epilog="Example: ahasd trace show smollm2-sampled/00")
def show(
    name: Annotated[str, typer.Argument(help="SET/NN, SET (all of it) or a path.", metavar="TRACE")],
    as_json: options.Json = False,
) -> None:
    """Print where a trace comes from, its figures, and how its text begins."""
    from ahasd.models.traces import resolve
    from ahasd.sim.files import json_text

    traces = [_figures(trace) for trace in resolve(name)]
    if as_json:
        sys.stdout.write(json_text(traces[0] if len(traces) == 1 else {"traces": traces}))
        return
    for figures in traces:
        print_table([[key, str(value)] for key, value in figures.items()])


def _figures(trace: Any) -> dict[str, Any]:
    rows = trace.rows
    right = trace.match_len
    first = trace.entropy[:, 0]
    provenance = trace.provenance
    text = trace.text(trace.y[:rows].tolist())[:PREVIEW]
    return {
        "name": trace.name,
        **{key: provenance[key] for key in ("target", "draft", "corpus", "licence") if key in provenance},
        "prompt tokens": trace.context,
        "tokens": rows,
        "first draft token right": round(float((right > 0).mean()), 3),
        "right in a row": round(float(right.mean()), 2),
        "entropy of the first draft token (nats)": round(float(first.mean()), 3),
        "h_max (nats)": trace.h_max,
        "text": "".join(c if c.isprintable() else " " for c in text),
    }

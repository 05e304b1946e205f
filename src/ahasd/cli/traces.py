"""`ahasd trace`: language-model traces: list, show, make, record."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ahasd.cli import options
from ahasd.cli.output import Progress, print_table

app = typer.Typer(
    help="Language-model traces, recorded and synthetic.",
    epilog="Example: ahasd trace list",
    rich_markup_mode=None,
    no_args_is_help=True,
)

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
    name: Annotated[
        str, typer.Argument(help="SET/NN, SET (all of it), a path or synth:KEY=VALUE,...", metavar="TRACE")
    ],
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


@app.command(epilog="Example: ahasd trace synth acceptance=0.8 correlation=0.3 --count 3 -o hard-text")
def synth(
    settings: Annotated[
        list[str] | None,
        typer.Argument(help="KEY=VALUE; without -o all keys are listed with ranges.", metavar="KEY=VALUE"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder to write the set into; a new one.", metavar="DIR"),
    ] = None,
    count: Annotated[int, typer.Option(help="Traces, with seeds one after the other.", metavar="N")] = 1,
    as_json: options.Json = False,
) -> None:
    """Make synthetic traces from stated parameters (docs/traces.md); `--trace synth:...` needs no files."""
    import dataclasses

    from ahasd.models.errors import ConfigError
    from ahasd.models.settings import rows
    from ahasd.models.synthetic import parse, synthesise
    from ahasd.models.trace_files import write_set
    from ahasd.sim.files import json_text

    chosen = parse(",".join(settings or []))
    if not 1 <= count <= 100:
        raise ConfigError(f"--count: {count} must be from 1 to 100")
    if out is None:
        table = [
            (row.path, row.value, row.unit, row.allowed, row.note, row.source)
            for row in rows(chosen, "synth")
        ]
        if as_json:
            keys = ("key", "value", "unit", "allowed", "note", "source")
            sys.stdout.write(json_text({"settings": [dict(zip(keys, row, strict=True)) for row in table]}))
        else:
            print_table([[str(cell) for cell in row] for row in table])
        return
    made = [synthesise(dataclasses.replace(chosen, seed=chosen.seed + i)) for i in range(count)]
    paths = write_set(
        out,
        {f"{i:02}_synth.npz": trace.arrays for i, trace in enumerate(made)},
        {i: piece for trace in made for i, piece in trace.pieces.items()},
        {**made[0].provenance, "seeds": [chosen.seed + i for i in range(count)]},
    )
    _say_written(paths, as_json)


@app.command(
    epilog='Example: ahasd trace record --draft llama-1b --target llama-8b --prompt "Once upon" -o tale'
)
def record(
    target: Annotated[Path, typer.Option(help="Folder with the target model.", metavar="DIR")],
    draft: Annotated[Path, typer.Option(help="Folder with the draft model.", metavar="DIR")],
    prompt: Annotated[
        list[str], typer.Option(help="A prompt, or @FILE with one; repeat for more traces.", metavar="TEXT")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder to write the set into; a new one.", metavar="DIR")
    ],
    tokens: Annotated[
        int, typer.Option(help="Tokens of the target's text, at most 1024.", metavar="N")
    ] = 1024,
    steps: Annotated[int, typer.Option(help="Steps of each rollout, at most 64.", metavar="N")] = 64,
    temperature: Annotated[float, typer.Option(help="Of the target's text; 0: greedy.", metavar="T")] = 0.7,
    seed: Annotated[int, typer.Option(help="Of the target's text.", metavar="N")] = 0,
    as_json: options.Json = False,
) -> None:
    """Record traces from two Hugging Face causal language models on disk (pip install 'ahasd[record]')."""
    from ahasd.models.recording import RecordSettings
    from ahasd.models.recording_hf import record_set

    settings = RecordSettings(tokens=tokens, steps=steps, temperature=temperature, seed=seed)
    progress = Progress()
    try:
        paths = record_set(target, draft, [_prompt(text) for text in prompt], settings, out, progress)
    finally:
        progress.end()
    _say_written(paths, as_json)


def _prompt(text: str) -> str:
    from ahasd.models.errors import ConfigError

    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"--prompt: {text[1:]}: cannot be read ({error})") from None


def _say_written(paths: list[Path], as_json: bool) -> None:
    from ahasd.sim.files import json_text

    names = [str(path) for path in paths]
    if as_json:
        sys.stdout.write(json_text({"traces": names}))
    else:
        print("\n".join(names))


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

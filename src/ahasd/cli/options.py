"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

__all__ = [
    "Engine",
    "Json",
    "Pair",
    "Platform",
    "Policy",
    "Seed",
    "Settings",
    "Tokens",
    "Trace",
    "run_config",
]

Pair = Annotated[
    str | None,
    typer.Option(
        help="Draft and target model: DRAFT/TARGET, or DRAFT,TARGET with files (TOML, config.json).",
        show_default="llama2-7b/13b",
        metavar="PAIR",
    ),
]
Policy = Annotated[
    str | None,
    typer.Option(
        help="Drafting policy: fixed-K, svip, specdec++, adaedl, banditspec, ... (docs/policies.md).",
        show_default="svip",
        metavar="POLICY",
    ),
]
Platform = Annotated[
    str | None,
    typer.Option(help="Platform: a name or a TOML file.", show_default="ahasd", metavar="PLATFORM"),
]
Trace = Annotated[
    str | None,
    typer.Option(
        help="SET/NN, SET (all of it), a path or synth:KEY=VALUE,...; several with commas.",
        show_default="smollm2-sampled/00",
        metavar="TRACE",
    ),
]
Tokens = Annotated[int, typer.Option(help="Tokens to commit, of each trace.", metavar="N")]
Engine = Annotated[
    str | None,
    typer.Option(
        help="Control unit in the loop: golden, rtl, compiled (rtl where there is no C++ compiler), or top: "
        "the whole hardware, programmed over AXI4-Lite.",
        show_default="compiled",
        metavar="ENGINE",
    ),
]
Seed = Annotated[int, typer.Option(help="For policies that draw random numbers.", metavar="N")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Change a setting: platform., control., policy. or system. key. May be repeated.",
        metavar="KEY=VALUE",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, nothing else.")]


def run_config(settings: list[str] | None, **given: Any) -> Any:
    """The :class:`ahasd.sim.config.RunConfig` of what was given; None means the default."""
    from ahasd.models.settings import parse_assignments
    from ahasd.sim.config import RunConfig

    chosen = {name: value for name, value in given.items() if value is not None}
    return RunConfig(**chosen, set=parse_assignments(settings or []))

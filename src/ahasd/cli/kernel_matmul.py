"""`ahasd kernel matmul`: one matrix multiplication on the NPU."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ahasd.cli import options
from ahasd.cli.output import print_table

EXAMPLE = "Example: ahasd kernel matmul --array 128x128 -n 128 -k 4096 -m 4096 --no-memory --json"


def matmul(
    rows: Annotated[int, typer.Option("-n", help="Input rows (tokens).", metavar="N")],
    inner: Annotated[int, typer.Option("-k", help="Inputs of each row.", metavar="K")],
    columns: Annotated[int, typer.Option("-m", help="Outputs of each row.", metavar="M")],
    array: Annotated[
        str | None,
        typer.Option(help="Rows x columns of an array.", show_default="the platform's", metavar="HxW"),
    ] = None,
    arrays: Annotated[int, typer.Option(help="Arrays that share the work.", metavar="COUNT")] = 1,
    element_bytes: Annotated[int, typer.Option(help="Bytes of an element, 1 to 4.", metavar="B")] = 1,
    no_memory: Annotated[
        bool, typer.Option("--no-memory", help="Inputs and weights are in the scratchpad, results stay.")
    ] = False,
    platform: options.Platform = None,
    settings: options.Settings = None,
    as_json: options.Json = False,
) -> None:
    """Multiply N x K inputs with K x M weights on weight-stationary arrays, through DMA and scratchpad."""
    from ahasd.models.errors import ConfigError
    from ahasd.models.npu.kernel import matmul_report
    from ahasd.models.platform import DEFAULT_PLATFORM, load_platform, with_overrides
    from ahasd.models.settings import parse_assignments
    from ahasd.sim.files import json_text

    chosen = with_overrides(load_platform(platform or DEFAULT_PLATFORM), parse_assignments(settings or []))
    height, width = chosen.npu.rows, chosen.npu.columns
    if array is not None:
        left, _, right = array.lower().partition("x")
        if not (left.isdecimal() and right.isdecimal()):
            raise ConfigError(f"--array: {array!r} must be ROWSxCOLUMNS, such as 64x64")
        height, width = int(left), int(right)
    report = matmul_report(
        chosen,
        (rows, inner, columns),
        array=(height, width),
        arrays=arrays,
        element_bytes=element_bytes,
        memory=not no_memory,
    )
    if as_json:
        sys.stdout.write(json_text(report))
        return
    print_table(
        [
            ["cycles", str(report["cycles"])],
            ["time", f"{report['ps'] / 1e6:.3f} us"],
            *([name, str(count)] for name, count in report["commands"].items()),
            ["bandwidth", f"{report['bandwidth_gbps']:.2f} GB/s"],
        ]
    )

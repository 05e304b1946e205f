"""`ahasd verilog`, `cocotb`: the hardware itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

VERILOG_EXAMPLE = "Example: ahasd verilog control_unit -o build/rtl"
COCOTB_EXAMPLE = "Example: ahasd cocotb ahasd_top --simulator icarus --seed 7"

Block = Annotated[
    str, typer.Argument(help="Block, such as ahasd_top; a wrong name lists all.", metavar="BLOCK")
]


def verilog(
    block: Block = "control_unit",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder to write into.", metavar="DIR")
    ] = Path("build/rtl"),
) -> None:
    """Write a block as SystemVerilog, with a FuseSoC core file and lint waivers."""
    from ahasd.synth.emit import write_verilog

    for path in write_verilog(block, output):
        print(path)


def cocotb(
    bench: Annotated[
        str | None, typer.Argument(help="Bench; all of them without one.", metavar="BENCH")
    ] = None,
    simulator: Annotated[
        str, typer.Option(help="Simulator: verilator or icarus.", metavar="SIMULATOR")
    ] = "verilator",
    seed: Annotated[int, typer.Option(help="Of the random traffic.", metavar="N")] = 0,
    vectors: Annotated[
        list[Path] | None,
        typer.Option(
            help="Replay file to play instead of the bundled vectors; may be repeated.", metavar="FILE"
        ),
    ] = None,
    waves: Annotated[bool, typer.Option("--waves", help="Keep the waves.")] = False,
) -> None:
    """Run the cocotb test benches on the generated Verilog; exit 1 if one fails."""
    import importlib
    import tempfile

    from ahasd.models.errors import ConfigError, ToolError
    from ahasd.synth.emit import write_verilog

    try:
        runner = importlib.import_module("ahasd.sim.benches.runner")
    except ModuleNotFoundError as error:
        raise ToolError(f"cocotb: {error.name} is missing; pip install 'ahasd[hdl]'") from None
    code = 0
    for name in [bench] if bench else runner.BENCHES:
        if name not in runner.BENCHES:
            raise ConfigError(f"bench {name!r}: unknown, expected one of {', '.join(runner.BENCHES)}")
        with tempfile.TemporaryDirectory() as folder:
            verilog = write_verilog(name, folder)[0]
            code |= runner.run_bench(name, simulator, seed, waves, vectors, verilog)
    raise typer.Exit(code)

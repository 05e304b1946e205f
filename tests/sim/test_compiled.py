"""The compiled engine: built once, whatever else builds, and clear when it cannot be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ahasd.models.control.events import Token
from ahasd.models.control.params import ControlConfig
from ahasd.models.errors import ToolError
from ahasd.sim.compiled import build
from ahasd.sim.compiled.engine import CompiledUnit
from ahasd.sim.config import RunConfig
from ahasd.sim.engines import default_engine
from ahasd.sim.run import simulate

needs_compiler = pytest.mark.skipif(build.compiler() is None, reason="no C++ compiler")


def test_without_a_compiler_the_rtl_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    assert default_engine() == "rtl"
    with pytest.raises(ToolError, match=r"no C\+\+ compiler found.*--engine rtl") as caught:
        simulate(RunConfig(engine="compiled", tokens=1))
    assert "\n" not in str(caught.value)


def test_a_compiler_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wrong = tmp_path / "c++"
    wrong.write_text("#!/bin/sh\necho 'unit.cc:1: error: no such thing' >&2\nexit 1\n")
    wrong.chmod(0o755)
    monkeypatch.setenv("CXX", str(wrong))
    monkeypatch.setenv("AHASD_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ToolError, match="no such thing"):
        build.library()
    assert list((tmp_path / "cache" / "compiled").iterdir()) == []


@needs_compiler
@pytest.mark.hdl
def test_concurrent_builds_share_one_folder(tmp_path: Path) -> None:
    code = "from ahasd.sim.compiled.build import library; print(library())"
    environment = {**os.environ, "AHASD_CACHE": str(tmp_path)}
    builds = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    found = {process.communicate()[0].strip() for process in builds}
    assert all(process.returncode == 0 for process in builds)
    assert [str(folder) for folder in (tmp_path / "compiled").iterdir()] == list(found)


@needs_compiler
def test_the_trivial_predictor_never_says_stop() -> None:
    settings = {"control.predictor": "always-go"}
    counters = simulate(RunConfig(engine="compiled", tokens=150, set=settings)).to_dict()["counters"]
    assert counters["predictions"] > 0
    assert counters["suppressed"] == 0


@needs_compiler
def test_an_input_holds_one_event() -> None:
    unit = CompiledUnit()
    unit.configure(ControlConfig())
    unit.submit(Token(1, 1, False), 1)
    with pytest.raises(RuntimeError, match="waits at the token input"):
        unit.submit(Token(2, 1, False), 1)

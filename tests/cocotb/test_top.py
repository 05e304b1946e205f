"""The benches of rank gate, registers and top on their generated Verilog."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ahasd.models.replay import vectors
from ahasd.sim.benches.runner import bench_result
from ahasd.synth.emit import write_verilog

ICARUS = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
SIMULATORS = ["verilator", pytest.param("icarus", marks=[ICARUS, pytest.mark.slow])]

TIMES = ("v0001", "v0006")
"""A vector whose decisions do not depend on time, and one whose do."""


@pytest.mark.hdl
@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("bench", ["rank_gate", "registers", "ahasd_top"])
def test_bench(bench: str, simulator: str, tmp_path: Path) -> None:
    verilog = write_verilog(bench, tmp_path)[0]
    chosen = [path for path in vectors() if bench == "ahasd_top" and path.stem in TIMES]
    result = bench_result(bench, simulator, 3, vectors=chosen, verilog=verilog)
    assert result.failed == {}
    assert result.missed == []

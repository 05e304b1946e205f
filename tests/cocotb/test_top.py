"""The benches of rank gate, registers and top on their generated Verilog."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ahasd.models.replay import vectors
from ahasd.sim.benches.runner import bench_result
from ahasd.synth.emit import write_verilog

ICARUS = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
BLOCKS = ["rank_gate", "registers"]
RUNS = [
    *((bench, "verilator") for bench in (*BLOCKS, "ahasd_top")),
    *(pytest.param(bench, "icarus", marks=ICARUS) for bench in BLOCKS),
    pytest.param("ahasd_top", "icarus", marks=[ICARUS, pytest.mark.slow]),
]

TIMES = ("v0001", "v0006")
"""A vector whose decisions do not depend on time, and one whose do."""


@pytest.mark.hdl
@pytest.mark.parametrize(("bench", "simulator"), RUNS)
def test_bench(bench: str, simulator: str, tmp_path: Path) -> None:
    verilog = write_verilog(bench, tmp_path)[0]
    chosen = [path for path in vectors() if bench == "ahasd_top" and path.stem in TIMES]
    result = bench_result(bench, simulator, 3, vectors=chosen, verilog=verilog)
    assert result.failed == {}
    assert result.missed == []

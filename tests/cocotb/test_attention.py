"""The attention unit's bench on its generated Verilog: random commands, vectors of 262144 elements."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ahasd.sim.benches.runner import bench_result
from ahasd.synth.emit import write_verilog

ICARUS = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
SIMULATORS = ["verilator", pytest.param("icarus", marks=[ICARUS, pytest.mark.slow])]


@pytest.mark.hdl
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_attention_unit(simulator: str, tmp_path: Path) -> None:
    result = bench_result(
        "attention_unit", simulator, 5, verilog=write_verilog("attention_unit", tmp_path)[0]
    )
    assert result.failed == {}
    assert result.missed == []

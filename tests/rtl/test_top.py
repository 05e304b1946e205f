"""The top's Verilog: ports that integrators rely on, clean, and the same text every time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ahasd.rtl.registers.generate import HEADER
from ahasd.rtl.top import AhasdTop
from ahasd.synth.emit import emit_verilog, write_verilog
from ahasd.synth.lint import lint

INPUTS = {
    "mem_clk": 1, "mem_rst": 1, "core_clk": 1, "npu_clk": 1, "npu_rst": 1, "axi__awaddr": 12,
    "axi__awprot": 3, "axi__awvalid": 1, "axi__wdata": 32, "axi__wstrb": 4, "axi__wvalid": 1,
    "axi__bready": 1,
    "axi__araddr": 12, "axi__arprot": 3, "axi__arvalid": 1, "axi__rready": 1, "token__payload": 27,
    "token__valid": 1, "result__payload": 24, "result__valid": 1, "task__ready": 1, "rank_busy": 16,
    "rank_closed": 16, "target_grant": 1, "commit__ready": 1, "verify__ready": 1, "feedback__payload": 24,
    "feedback__valid": 1,
}  # fmt: skip
OUTPUTS = {
    "clk_req": 1, "axi__awready": 1, "axi__wready": 1, "axi__bresp": 2, "axi__bvalid": 1, "axi__arready": 1,
    "axi__rdata": 32, "axi__rresp": 2, "axi__rvalid": 1, "irq": 1, "token__ready": 1, "result__ready": 1,
    "task__payload": 26, "task__valid": 1, "abort": 1, "rank_enable": 16, "target_request": 1,
    "commit__payload": 19, "commit__valid": 1, "verify__payload": 26, "verify__valid": 1,
    "feedback__ready": 1, "npu_flush": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def text() -> str:
    return emit_verilog(AhasdTop(), "ahasd_top")


def test_ports(text: str) -> None:
    body = text[text.index("module ahasd_top(") :].split("endmodule")[0]
    pattern = r"^  (input|output) (?:\[(\d+):0\] )?\\?([\w.]+) ?;"
    found: dict[str, dict[str, int]] = {"input": {}, "output": {}}
    for direction, high, name in re.findall(pattern, body, flags=re.MULTILINE):
        found[direction][name] = int(high or 0) + 1
    assert found == {"input": INPUTS, "output": OUTPUTS}


def test_every_port_is_in_the_integration_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "integration.md").read_text(encoding="utf-8")
    for port in {**INPUTS, **OUTPUTS}:
        name = port.split("__")[0]
        assert f"`{name}`" in guide, name


def test_timing_diagrams_are_well_formed() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "integration.md").read_text(encoding="utf-8")
    diagrams = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", guide, flags=re.DOTALL)]
    assert len(diagrams) == 3
    for diagram in diagrams:
        assert len({len(signal["wave"]) for signal in diagram["signal"]}) == 1


@pytest.mark.hdl
def test_lint_is_clean(tmp_path: Path) -> None:
    files = write_verilog("ahasd_top", tmp_path)
    assert lint(files[0], "ahasd_top") == []
    assert [file.suffix for file in files] == [".sv", ".core", ".vlt", ".h"]
    assert files[3].read_text(encoding="utf-8") == HEADER.read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", ["0", "77"])
def test_the_same_text_every_time(text: str, seed: str) -> None:
    script = (
        "from ahasd.rtl.top import AhasdTop\n"
        "from ahasd.synth.emit import emit_verilog\n"
        "print(emit_verilog(AhasdTop(), 'ahasd_top'), end='')\n"
    )
    environment = os.environ | {"PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout == text

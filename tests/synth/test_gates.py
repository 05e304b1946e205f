"""Timing, power and equivalence of mapped netlists: small components, and one block of the control unit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from amaranth.lib.wiring import Component

from ahasd.models.errors import ConfigError, ToolError
from ahasd.synth import equivalence
from ahasd.synth.area import area
from ahasd.synth.emit import write_verilog
from ahasd.synth.flow import Netlist, Synthesise
from ahasd.synth.gates import block_of, source_name
from ahasd.synth.liberty import read_library
from ahasd.synth.nldm import Table, cell_timing, wire_load
from ahasd.synth.opensta import find_sta
from ahasd.synth.timing import timing
from ahasd.synth.tools import find_liberty, find_yosys, relative

pytestmark = pytest.mark.hdl

DISTANCE = 0.05
"""Of the own estimate from OpenSTA; docs/synthesis.md has the measured ones, all below 5 %."""


@pytest.mark.parametrize(
    ("name", "plain", "block"),
    [
        ("queue._12_", "queue._12_", "queue"),
        ("a.queue.u.a.queue___storage__.table[3]", "a.queue.table[3]", "a.queue"),
        ("queue.u.queue___storage__.t.word[1].slave[0].latch", "queue.t.word[1].slave[0].latch", "queue"),
        ("queue___storage__.table[0]", "table[0]", ""),
        ("_7_", "_7_", ""),
    ],
)
def test_names_of_the_source(name: str, plain: str, block: str) -> None:
    assert source_name(name) == plain
    assert block_of(name) == block


def test_table_between_and_beyond_its_points() -> None:
    table = Table((0.0, 1.0), (0.0, 2.0), ((0.0, 2.0), (10.0, 12.0)))
    assert table(0.5, 1.0) == pytest.approx(6.0)
    assert table(2.0, 4.0) == pytest.approx(24.0)
    assert Table((), (), ((3.0,),))(7.0, 7.0) == 3.0


def test_library_tables() -> None:
    """Hand-read from the library: an inverter's corner, the flip-flop's setup, the default wire load."""
    library = read_library(find_liberty())
    timings = cell_timing(library)
    (setup,) = timings["DFF_X1"].setups
    assert setup.tables[1](0.00117378, 0.00117378) == pytest.approx(0.036831)
    arc = next(a for a in timings["AOI21_X1"].arcs if a.source == "A")
    assert arc.delay[1](0.00117378, 0.365616) == pytest.approx(0.006955)
    assert wire_load(library)(1) == pytest.approx(0.1774 * 1.746)


def test_period_follows_the_logic(small: Component) -> None:
    report = timing(small, "tiny", engine="own")
    top = report.blocks[0]
    assert 0.2 < top.period_ns < 1.0
    assert top.fmax_mhz == pytest.approx(1000 / top.period_ns, rel=1e-3)
    assert [step.at_ns for step in top.path] == sorted(step.at_ns for step in top.path)
    document = report.to_dict()
    assert document["dram_process"]["period_ns"] == pytest.approx(3 * top.period_ns, abs=1e-3)
    assert {"name", "period_ns", "fmax_mhz", "path"} <= document["blocks"][0].keys()


@pytest.mark.skipif(find_sta() is None, reason="OpenSTA is not installed")
@pytest.mark.parametrize("block", ["tiny", "entropy_average", "task_scheduler"])
def test_own_estimate_near_opensta(small: Component, block: str) -> None:
    def measure(engine: str) -> float:
        if block == "tiny":
            return timing(type(small)(), "tiny", engine=engine).blocks[0].period_ns
        return timing(block, engine=engine).blocks[0].period_ns

    assert measure("own") == pytest.approx(measure("opensta"), rel=DISTANCE)


def test_unknown_engine_and_storage(small: Component) -> None:
    with pytest.raises(ConfigError, match="auto, opensta, own"):
        timing(small, "tiny", engine="guess")
    with pytest.raises(ConfigError, match="flops, latches"):
        area(small, "tiny", storage="dram")


def test_latches_are_smaller_than_flops() -> None:
    flops, latches = area("batch_list"), area("batch_list", storage="latches")
    bits = 8 * (16 + 1) + 8 * (3 + 9)
    assert flops.bits == latches.bits == {"batch_list": bits}
    words, held = 8 + 8, 17 + 12  # clock gates, shared masters
    assert latches.total["latches"] == bits + words + held
    assert latches.total["flops"] == flops.total["flops"] - bits
    assert latches.total["storage_um2"] < 0.7 * flops.total["storage_um2"]


def test_equivalence_is_proven() -> None:
    result = equivalence.prove("entropy_average")
    assert result.holds
    registers, outputs = 12 + 5 + 3 + 2, 5 + 3  # sum, count, bucket, step; count, bucket
    assert result.pairs == registers + outputs
    assert result.unpaired == ()


@pytest.mark.slow
@pytest.mark.parametrize("block", ["draft_queue", "control_unit"])
def test_equivalence_of_the_largest(block: str) -> None:
    assert equivalence.prove(block).holds


def _spoilt(monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]) -> None:
    """Every netlist that is made is changed by ``change`` before anyone reads it."""
    run = Synthesise.run

    def wrong(self: Synthesise) -> Netlist:
        netlist = run(self)
        netlist.verilog.write_text(change(netlist.verilog.read_text()))
        return netlist

    monkeypatch.setattr(Synthesise, "run", wrong)


def test_equivalence_finds_a_wrong_gate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def swap(text: str) -> str:
        kind = "NAND2_X1" if "NAND2_X1" in text else "NOR2_X1"
        swapped = "NOR2_X1" if kind == "NAND2_X1" else "NAND2_X1"
        return text.replace(f"  {kind} ", f"  {swapped} ", 1)

    _spoilt(monkeypatch, swap)
    result = equivalence.prove("entropy_history", cache=tmp_path)
    assert not result.holds
    assert result.differ


def test_equivalence_finds_an_open_pin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A register that nothing drives any more."""
    _spoilt(monkeypatch, lambda text: re.sub(r"\.D\([^)]*\)", ".D()", text, count=1))
    assert len(equivalence.prove("entropy_history", cache=tmp_path).differ) == 1


def test_cell_models_refuse_latches() -> None:
    library = read_library(find_liberty())
    assert "assign ZN = !(A | (B1 & B2));" in equivalence.cell_models(library, {"AOI21_X1"})
    with pytest.raises(ToolError, match="latch or clock gate"):
        equivalence.cell_models(library, {"DLH_X1"})


@pytest.mark.parametrize("block", ["task_scheduler", "control_unit"])
def test_area_near_a_plain_script_on_the_verilog(block: str, tmp_path: Path) -> None:
    """The generated SystemVerilog through a script written by hand, with the same ABC commands."""
    verilog = next(path for path in write_verilog(block, tmp_path) if path.suffix == ".sv")
    (tmp_path / "abc.constr").write_text("set_driving_cell INV_X1\nset_load 6.8 [all_outputs]\n")
    liberty = relative(find_liberty(), tmp_path)
    mapped = f"abc -liberty {liberty} -constr abc.constr -script +strash;dch;"
    script = (
        f"read_verilog -sv {verilog.name}\nhierarchy -top {block}\nproc\nopt\nmemory -nomap\n"
        'setattr -set submod "array" */t:$mem_v2\nsubmod\n'
        f"synth -top {block} -booth -noabc\ndfflibmap -liberty {liberty}\nopt\n"
        f"{mapped}map,-B,0.9,-D,500;topo;buffer,-c;topo;upsize,-D,500;dnsize,-D,500 * *_array %d\n"
    )
    if block == "control_unit":  # the one with memory arrays
        script += f"{mapped}amap;topo;buffer,-c,-N,16;topo;upsize,-D,250;dnsize,-D,250 *_array\n"
    script += f"opt_clean -purge\ntee -q -o stat.json stat -json -liberty {liberty}\n"
    (tmp_path / "plain.ys").write_text(script)
    find_yosys().run(tmp_path, "plain.ys")
    plain = json.loads((tmp_path / "stat.json").read_text())["modules"][f"\\{block}"]["area"]
    assert area(block).total["um2"] == pytest.approx(plain, rel=0.02)

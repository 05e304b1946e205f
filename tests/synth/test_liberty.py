"""Liberty reader and its Boolean expressions."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from ahasd.models.errors import ToolError
from ahasd.synth.boolean import evaluate
from ahasd.synth.liberty import parse_liberty, read_library
from ahasd.synth.scale import scaling
from ahasd.synth.tools import find_liberty

_LIBRARY = """
/* a comment with { and cell (X) { */
library(toy) {
  capacitive_load_unit (1,pf);
  cell (INV) { area : 16; pin(A) { direction : input; capacitance : 0.01; }
    pin(Y) { direction : output; function : "(!A)"; timing() { values ("1, 2", \\
      "3, 4"); } } }
  cell ("ND2") { area : 24.5; pin(A) { direction : input } pin(B) { direction : input; }
    pin(Y) { direction : output; function : "(A B)'"; } }
  cell (NOR) { area : 8; pin(A) { direction : input; } pin(B) { direction : input; }
    pin(Y) { direction : output; function : "(A+B)'"; } }
  cell (DFF) { area : 96; ff (IQ,IQN) { next_state : "D"; clocked_on : "CK"; } pin(D) { direction : input; }
    pin(CK) { direction : input; clock : true; } pin(Q) { direction : output; function : "IQ"; } }
  cell (LAT) { area : 60; latch ("IQ" , "IQN") { data_in : "D"; enable : "G"; } }
  cell (FILL) { area : 1; dont_use : true; }
}
"""


def test_toy(tmp_path: Path) -> None:
    path = tmp_path / "toy.lib"
    path.write_text(_LIBRARY)
    library = read_library(path)
    assert library.name == "toy"
    assert library.femtofarad == 1000
    assert library.node_nm is None
    assert (library.nand2.name, library.nand2.area) == ("ND2", 24.5)
    assert (library.inverter.name, library.inverter.inputs) == ("INV", {"A": 0.01})
    assert [name for name, cell in library.cells.items() if cell.flop] == ["DFF"]
    assert [name for name, cell in library.cells.items() if cell.latch] == ["LAT"]
    assert [name for name, cell in library.cells.items() if cell.dont_use] == ["FILL"]
    assert [way.name for way in scaling(library)] == ["measured"]


@pytest.mark.hdl
def test_nangate() -> None:
    library = read_library(find_liberty())
    assert (library.name, library.node_nm, len(library.cells)) == ("NangateOpenCellLibrary", 45, 135)
    assert (library.nand2.name, library.nand2.area, library.inverter.name) == ("NAND2_X1", 0.798, "INV_X1")
    assert library.cells["DFF_X1"].flop
    assert library.cells["CLKGATE_X1"].latch
    measured, ideal = scaling(library)
    assert measured.factor == pytest.approx(0.61)
    assert ideal.factor == pytest.approx(0.387, abs=0.0005)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("library (x) {", "is not closed"),
        ("library (x) { } }", "closing brace too many"),
        ("hello", "one library group"),
        ("library (x) { cell (y) { area : 0; } }", "no cell with an area"),
        ("library (x) { cell (y) { area : big; } }", "not a Liberty library"),
    ],
)
def test_bad_files(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.lib"
    path.write_text(text)
    with pytest.raises(ToolError, match=reason) as caught:
        read_library(path)
    assert "\n" not in str(caught.value)
    assert "bad.lib" in str(caught.value)


def test_parse_keeps_attributes() -> None:
    group = parse_liberty('library (x) { a : 1; b : "two words"; c (3, "4"); g ("n") { d : e; } }')
    assert group.attributes == {"a": "1", "b": "two words", "c": '3, "4"'}
    assert [(sub.kind, sub.name, sub.attributes) for sub in group.groups] == [("g", "n", {"d": "e"})]


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("!(A & B)", "not (a and b)"),
        ("(A B)' C", "(not (a and b)) and c"),
        ("A + B*C", "a or (b and c)"),
        ("A ^ B C", "(a ^ b) and c"),
        ("!A'|!!B", "a or b"),
        ("(A !B)|((C))", "(a and not b) or c"),
        ("1 A + 0", "a"),
    ],
)
def test_expressions(text: str, python: str) -> None:
    for a, b, c in itertools.product((False, True), repeat=3):
        assert evaluate(text, {"A": a, "B": b, "C": c}) == eval(python, {"a": a, "b": b, "c": c})


@pytest.mark.parametrize("text", ["", "A &", "(A", "A)", "D", "A ! "])
def test_bad_expressions(text: str) -> None:
    with pytest.raises(ValueError, match=r"unexpected|not closed"):
        evaluate(text, {"A": True})

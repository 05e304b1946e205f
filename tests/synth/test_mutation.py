"""What mutants are tested with: the netlist's additions, recorded events, the proof of equality."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ahasd.models.control.coverage import coverage
from ahasd.models.replay import GoldenUnit, first_difference, replay
from ahasd.rtl.control_unit import ControlUnit
from ahasd.synth.emit import emit_rtlil
from ahasd.synth.mutation.border import border_runs
from ahasd.synth.mutation.equal import equal
from ahasd.synth.mutation.library import MutantLibrary
from ahasd.synth.mutation.netlist import with_back_door, with_output_buffers
from ahasd.synth.mutation.stateless import stateless
from ahasd.synth.tools import find_yosys

REGISTER = """\
module \\control_unit
  wire width 32 output 3 \\counters
  wire input 1 \\clk
  wire width 32 \\event_counters.tokens
  cell $dff $1
    parameter \\WIDTH 32
    parameter \\CLK_POLARITY 1
    connect \\D $2
    connect \\CLK \\clk
    connect \\Q \\event_counters.tokens
  end
  connect \\counters \\event_counters.tokens
end
"""


def test_counters_get_a_load_input() -> None:
    changed = with_back_door(REGISTER, 1)
    assert (
        "    connect \\A $2\n    connect \\B \\backdoor_value\n    connect \\S \\backdoor_load\n" in changed
    )
    assert "    connect \\D $backdoor$1\n" in changed
    with pytest.raises(RuntimeError, match="1 counters found"):
        with_back_door(REGISTER, 11)


def test_outputs_get_a_buffer() -> None:
    changed = with_output_buffers(REGISTER)
    assert "  wire width 32 \\counters__inner\n" in changed
    assert "  connect \\counters__inner \\event_counters.tokens\n" in changed
    assert changed.count("output") == 1
    assert "    connect \\A \\counters__inner\n    connect \\Y \\counters\n" in changed


def test_border_runs_are_recordings_that_ask_the_timer() -> None:
    runs = list(border_runs(12, 200))
    for run in runs:
        assert first_difference(run, replay(run, GoldenUnit())) is None
    bins = coverage(runs)
    for name in ("time for none", "time for some", "no time left"):
        assert bins[f"timer: {name}"] > 5


@pytest.mark.hdl
def test_equality_is_proved_and_refused() -> None:
    """`dropped` may be measured at any time, but it must be measured."""
    folder = Path("build/test-mutation")  # the tool does not see the temporary folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "unit.il").write_text(emit_rtlil(ControlUnit(), "control_unit"), encoding="utf-8")
    (folder / "flow.ys").write_text(
        "read_rtlil unit.il\nproc\nflatten\nopt_clean -purge\nwrite_rtlil flat.il\n",
        encoding="utf-8",
    )
    find_yosys().run(folder)
    flat = (folder / "flat.il").read_text(encoding="utf-8")
    cell = re.search(r"cell \$mux (\S+)\n(?:    .*\n)*?    connect \\S \\draft_queue.measure\n", flat)
    assert cell is not None
    mutations = tuple(
        f"mutate -mode {mode} -module control_unit -cell {cell[1]} -port S -portbit 0"
        for mode in ("const1", "const0")
    )
    unit = stateless(MutantLibrary(Path(), folder / "flat.il", mutations))
    assert "measured in the cycle before" in equal(unit, 1)
    assert equal(unit, 2) == ""

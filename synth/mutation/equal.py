"""Proof that a mutant cannot be told from the unit: one step of induction on both, by Yosys' SAT solver.

Inputs are shared and free, reset included; so is what memories return, and what they are given must be equal,
so that equal memories stay equal. Registers are equal, all of them or all but one, see :data:`LOOSE`. That
holds at power-up, and if it holds in a cycle it holds in the next: then it always holds, and with it equality
of all outputs.
"""

# amaranth: UnusedElaboratable=no

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ahasd.rtl.control_unit import ControlUnit
from ahasd.synth.formal.opened import Opened
from ahasd.synth.mutation.library import SELECT
from ahasd.synth.mutation.stateless import Stateless
from ahasd.synth.results import cache_root
from ahasd.synth.tools import find_yosys

__all__ = ["equal"]

TIMEOUT_S = 300


@dataclass(frozen=True)
class _Loose:
    """A register that may differ, ``why`` it is not seen, and what ``holds`` of unit (g) and mutant (m)."""

    register: str
    why: str
    holds: tuple[str, ...]


_COMMITTING = "COMMIT RETIRE RETIRING FLUSH"
_AHEAD = (
    "({{{0} draft_queue.checked}} > {{g draft_queue.head}}"
    " ? {{{0} draft_queue.checked}} : {{g draft_queue.head}})"
)
LOOSE = (
    _Loose("", "equal in every register", ("!({g running} && {g fresh})",)),
    _Loose(
        "event_last",
        "its last mark is used in CHECK_TOKEN only, and taken in the cycle before",
        ("!{in CHECK_TOKEN} || {g event_last} == {m event_last}",),
    ),
    _Loose(
        "draft_queue.dropped",
        "used in FLUSH and FIX only, and measured in the cycle before",
        ("!{in FLUSH FIX} || {g draft_queue.dropped} == {m draft_queue.dropped}",),
    ),
    _Loose(
        "entropy_average.total",
        "the division looks at multiples of 32 only, and leaves zero",
        (
            "{g entropy_average.total} >> 5 == {m entropy_average.total} >> 5",
            "{g entropy_average.step} != 0 || {g entropy_average.total} == {m entropy_average.total}",
        ),
    ),
    _Loose(
        "draft_queue.checked",
        "not looked at while a commit moves `head`, and at least `head` after it",
        (
            "{in DECIDE} || {g task_scheduler.fsm_state} == 0",
            "!{g stopping} || {g task_scheduler.fsm_state} == 0",
            "!{in RETIRE RETIRING FLUSH} || {g draft_queue.head} == {g place} + 16'd1",
            "!{in SCAN HOLDER FIX} || {g place} >= {g draft_queue.head}",
            f"{{in {_COMMITTING}}} || {{g draft_queue.checked}} >= {{g draft_queue.head}}",
            f"{{in {_COMMITTING}}} || {{g draft_queue.checked}} == {{m draft_queue.checked}}",
            f"{_AHEAD.format('g')} == {_AHEAD.format('m')}",
        ),
    ),
    _Loose(
        "predictor.pht.upward",
        "used two cycles after an operation only; held in between, the inversion goes away",
        (
            "{in DECIDE} || {g task_scheduler.fsm_state} == 0",
            "!{g stopping} || {g task_scheduler.fsm_state} == 0",
            "!({g predictor.pht.training} & 1) || {in RETIRING DECIDE}",
            "!({g predictor.pht.training} & 1) || {g task_scheduler.fsm_state} == 0",
            "!({g predictor.pht.training} & 1) || {g predictor.pht.upward} == {m predictor.pht.upward}",
            "!({g predictor.pht.training} & 2) || {g predictor.pht.upward} != {m predictor.pht.upward}",
        ),
    ),
)
"""Tried one after the other; the first lets no register differ."""

ASSUMED = ("{g draft_queue.head} < 16'd65024", "!{in FIX} || {g place} != 16'hFFFF")
"""As in docs/formal.md: software stops a sequence before its positions run out; no fix is at the last one."""

_SCRIPT = """\
read_rtlil unit.il
read_verilog -formal -sv top.v
hierarchy -top top
proc
flatten
chformal -lower
opt -share_all
tee -o sat.log sat -prove-asserts -set-assumes -timeout {timeout} top
"""


def equal(unit: Stateless, mutant: int) -> str:
    """Why mutant number ``mutant`` does nothing that can be seen; empty if that is not proved."""
    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="tmp-equal-", dir=root))  # YoWASP does not see the temporary folder
    try:
        (folder / "unit.il").write_text(unit.rtlil, encoding="utf-8")
        (folder / "flow.ys").write_text(_SCRIPT.format(timeout=TIMEOUT_S), encoding="utf-8")
        for loose in LOOSE:
            (folder / "top.v").write_text(_top(unit, mutant, loose), encoding="utf-8")
            find_yosys().run(folder)
            if "no model found: SUCCESS" in (folder / "sat.log").read_text(encoding="utf-8"):
                return loose.why
        return ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _top(unit: Stateless, mutant: int, loose: _Loose) -> str:
    """Unit and mutant side by side, with what is assumed and what is to be proved."""
    apart = f"q.{loose.register}"
    inputs = {name: width for name, (direction, width) in unit.ports.items() if direction == "input"}
    outputs = {name: width for name, (direction, width) in unit.ports.items() if direction == "output"}
    heads = [f"input [{width - 1}:0] \\{name} " for name, width in inputs.items()]
    if apart in inputs:
        heads.append(f"input [{inputs[apart] - 1}:0] \\m.{apart} ")
    lines = [f"module top({', '.join(heads)});"]
    for side, number in (("g", 0), ("m", mutant)):
        lines += [f"wire [{width - 1}:0] \\{side}.{name} ;" for name, width in outputs.items()]
        pins = [f".{SELECT}({unit.width}'d{number})"]
        pins += [f".\\{n} (\\{'m.' if n == apart and side == 'm' else ''}{n} )" for n in inputs]
        pins += [f".\\{n} (\\{side}.{n} )" for n in outputs]
        lines.append(f"control_unit {side}_unit({', '.join(pins)});")

    def now(side: str, name: str) -> str:
        return f"\\m.{apart} " if side == "m" and name == loose.register else f"\\q.{name} "

    def later(side: str, name: str) -> str:
        return f"\\{side}.d.{name} "

    def first(side: str, name: str) -> str:
        return f"{inputs[f'q.{name}']}'d{unit.initial[name]}"

    lines.append("always @* begin")
    lines += [f"assume ({_filled(text, now)});" for text in (*ASSUMED, *loose.holds)]
    lines += [f"assert ({_filled(text, place)});" for text in loose.holds for place in (later, first)]
    lines += [f"assert ({_same(name)});" for name in outputs if name != f"d.{loose.register}"]
    return "\n".join([*lines, "end", "endmodule", ""])


def _same(name: str) -> str:
    """Equal on both sides where it counts: a commit while valid, a memory's write port while enabled."""
    both = f"\\g.{name}  == \\m.{name} "
    stem, _, port = name.rpartition(".")
    if port in ("WR_ADDR", "WR_DATA"):
        return f"!(|\\g.{stem}.WR_EN ) || {both}"
    return f"!\\g.commit__valid  || {both}" if name == "commit__payload" else both


def _filled(text: str, place: Callable[[str, str], str]) -> str:
    """With ``{g NAME}``, ``{m NAME}`` and ``{in STATES}`` filled in."""

    def fill(match: re.Match[str]) -> str:
        kind, *names = match[1].split()
        if kind != "in":
            return place(kind, names[0])
        states = " || ".join(f"{place('g', 'fsm_state')} == {_states()[name]}" for name in names)
        return f"({states})"

    return re.sub(r"\{(\w+ [^}]*)\}", fill, text)


@cache
def _states() -> dict[str, int]:
    return Opened(ControlUnit()).states("")[1]

"""That what the control unit's properties speak of happens at all: reached from reset, on a small unit.

The unit is small (:data:`SMALL`) and led: a fixed configuration, tokens that end their batches. Leading only
takes away behaviour, so what is reached is reachable.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Signal

from ahasd.models.control.params import UnitParams
from ahasd.synth.formal.bench import Bench
from ahasd.synth.formal.unit_view import UnitView

__all__ = [
    "SMALL",
    "cover_clock_request",
    "cover_flush",
    "cover_holding",
    "cover_progress",
    "cover_queue",
    "cover_seven_batches",
    "cover_tasks",
    "cover_verifications",
    "cover_violations",
]

SMALL = UnitParams(
    queue_depth=8,
    token_bits=2,
    entropy_bits=2,
    max_draft=1,
    verify_max=2,
    preverify_max=2,
    bucket_bits=1,
    history=2,
    cycle_entries=2,
    ratio_bits=12,
    duration_bits=4,
    time_bits=8,
    position_bits=10,
    context_bits=3,
    counter_bits=4,
    sequence_limit=200,
)
"""Few entries to initialise, short divisions: events follow each other in some twenty cycles."""


def _led(
    bench: Bench, *, verdicts: bool = False, wrong: bool = False, slow: bool = False, drafts: bool = True
) -> UnitView:
    """A unit that is started once, with a PIM that drafts tokens 0 one after the other.

    With ``verdicts`` the NPU answers when two batches are closed, with ``wrong`` it refuses; with ``slow``
    the host takes no commit; without ``drafts`` the PIM is silent.
    """
    view = UnitView(bench)
    unit: Any = view.unit
    config = unit.config
    values = {"edc": 0, "tvc": 0, "suppress_preverify": 0, "verify_all": 1, "prompt_token": 1, "context": 1}
    values |= {"max_draft": 1, "verify_max": 2, "preverify_max": 2}
    values |= dict.fromkeys(("npu_preset", "draft_preset", "preverify_preset"), 0)
    for name, value in values.items():
        bench.assume(config[name] == value)
    bench.assume((unit.token.valid == (1 if drafts else 0)) & unit.token.payload.last)
    bench.assume((unit.token.payload.entropy == 0) & (unit.token.payload.id == 0))
    bench.assume(~unit.result.valid & (unit.result.payload.as_value() == 0))
    bench.assume(unit.feedback.payload.accepted == (0 if wrong else 1))
    bench.assume(unit.feedback.payload.next == (1 if wrong else 0))
    answers = view.npu_busy & ~bench.signal("verify_sender.busy") & (view.count > 1)
    bench.assume(unit.feedback.valid == (answers if verdicts else 0))
    started = Signal(name="started")
    with bench.m.If(unit.command.start):
        bench.m.d.sync += started.eq(1)
    idle = view.at("IDLE")
    bench.assume(unit.command.as_value()[1:] == 0)
    bench.assume(unit.command.start == (idle & ~started))
    bench.assume(unit.now == 0)
    bench.assume(unit.verify.ready & unit.task.ready)
    bench.assume(unit.commit.ready == (0 if slow else 1))
    return view


def cover_seven_batches(bench: Bench) -> None:
    view = _led(bench)
    bench.reach("seven batches are closed", view.count == view.params.batches)


def cover_queue(bench: Bench) -> None:
    view = _led(bench, verdicts=True)
    bench.reach(
        "tokens are queued beyond a commit", (view.head > 0) & (view.tail > view.head) & view.at("DECIDE")
    )


def cover_verifications(bench: Bench) -> None:
    view = _led(bench, verdicts=True)
    first = Signal(name="first_answered")
    with bench.m.If(view.at("FLUSH", "RETIRE")):
        bench.m.d.sync += first.eq(1)
    bench.reach("a second verification is asked for", first & view.unit.verify.valid)


def cover_tasks(bench: Bench) -> None:
    view = _led(bench)
    bench.reach("a second task is asked for", (view.count == 1) & view.unit.task.valid)


def cover_flush(bench: Bench) -> None:
    view = _led(bench, verdicts=True, wrong=True)
    bench.reach("a flush drops batches", view.at("FLUSH") & (view.count > 1))


def cover_holding(bench: Bench) -> None:
    view = _led(bench, verdicts=True, slow=True)
    waits = view.unit.commit.valid & ~view.unit.commit.ready
    bench.reach("a commit waits", waits & bench.past(waits, "waits"))


def cover_clock_request(bench: Bench) -> None:
    view = _led(bench, drafts=False)
    bench.reach("the clock may stand", ~view.unit.clk_req & view.running)


def cover_violations(bench: Bench) -> None:
    view = UnitView(bench)
    cause = bench.signal("cause")
    bench.reach("a verdict that nobody asked for", cause[0])
    bench.reach("a token that nobody asked for", cause[2])
    bench.reach("a result that nobody asked for", cause[3])
    bench.reach("an abort that was not", cause[5])
    bench.reach("a refused configuration", cause[7] & ~view.running)


def cover_progress(bench: Bench) -> None:
    view = _led(bench, verdicts=True)
    both = view.running & ~view.npu_busy & ~view.task_busy
    bench.reach("both are idle", both & view.at("DECIDE"))

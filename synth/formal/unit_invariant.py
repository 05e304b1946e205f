"""The control unit's invariant: what holds in every reachable state, written so that one step proves it.

It is proved by itself, from reset, and the properties may then take it for granted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Cat, Value

from ahasd.synth.formal.bench import Bench
from ahasd.synth.formal.unit_view import AVERAGING, CLOSING, FEEDBACK, FIXING, MOVING, UnitView

__all__ = ["GROUPS", "assume_invariant", "prove_group"]

State = Callable[[str, Any, Any], None]
"""Called with a name, a premise and a conclusion."""

TAKING_TOKEN = ("TAKE_TOKEN", "CHECK_TOKEN")
TAKING_RESULT = ("TAKE_RESULT", "CHECK_RESULT")
TAKING_FEEDBACK = ("TAKE_FEEDBACK", "CHECK_FEEDBACK")
TAKING = (*TAKING_TOKEN, *TAKING_RESULT, *TAKING_FEEDBACK)
RESTING = ("INITIALISE", "INITIALISING", "IDLE", *TAKING, "START", "STOP", "CLEAR")
"""States in which no background work of the timer can be left."""


def _holds(premise: Any, conclusion: Any) -> Value:
    return ~Value.cast(premise).bool() | Value.cast(conclusion).bool()


def prove_group(bench: Bench, group: str) -> None:
    """One group of the invariant as checks.

    The step of the induction is split by conclusions: if the whole invariant holds in one state, this group
    holds in the next. Together the groups prove the whole.
    """
    view = UnitView(bench)
    view.environment()
    others: list[Value] = []
    for name, states in GROUPS.items():
        if name == group:
            states(view, bench.implies)
        else:
            states(view, lambda _, premise, conclusion: others.append(_holds(premise, conclusion)))
    bench.assume(bench.first_cycle | bench.past(Cat(*others).all(), "others"))


def assume_invariant(bench: Bench) -> UnitView:
    """The invariant, proved by its groups, as an assumption."""
    view = UnitView(bench)
    view.environment()
    for states in GROUPS.values():
        states(view, lambda _, premise, conclusion: bench.assume(_holds(premise, conclusion)))
    return view


def _machines(v: UnitView, state: State) -> None:
    """The unit's state machine against its parts'."""
    signal, average = v.bench.signal, v.bench.signal("entropy_average.step")
    for part in ("", "task_scheduler", "preverify_timer"):
        register, known = v.bench.opened.states(part)
        state(f"a state of {part or 'the unit'}", 1, register < len(known))
    state("scheduler works in DECIDE", ~v.deciding("IDLE"), v.at("DECIDE") & ~v.stopping)
    for k, name in enumerate(AVERAGING):
        state(f"average in {name}", v.at(name), average == len(AVERAGING) - k)
    state("average rests", ~v.at(*AVERAGING), average == 0)
    state("averaging has tokens", v.at(*AVERAGING), v.open > 0)
    state("ring is left alone", v.write_ring, v.at("START", "CHECK_TOKEN", "FLUSH", "FIX"))
    answer = ("CHECK_FEEDBACK", *FEEDBACK, "CHECK_RESULT", "CHECKED", *FIXING)
    state("ring is written in place", v.at(*answer, "START"), signal("in_place"))
    state("ring is written", v.at("FLUSH", "FIX"), v.write_ring)
    state("ring is written at tail", v.at("CHECK_TOKEN"), (v.write_ring == v.drafting) & ~signal("in_place"))
    reads = v.at("READ", "COMPARE", "COMMIT")
    state("ring is read by a verdict", 1, signal("event_reads") == reads)
    for sender in ("verify_sender", "task_sender"):
        loading, left = signal(f"{sender}.loading"), signal(f"{sender}.left")
        state(f"{sender} loads", loading, (left > 0) & ~signal(f"{sender}.o__valid"))
    state("stopping runs", v.stopping, v.running)
    state("running is configured", v.running, v.config_valid)
    state("start decides", v.at("LOADING", "DECIDE"), v.running)
    state("events of a sequence", v.at(*CLOSING, *FEEDBACK, "CHECKED", *FIXING), v.running)
    state("nothing while initialising", v.at("INITIALISE", "INITIALISING"), ~v.running)
    state("clearing", v.at("CLEARING"), ~v.running)
    state("loading a fresh start", v.at("LOADING"), ~v.stopping)
    state("closing is no stopping", v.at(*CLOSING, "CHECKED", *FIXING), ~v.stopping)


def _outstanding(v: UnitView, state: State) -> None:
    """The verification and the task."""
    signal = v.bench.signal
    verify_sending, task_sending = signal("verify_sender.busy"), signal("task_sender.busy")
    state("idle unless running", ~v.running, ~v.npu_busy & ~v.task_busy)
    state("aborting a task", v.aborting, v.task_busy)
    state("stopping aborts", v.stopping & v.task_busy, v.aborting)
    state("verify sender works for NPU", verify_sending, v.npu_busy)
    state("task sender works for PIM", task_sending, v.task_busy)
    state("verdict after its request", v.at(*TAKING_FEEDBACK), ~verify_sending)
    state("answer after its request", v.at(*TAKING_TOKEN, *TAKING_RESULT), ~task_sending)
    state("no task in between", v.at(*CLOSING, "CHECKED", *FIXING, "LOADING"), ~v.task_busy)
    state("no verification in between", v.at(*FEEDBACK, "LOADING"), ~v.npu_busy)
    state("scheduler has no task", v.deciding("LOOK", "ANSWER", "TIMER", "WAIT"), ~v.task_busy)
    looks = v.deciding("LOOK", "ANSWER", "TIMER", "WAIT")
    room = v.count < v.params.batches
    state("scheduler looks", looks, v.npu_busy & v.count.any() & ~v.trusted & room)
    state("verification is issued", v.deciding("TASK"), v.npu_busy | ~v.count.any())
    waits = v.at("IDLE", *TAKING, "DRAIN", "START", "STOP", "CLEAR") & v.running & ~v.stopping
    state("something is outstanding", waits, v.npu_busy | v.task_busy)
    state("issued", v.npu_busy, (v.issued >= 1) & (v.issued <= v.params.verify_max))


def _predictor(v: UnitView, state: State) -> None:
    """The predictor's pipeline against the states that use it."""
    looking, training = v.bench.signal("predictor.pht.looking"), v.bench.signal("predictor.pht.training")
    first, second = v.at("CLOSING") | v.deciding("LOOK"), v.at("CLOSED") | v.deciding("ANSWER")
    state("look-up, first cycle", looking[0], first)
    state("look-up, second cycle", looking[1], second)
    decides = v.at("DECIDE") & v.deciding("IDLE")
    state("training, first cycle", training[0], v.at("RETIRING") | decides)
    state("training, second cycle", training[1], v.at("RETIRE", "DRAIN") | v.deciding("VERIFY"))
    state("training is over", training[0], ~training[1])
    state("table is cleared", v.bench.signal("predictor.pht.busy"), v.at("INITIALISING", "CLEARING"))


def _timer(v: UnitView, state: State) -> None:
    """The timer and its arithmetic."""
    signal = v.bench.signal
    step, bits = signal("preverify_timer.step"), signal("preverify_timer.arithmetic.steps")
    most, tokens = signal("preverify_timer.most"), signal("preverify_timer.tokens")
    multiply_at = v.params.cycle_entries + 1
    over = multiply_at + 1 + v.params.ratio_bits
    state("timer rests", v.at(*RESTING), v.timing("IDLE"))
    state("timer loads", v.timing("LOAD"), v.at("LOADING", "CLEARING"))
    loaded, entries = signal("preverify_timer.count"), 3 * v.params.cycle_entries
    state("timer loads entries", v.timing("LOAD"), loaded < entries)
    state("timer does nothing else then", v.at("LOADING", "CLEARING"), v.timing("LOAD", "IDLE"))
    state("timer has loaded", v.at("LOADING") & v.timing("IDLE"), loaded == entries)
    state("timer answers", v.deciding("WAIT"), v.timing("PREDICT"))
    state("timer is asked", v.timing("PREDICT"), v.deciding("WAIT"))
    state("timer's question", v.timing("PREDICT"), (tokens <= most) & (most == signal("task_scheduler.most")))
    state("arithmetic rests", ~v.timing("RECORD", "PREDICT"), bits == 0)
    state("arithmetic before", v.timing("PREDICT") & (step <= multiply_at), bits == 0)
    during = v.timing("PREDICT") & (step > multiply_at) & (step < over)
    state("arithmetic works", during, bits + step == over)
    state("arithmetic after", v.timing("PREDICT") & (step >= over), bits == 0)


def _pointers(v: UnitView, state: State) -> None:
    moving = v.at(*MOVING)
    state("head <= checked", ~moving, v.head <= v.checked)
    state("checked <= tail", 1, v.checked <= v.tail)
    state("head on its way", v.at("COMMIT"), v.head <= v.place)
    state("head arrived", v.at("RETIRE", "RETIRING", "FLUSH"), v.head == v.place + 1)
    state("place", v.at("READ", "COMPARE"), v.head <= v.place)
    state("place is in the queue", v.at("READ", "COMPARE", *MOVING), v.place <= v.tail)
    state("contradicted place", v.at("READ", "COMPARE") & v.contradicted, v.place < v.tail)
    state("hit", v.at(*MOVING) & v.hit, v.place < v.tail)
    state("flush is no hit", v.at("FLUSH"), ~v.hit)
    unchecked = v.at(*CLOSING) | v.count.any() & ~v.trusted
    state("something is unchecked", unchecked, v.checked < v.tail)


def _batches(v: UnitView, state: State) -> None:
    longest, moving, closing = v.params.max_draft, v.at(*MOVING), v.at(*CLOSING)
    state("oldest batch", ~moving & v.count.any(), v.head < v.ends[0])
    state("oldest batch's length", v.count.any(), v.ends[0] - v.head <= longest)
    for age in range(v.params.batches - 1):
        exists = v.count > age + 1
        state(f"batch {age + 1} after {age}", exists, v.ends[age] < v.ends[age + 1])
        state(f"batch {age + 1}'s length", exists, v.ends[age + 1] - v.ends[age] <= longest)
    state("newest batch", v.count.any(), v.last_end <= v.tail)
    state("open batch", ~closing, v.tail - v.base <= v.open)
    state("closing batch", closing, (v.tail > v.base) & (v.tail - v.base <= longest))
    state("open batch is not full", v.running & ~v.at(*AVERAGING), v.open < v.unit.config.max_draft)
    fills = v.open + 1 == v.unit.config.max_draft
    state("batch will be full", v.at("CHECK_TOKEN") & v.running, v.bench.signal("event_full") == fills)
    state("longest open batch", 1, v.open <= longest)
    state("open batch is over", v.at("CLOSE", "CLOSING", "CLOSED"), v.open == 0)
    draws = v.drafting | v.stopping | ~v.running
    state("open batch is drafted", v.open.any() & ~v.at(*AVERAGING), draws)
    state("room for the batch", v.drafting | closing, v.count < v.params.batches)
    state("batch to retire", v.at("RETIRE") & v.count.any(), v.read_end == v.ends[0])
    newest = v.deciding("VERIFY") & v.count.any() & v.unit.config.verify_all
    state("newest to verify", newest, v.read_end == v.last_end)
    oldest = v.deciding("VERIFY") & v.count.any() & ~v.unit.config.verify_all
    state("oldest to verify", oldest, v.read_end == v.ends[0])


def _fix(v: UnitView, state: State) -> None:
    """A pre-verification, its result, and the scan for the batch that holds a fix."""
    most = v.params.preverify_max
    state("task's size", v.preverifying, (v.size >= 1) & (v.size <= most))
    state("task's tokens", v.preverifying, (v.first <= v.checked) & (v.first + v.size <= v.tail))
    resulting = v.at("CHECKED", *FIXING)
    state("result's place", resulting, (v.place == v.first + v.passed) & (v.place <= v.tail))
    state("result's fix", resulting & v.has_fix, v.place < v.tail)
    state("only a fix is scanned for", v.at(*FIXING), v.has_fix & (v.head <= v.place) & v.trusted)
    state("place is checked", v.at(*FIXING), v.place <= v.checked)
    state("scan", v.at("SCAN"), (v.scan >= 1) & (v.kept < v.scan))
    for age in range(v.params.batches):
        state(f"scan reads {age}", v.at("SCAN") & (v.scan == age + 1), v.read_end == v.ends[age])
        kept = (v.count > age) & (v.ends[age] <= v.place)
        state(f"scan keeps {age}", v.at(*FIXING) & (v.kept > age), kept)
        left = v.at("HOLDER", "FIX") | v.at("SCAN") & (v.kept + 1 < v.scan)
        state(f"scan stops at {age}", left & (v.kept == age) & (v.count > age), v.ends[age] > v.place)
    state("holder", v.at("HOLDER", "FIX"), v.kept < v.count)


def _limit(v: UnitView, state: State) -> None:
    running = v.npu_busy | v.at("LIMIT")
    state("limit is of a verification", v.limit_valid, running)
    within = (v.head <= v.limit) & (v.limit < v.head + v.issued)
    state("limit", v.limit_valid, within & (v.limit < v.tail) & (v.limit < v.checked))
    state("verified tokens are queued", running & ~v.limit_valid, v.head + v.issued <= v.tail)
    state("verdict", v.at("LIMIT"), (v.head <= v.place) & (v.place <= v.head + v.issued))
    state("verification's tokens", v.at("LIMIT"), (v.issued >= 1) & (v.issued <= v.params.verify_max))
    state("task is after limit", v.preverifying & v.limit_valid, v.limit < v.first)
    state("fix is after limit", v.at("CHECKED", *FIXING) & v.limit_valid, v.limit < v.place)


GROUPS: dict[str, Callable[[UnitView, State], None]] = {
    "machines": _machines,
    "outstanding": _outstanding,
    "predictor": _predictor,
    "timer": _timer,
    "pointers": _pointers,
    "batches": _batches,
    "fix": _fix,
    "limit": _limit,
}
"""The invariant in parts small enough for the solver."""

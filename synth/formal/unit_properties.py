"""Properties of the whole control unit, full size, on top of its invariant."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Mux, Signal, Value

from ahasd.synth.formal.bench import Bench
from ahasd.synth.formal.unit_invariant import TAKING, assume_invariant
from ahasd.synth.formal.unit_view import CLOSING, MOVING, UnitView

__all__ = [
    "at_most_seven_batches",
    "clock_request",
    "flush_restores",
    "one_task",
    "one_verification",
    "pointer_order",
    "progress",
    "streams_hold",
    "violations_change_nothing",
]

REQUEST_BOUND = 80
"""Cycles from NPU and PIM both idle to a request, those in which the host makes a commit wait apart."""

OF_AN_EVENT = {
    *("at", "token_id", "event_entropy", "event_last", "accepted", "passed", "has_fix", "was_aborted"),
    *(
        "from_task",
        "in_place",
        "write_ring",
        "place",
        "cause",
        "pending",
        "fsm_state",
        "event_address",
        "event_full",
    ),
}
"""Registers that hold the event in process (and the sticky bits): a refused event passes through them."""
SENDERS = ("verify_sender.", "task_sender.")


def pointer_order(bench: Bench) -> None:
    view = assume_invariant(bench)
    settled = ~view.at(*MOVING)
    bench.implies(
        "head <= checked <= tail", settled, (view.head <= view.checked) & (view.checked <= view.tail)
    )
    most = view.params.batches * view.params.max_draft
    bench.check("occupancy", view.tail - view.head <= most)
    overwritten = bench.signal("draft_queue.append") & (
        view.tail + 1 - view.head > view.params.queue_depth - 1
    )
    bench.check("the token before head is not overwritten", ~overwritten)


def at_most_seven_batches(bench: Bench) -> None:
    view = assume_invariant(bench)
    signal = bench.signal
    bench.implies("room for a batch that closes", signal("batch_list.push"), view.count < view.params.batches)
    bench.implies("a batch to retire", signal("batch_list.pop"), view.count > 0)
    bench.implies("a batch to trim", signal("batch_list.trim"), signal("batch_list.offset") < view.count)
    issues = signal("task_scheduler.task")
    bench.implies("no task with seven batches", issues, view.count < view.params.batches)


def _held_inputs(bench: Bench, view: UnitView) -> None:
    """Producers hold valid and payload until taken, as streams must."""
    for name in ("token", "feedback", "result"):
        port = getattr(view.unit, name)
        payload = Value.cast(port.payload)
        waits = bench.past(port.valid & ~port.ready, f"{name}_waits")
        before = bench.past(payload, f"{name}_payload")
        bench.assume(~waits | port.valid & (payload == before))


def _one(bench: Bench, view: UnitView, kind: str, busy: Any, port: Any) -> None:
    """A request is offered only while it is outstanding, and begins only when none was."""
    header = port.valid & port.payload.header
    bench.implies(f"{kind} request is outstanding", port.valid, busy)
    begins = header & ~bench.past(header, f"{kind}_header") & ~bench.first_cycle
    was_busy = bench.past(busy, f"{kind}_busy")
    bench.implies(f"{kind} request begins when none is outstanding", begins, ~was_busy)
    other = bench.signal(f"{kind}_sender.start") & bench.signal(f"{kind}_sender.busy")
    bench.check(f"{kind} sender is free", ~other)


def one_verification(bench: Bench) -> None:
    view = assume_invariant(bench)
    _held_inputs(bench, view)
    _one(bench, view, "verify", view.npu_busy, view.unit.verify)
    feedback = view.unit.feedback
    bench.implies("a verdict waits to be taken", view.at("TAKE_FEEDBACK"), feedback.valid)
    taken = bench.past(feedback.valid & feedback.ready, "taken")
    bench.implies("a verdict was taken", view.at("CHECK_FEEDBACK") & ~bench.first_cycle, taken)
    ends = bench.past(view.npu_busy, "busy") & ~view.npu_busy
    bench.implies("only a verdict ends it", ends, bench.past(taken, "verdict"))


def one_task(bench: Bench) -> None:
    view = assume_invariant(bench)
    _held_inputs(bench, view)
    _one(bench, view, "task", view.task_busy, view.unit.task)
    token, result = view.unit.token, view.unit.result
    bench.implies("a token waits to be taken", view.at("TAKE_TOKEN"), token.valid)
    bench.implies("a result waits to be taken", view.at("TAKE_RESULT"), result.valid)
    taken = bench.past(token.valid & token.ready | result.valid & result.ready, "taken")
    checks = view.at("CHECK_TOKEN", "CHECK_RESULT") & ~bench.first_cycle
    bench.implies("an answer was taken", checks, taken)
    ends = bench.past(view.task_busy, "busy") & ~view.task_busy
    bench.implies("only an answer ends it", ends, bench.past(taken, "answer"))


def flush_restores(bench: Bench) -> None:
    view = assume_invariant(bench)
    flushed = bench.past(view.at("FLUSH"), "flush")
    leht, lceht = bench.signal("predictor.history.leht"), bench.signal("predictor.history.lceht")
    bench.implies("LEHT is LCEHT", flushed, leht == lceht)
    bench.implies("LLR is 0", flushed, view.count == 0)
    bench.implies("tail is head", flushed, (view.tail == view.head) & (view.checked == view.head))
    bench.implies("no open batch", flushed, view.open == 0)
    bench.implies("nothing is trusted", flushed, ~view.trusted)
    bench.implies("a task is being aborted", flushed, ~view.task_busy | view.aborting)


def streams_hold(bench: Bench) -> None:
    view = assume_invariant(bench)
    for name in ("verify", "task", "commit"):
        port = getattr(view.unit, name)
        payload = Value.cast(port.payload)
        waits = bench.past(port.valid & ~port.ready, f"{name}_waits")
        before = bench.past(payload, f"{name}_payload")
        bench.implies(f"{name} holds valid", waits, port.valid)
        bench.implies(f"{name} holds its payload", waits, payload == before)


def _memory_ports(bench: Bench) -> tuple[list[tuple[str, Value]], list[tuple[str, Value]]]:
    """Enables of all write ports and of all clocked read ports."""
    writes, reads = [], []
    for path, memory in bench.opened.memories():
        writes += [(path, port._en) for port in memory._write_ports]
        reads += [(path, port._en) for port in memory._read_ports if port._domain != "comb"]
    return writes, reads


def clock_request(bench: Bench) -> None:
    view = assume_invariant(bench)
    low = ~view.unit.clk_req
    was_low = bench.past(low, "low")
    for path, register in bench.opened.registers():
        before = bench.past(register, path.replace(".", "_"))
        bench.implies(f"{path} stands", was_low, register == before)
    writes, reads = _memory_ports(bench)
    for path, enable in writes:
        bench.implies(f"{path} is not written", low, enable == 0)
    for path, enable in reads:
        bench.implies(f"{path} is not read", low, enable == 0)
    active = view.unit.verify.valid | view.unit.task.valid | view.unit.commit.valid | view.at(*TAKING)
    bench.implies("no output is valid", low, ~active)


def violations_change_nothing(bench: Bench) -> None:
    """In the cycle in which a violation's bit is raised, and in the one in which the offender is taken."""
    view = assume_invariant(bench)
    state, known = bench.opened.states("")
    cause = bench.signal("cause")
    missing_last = len(cause) - 1
    refusing = view.at("CHECK_FEEDBACK", "CHECK_TOKEN", "CHECK_RESULT", "START", "CLEAR")
    idle = known["IDLE"]
    was_refusing = bench.past(refusing, "refusing")
    refused = bench.wire(was_refusing & (state == idle), "refused")
    stale = bench.past(bench.signal("event_counters.count") != 0, "counted")
    taken = bench.past(view.at("TAKE_FEEDBACK", "TAKE_TOKEN", "TAKE_RESULT"), "taken")
    kept = bench.wire(refused & ~stale | taken, "kept")
    for path, register in bench.opened.registers():
        if path in OF_AN_EVENT or path.startswith(SENDERS):
            continue
        before = bench.past(register, path.replace(".", "_"))
        bench.implies(f"{path} stands", kept, register == before)
    writes, _ = _memory_ports(bench)
    quiet = bench.past(Cat(*(enable != 0 for _, enable in writes)).any(), "written")
    starting = bench.past(view.at("START"), "starting")  # may write the prompt's token where no token is
    bench.implies("no memory is written", kept & ~starting, ~quiet)
    issued = bench.past(bench.signal("task_scheduler.task") | bench.signal("task_scheduler.verify"), "issued")
    bench.implies("no decision follows", kept, ~issued)
    raised = bench.past(cause[:missing_last], "cause")
    commanded = bench.past(view.unit.command.as_value(), "command")
    new = ((cause[:missing_last] & ~raised) != 0) & (commanded == 0)
    bench.implies("a raised bit means refusal", new, refused)
    silent = refused & ~stale & (commanded == 0)
    bench.implies("a refusal raises a bit", silent, cause[:missing_last] != 0)


def progress(bench: Bench) -> None:
    """A measure that falls in every cycle: cycles since both are idle, and cycles that are still to come."""
    view = assume_invariant(bench)
    both = view.running & ~view.stopping & ~view.npu_busy & ~view.task_busy
    waited = Signal(range(REQUEST_BOUND + 2), name="waited")
    stalled = view.at("COMMIT") & ~view.unit.commit.ready
    with bench.m.If(~both):
        bench.m.d.sync += waited.eq(0)
    with bench.m.Elif(~stalled & (waited <= REQUEST_BOUND)):
        bench.m.d.sync += waited.eq(waited + 1)
    # Cycles still to come at most, by state, counted back from the scheduler's decision.
    state, known = bench.opened.states("")
    decide = 4
    batches = 2 * view.count
    loads = bench.signal("preverify_timer.count")
    to_come: dict[str, Any] = {
        "LOADING": decide + 14 - loads,
        "CLOSED": decide,
        "CLOSING": decide + 1,
        "CLOSE": decide + 2,
        "AVERAGE_3": decide + 3,
        "AVERAGE_2": decide + 4,
        "AVERAGE_1": decide + 5,
        "FIX": decide,
        "HOLDER": decide + 1,
        "SCAN": decide + 2 + (view.params.batches - view.scan),
        "CHECKED": decide + 2 + view.params.batches,
        "FLUSH": decide,
        "RETIRE": decide + 1 + batches,
        "RETIRING": decide + 2 + batches,
        "COMMIT": decide + 2 + batches + (view.place - view.head),
        "COMPARE": decide + 3 + batches + (view.place - view.head),
        "READ": decide + 4 + batches + (view.place - view.head),
        "LIMIT": decide + 5 + batches + (view.place - view.head),
    }
    left: Any = Mux(view.deciding("IDLE"), 3, Mux(view.deciding("VERIFY"), 2, 1))
    for name, cycles in to_come.items():
        left = Mux(state == known[name], cycles, left)
    measure = bench.wire(waited + left, "measure")
    bench.implies("a request follows", both, (measure <= REQUEST_BOUND) & (measure >= 0))
    bench.implies("nobody waits in vain", both, ~view.at("IDLE", "DRAIN", *TAKING))
    closing = both & view.at(*CLOSING)
    bench.implies("a batch closes for an idle NPU", closing, waited <= REQUEST_BOUND)

"""The control unit's state machine.

It processes one event from the cycle in which it is taken to the cycle in which all that follows from it has
left. ``ahasd.models.control.latency`` counts its cycles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth.hdl import Module, Mux, ValueLike

from ahasd.models.control.unit import COUNTERS
from ahasd.models.control.work import Violation
from ahasd.rtl.control_parts import ControlParts
from ahasd.rtl.control_wiring import violation
from ahasd.rtl.signatures import ResultKind, TaskKind
from ahasd.rtl.timer import Table

if TYPE_CHECKING:
    from ahasd.rtl.control_unit import ControlUnit

__all__ = ["decision_and_command_states", "feedback_states", "idle_states", "result_states", "token_states"]


def count(m: Module, parts: ControlParts, name: str, condition: ValueLike = 1) -> None:
    """Count one (or, of ``dropped`` and ``preverified``, what those inputs say) in this cycle."""
    m.d.comb += parts.counts.count[COUNTERS.index(name)].eq(condition)


def idle_states(m: Module, unit: ControlUnit, parts: ControlParts) -> None:
    """Choose among commands and waiting inputs; the chosen one is taken in the next cycle.

    An answer cannot be taken before the request it answers has left, and a pre-verification's result,
    which may change tokens, not before the running verify request has left.
    """
    with m.State("INITIALISE"):
        m.d.comb += parts.predictor.clear.eq(1)
        m.next = "INITIALISING"

    with m.State("INITIALISING"), m.If(~parts.predictor.busy):
        m.next = "IDLE"

    with m.State("IDLE"):
        result_waits = parts.verify_sender.busy & (unit.result.payload.kind == ResultKind.PREVERIFIED)
        with m.If(parts.pending_stop):
            m.d.sync += parts.pending_stop.eq(0)
            m.next = "STOP"
        with m.Elif(parts.pending_clear):
            m.d.sync += parts.pending_clear.eq(0)
            m.next = "CLEAR"
        with m.Elif(parts.pending_start):
            m.d.sync += [
                parts.pending_start.eq(0),
                parts.at.eq(unit.now),
                parts.token_id.eq(unit.config.prompt_token),
                parts.place.eq(-1),
                parts.in_place.eq(1),
                parts.write_ring.eq(~parts.running & parts.config_valid),
            ]
            m.next = "START"
        with m.Elif(unit.feedback.valid & ~parts.verify_sender.busy):
            m.next = "TAKE_FEEDBACK"
        with m.Elif(unit.token.valid & ~parts.task_sender.busy):
            m.next = "TAKE_TOKEN"
        with m.Elif(unit.result.valid & ~parts.task_sender.busy & ~result_waits):
            m.next = "TAKE_RESULT"

    with m.State("TAKE_FEEDBACK"):
        m.d.comb += unit.feedback.ready.eq(1)
        m.d.sync += [
            parts.at.eq(unit.now),
            parts.accepted.eq(unit.feedback.payload.accepted),
            parts.token_id.eq(unit.feedback.payload.next),
            parts.from_task.eq(0),
            parts.in_place.eq(1),
        ]
        m.next = "CHECK_FEEDBACK"

    with m.State("TAKE_TOKEN"):
        m.d.comb += unit.token.ready.eq(1)
        m.d.sync += [
            parts.at.eq(unit.now),
            parts.token_id.eq(unit.token.payload.id),
            parts.event_entropy.eq(unit.token.payload.entropy),
            parts.event_last.eq(unit.token.payload.last),
            parts.event_full.eq(parts.average.count + 1 == unit.config.max_draft),
            parts.from_task.eq(1),
            parts.in_place.eq(0),
            parts.write_ring.eq(parts.drafting),
        ]
        m.next = "CHECK_TOKEN"

    with m.State("TAKE_RESULT"):
        m.d.comb += unit.result.ready.eq(1)
        m.d.sync += [
            parts.at.eq(unit.now),
            parts.was_aborted.eq(unit.result.payload.kind == ResultKind.ABORTED),
            parts.passed.eq(unit.result.payload.passed),
            parts.has_fix.eq(unit.result.payload.has_fix),
            parts.token_id.eq(unit.result.payload.fix),
            parts.from_task.eq(1),
            parts.in_place.eq(1),
        ]
        m.next = "CHECK_RESULT"


def token_states(m: Module, unit: ControlUnit, parts: ControlParts) -> None:
    queue, scheduler, average = parts.queue, parts.scheduler, parts.average
    with m.State("CHECK_TOKEN"):
        m.next = "IDLE"
        # What is on the timer's inputs depends on the state alone; only the strobe waits for the check.
        m.d.comb += [
            parts.timer.table.eq(Table.PDCT),
            parts.timer.length.eq(average.count + 1),
        ]
        with m.If(~scheduler.task_busy | (scheduler.task_kind != TaskKind.DRAFT)):
            violation(m, unit, Violation.TOKEN_UNEXPECTED)
        with m.Elif(~parts.drafting):
            count(m, parts, "stale")
        with m.Else():
            count(m, parts, "tokens")
            m.d.comb += [queue.append.eq(1), average.add.eq(1)]
            with m.If(parts.event_last | parts.event_full):
                m.d.comb += [
                    average.last.eq(1),
                    scheduler.task_done.eq(1),
                    parts.timer.record.eq(1),
                ]
                with m.If(~parts.event_last):
                    violation(m, unit, Violation.MISSING_LAST)
                m.next = "AVERAGE_1"

    # One cycle a bucket bit, see EntropyAverage.
    bits = unit.params.bucket_bits
    for k in range(1, bits + 1):
        with m.State(f"AVERAGE_{k}"):
            m.next = f"AVERAGE_{k + 1}" if k < bits else "CLOSE"

    with m.State("CLOSE"):
        m.d.comb += [parts.predictor.close.eq(1), parts.predictor.llr.eq(parts.batches.count + 1)]
        m.next = "CLOSING"

    with m.State("CLOSING"):
        m.next = "CLOSED"

    with m.State("CLOSED"):
        m.d.comb += [parts.batches.push.eq(1), scheduler.distrust.eq(1)]
        m.d.sync += parts.decided_go_on.eq(parts.predictor.go_on)
        count(m, parts, "predictions")
        count(m, parts, "suppressed", ~parts.predictor.go_on)
        m.next = "DECIDE"


def feedback_states(m: Module, unit: ControlUnit, parts: ControlParts) -> None:
    queue, batches, scheduler = parts.queue, parts.batches, parts.scheduler
    with m.State("CHECK_FEEDBACK"):
        m.next = "IDLE"
        with m.If(~scheduler.npu_busy):
            violation(m, unit, Violation.FEEDBACK_UNEXPECTED)
        with m.Elif(parts.accepted > scheduler.issued):
            violation(m, unit, Violation.FEEDBACK_RANGE)
        with m.Else():
            m.d.comb += [
                scheduler.npu_done.eq(1),
                parts.timer.record.eq(1),
                parts.timer.table.eq(Table.NVCT),
            ]
            m.d.sync += parts.place.eq(queue.head + parts.accepted)
            m.next = "LIMIT"

    with m.State("LIMIT"):
        # The NPU accepted a token that pre-verification had replaced: the replacement stands.
        over = parts.limit_valid & (parts.place > parts.limit)
        m.d.sync += [parts.contradicted.eq(over), parts.limit_valid.eq(0)]
        with m.If(over):
            m.d.sync += parts.place.eq(parts.limit)
        m.d.sync += [parts.event_reads.eq(1), parts.event_address.eq(Mux(over, parts.limit, parts.place))]
        count(m, parts, "contradictions", over)
        m.next = "READ"

    with m.State("READ"):
        m.d.comb += parts.event_read.eq(1)
        m.d.sync += parts.event_address.eq(queue.head)
        m.next = "COMPARE"

    with m.State("COMPARE"):
        with m.If(parts.contradicted):
            m.d.sync += parts.token_id.eq(queue.data)
        m.d.sync += parts.hit.eq(
            (parts.place != queue.tail) & (parts.contradicted | (queue.data == parts.token_id))
        )
        m.d.comb += parts.event_read.eq(1)
        m.d.sync += parts.event_address.eq(parts.event_address + 1)
        m.next = "COMMIT"

    with m.State("COMMIT"):
        # ``head`` counts the tokens out, up to and including ``next`` at ``place``.
        final = queue.head == parts.place
        m.d.comb += [
            unit.commit.valid.eq(1),
            unit.commit.payload.token.eq(Mux(final, parts.token_id, queue.data)),
            unit.commit.payload.last.eq(final),
            parts.event_read.eq(unit.commit.ready),
            batches.read.eq(1),
        ]
        with m.If(unit.commit.ready):
            m.d.comb += queue.commit.eq(1)
            m.d.sync += parts.event_address.eq(parts.event_address + 1)
            with m.If(final):
                m.d.sync += parts.event_reads.eq(0)
                m.next = "RETIRE"

    with m.State("RETIRE"):
        m.d.comb += queue.measure.eq(1)
        bound = Mux(parts.hit, queue.head, parts.place)
        with m.If(batches.count.any() & (batches.end <= bound)):
            m.d.comb += [batches.pop.eq(1), parts.predictor.accept.eq(~batches.settled)]
            m.next = "RETIRING"
        with m.Elif(parts.hit):
            m.d.comb += queue.catch_up.eq(1)
            m.next = "DECIDE"
        with m.Else():
            m.d.sync += parts.write_ring.eq(1)
            m.next = "FLUSH"

    with m.State("RETIRING"):
        # Still looks at the batch that has left; counted here, where no comparison is in the way.
        count(m, parts, "accepted", ~batches.settled)
        m.d.comb += batches.read.eq(1)
        m.next = "RETIRE"

    with m.State("FLUSH"):
        refuted = batches.count.any() & ~batches.settled
        m.d.comb += [
            parts.predictor.reject.eq(refuted),
            parts.predictor.restore.eq(1),
            batches.clear.eq(1),
            parts.average.clear.eq(1),
            queue.flush.eq(1),
            scheduler.distrust.eq(1),
            scheduler.abort.eq(1),
        ]
        count(m, parts, "flushes")
        count(m, parts, "dropped")
        count(m, parts, "rejected", refuted)
        m.next = "DECIDE"


def result_states(m: Module, unit: ControlUnit, parts: ControlParts) -> None:
    queue, batches, scheduler = parts.queue, parts.batches, parts.scheduler
    with m.State("CHECK_RESULT"):
        m.next = "IDLE"
        complete = parts.passed == scheduler.size
        m.d.comb += [
            parts.timer.table.eq(Table.PVCT),
            parts.timer.length.eq(parts.passed + parts.has_fix),
        ]
        with m.If(parts.was_aborted):
            with m.If(scheduler.aborting):
                m.d.comb += scheduler.task_done.eq(1)
                m.next = "DECIDE"
            with m.Else():
                violation(m, unit, Violation.ABORTED_UNEXPECTED)
        with m.Elif(~scheduler.task_busy | (scheduler.task_kind != TaskKind.PREVERIFY)):
            violation(m, unit, Violation.RESULT_UNEXPECTED)
        with m.Elif((parts.passed > scheduler.size) | (complete == parts.has_fix)):
            violation(m, unit, Violation.RESULT_RANGE)
        with m.Else():
            m.d.comb += scheduler.task_done.eq(1)
            with m.If(scheduler.aborting):
                m.next = "DECIDE"
            with m.Else():
                m.d.comb += parts.timer.record.eq(1)
                m.d.sync += parts.place.eq(scheduler.first + parts.passed)
                count(m, parts, "preverified")
                m.next = "CHECKED"

    with m.State("CHECKED"):
        m.d.comb += [
            queue.check.eq(1),
            scheduler.trust.eq(1),
            batches.read.eq(1),
            batches.offset.eq(0),
        ]
        m.d.sync += [parts.scan.eq(1), parts.kept.eq(0)]
        m.next = "DECIDE"
        with m.If(parts.has_fix & (parts.place >= queue.head)):
            m.next = "SCAN"

    with m.State("SCAN"):
        # Batches that end at or before ``place`` stay; the one after them holds it.
        m.d.comb += [batches.read.eq(1), batches.offset.eq(parts.scan)]
        m.d.sync += parts.scan.eq(parts.scan + 1)
        with m.If((parts.scan <= batches.count) & (batches.end <= parts.place)):
            m.d.sync += parts.kept.eq(parts.kept + 1)
        with m.If(parts.scan == unit.params.batches):
            m.next = "HOLDER"

    with m.State("HOLDER"):
        m.d.comb += [batches.read.eq(1), batches.offset.eq(parts.kept), queue.measure.eq(1)]
        m.d.sync += parts.write_ring.eq(1)
        m.next = "FIX"

    with m.State("FIX"):
        m.d.comb += [
            parts.predictor.reject.eq(~batches.settled),
            parts.predictor.restore.eq(1),
            batches.trim.eq(1),
            batches.offset.eq(parts.kept),
            batches.new_end.eq(parts.place + 1),
            queue.fix.eq(1),
        ]
        count(m, parts, "fixes")
        count(m, parts, "dropped")
        count(m, parts, "rejected", ~batches.settled)
        within = parts.place < queue.head + scheduler.issued
        with m.If(scheduler.npu_busy & within & ~parts.limit_valid):
            m.d.sync += [parts.limit.eq(parts.place), parts.limit_valid.eq(1)]
        m.next = "DECIDE"


def decision_and_command_states(m: Module, unit: ControlUnit, parts: ControlParts) -> None:
    queue, scheduler = parts.queue, parts.scheduler
    with m.State("DECIDE"):
        m.d.sync += parts.from_task.eq(0)
        with m.If(parts.stopping):
            m.next = "DRAIN"
        with m.Else():
            m.d.comb += scheduler.decide.eq(1)
            with m.If(scheduler.done):
                m.next = "DRAIN"

    with m.State("DRAIN"):
        # Requests and the division run on; a consumer that makes a request wait does not hold up events.
        with m.If(parts.stopping & ~scheduler.npu_busy & ~scheduler.task_busy):
            m.d.sync += [parts.running.eq(0), parts.stopping.eq(0)]
        with m.If(
            (~parts.verify_sender.busy | parts.verify_sender.stalled)
            & (~parts.task_sender.busy | parts.task_sender.stalled)
            & ~parts.timer.busy
        ):
            m.next = "IDLE"

    with m.State("START"):
        m.d.comb += parts.commanding.eq(1)
        m.next = "IDLE"
        with m.If(parts.running):
            violation(m, unit, Violation.COMMAND)
        with m.Elif(~parts.config_valid):
            violation(m, unit, Violation.CONFIGURATION)
        with m.Else():
            m.d.comb += [
                queue.start.eq(1),
                parts.batches.clear.eq(1),
                parts.average.clear.eq(1),
                parts.predictor.start.eq(1),
                scheduler.start.eq(1),
                parts.timer.load.eq(parts.fresh),
            ]
            m.d.sync += [parts.running.eq(1), parts.fresh.eq(0), parts.limit_valid.eq(0)]
            m.next = "DECIDE"
            with m.If(parts.fresh):
                m.next = "LOADING"

    with m.State("LOADING"), m.If(~parts.timer.busy):
        m.next = "DECIDE"

    with m.State("STOP"):
        m.next = "IDLE"
        with m.If(parts.running & ~parts.stopping):
            m.d.sync += parts.stopping.eq(1)
            m.d.comb += scheduler.abort.eq(1)
            m.next = "DRAIN"

    with m.State("CLEAR"):
        m.d.comb += parts.commanding.eq(1)
        m.next = "IDLE"
        with m.If(parts.running):
            violation(m, unit, Violation.COMMAND)
        with m.Else():
            m.d.comb += [
                parts.predictor.clear.eq(1),
                parts.timer.load.eq(1),
                parts.counts.clear.eq(1),
            ]
            m.d.sync += parts.fresh.eq(0)
            m.next = "CLEARING"

    with m.State("CLEARING"):
        m.d.comb += parts.commanding.eq(1)
        with m.If(~parts.predictor.busy & ~parts.timer.busy):
            m.next = "DRAIN"

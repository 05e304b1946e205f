"""Connections of the control unit's parts that hold in every state; commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth.hdl import Module, Mux
from amaranth.lib.wiring import connect, flipped

from ahasd.models.control.work import Violation
from ahasd.rtl.control_parts import ControlParts
from ahasd.rtl.signatures import TaskKind

if TYPE_CHECKING:
    from ahasd.rtl.control_unit import ControlUnit

__all__ = ["commands", "errors", "violation", "wire"]


def violation(m: Module, unit: ControlUnit, cause: Violation) -> None:
    """Raise a sticky bit."""
    m.d.sync += unit.cause[cause].eq(1)


def wire(m: Module, unit: ControlUnit, parts: ControlParts) -> None:
    """Connections that hold in every state."""
    queue, batches, scheduler = parts.queue, parts.batches, parts.scheduler
    timer, predictor, average = parts.timer, parts.predictor, parts.average
    connect(m, flipped(unit.verify), parts.verify_sender.o)
    connect(m, flipped(unit.task), parts.task_sender.o)
    m.d.comb += [
        unit.counters.eq(parts.counts.values),
        parts.counts.dropped.eq(queue.dropped),
        parts.counts.preverified.eq(parts.passed),
        unit.abort.eq(scheduler.aborting),
        unit.error.eq(unit.cause.any()),
        average.entropy.eq(parts.event_entropy),
        queue.position.eq(parts.place),
        queue.token.eq(parts.token_id),
        queue.in_place.eq(parts.in_place),
        queue.write.eq(parts.write_ring),
        batches.new_bucket.eq(average.bucket),
        batches.new_index.eq(predictor.look_index),
        batches.new_end.eq(queue.tail),
        predictor.bucket.eq(average.bucket),
        predictor.old_bucket.eq(batches.bucket),
        predictor.index.eq(batches.index),
        predictor.llr.eq(batches.count),
        predictor.lookup.eq(scheduler.lookup),
        timer.npu_preset.eq(unit.config.npu_preset),
        timer.draft_preset.eq(unit.config.draft_preset),
        timer.preverify_preset.eq(unit.config.preverify_preset),
        timer.now.eq(parts.at),
        timer.most.eq(scheduler.most),
        timer.ask.eq(scheduler.ask),
        timer.since.eq(Mux(parts.from_task, scheduler.task_since, scheduler.npu_since)),
        timer.length.eq(scheduler.kv_length),
        scheduler.now.eq(parts.at),
        scheduler.config.eq(unit.config),
        scheduler.head.eq(queue.head),
        scheduler.checked.eq(queue.checked),
        scheduler.tail.eq(queue.tail),
        scheduler.fed_two.eq(queue.fed_two),
        scheduler.batches.eq(batches.count),
        scheduler.batch_end.eq(batches.end),
        scheduler.go_on.eq(predictor.go_on),
        scheduler.timer_busy.eq(timer.busy),
        scheduler.answered.eq(timer.answered),
        scheduler.time_for.eq(timer.tokens),
    ]
    with m.If(scheduler.read_batch):
        m.d.comb += [
            batches.read.eq(1),
            batches.offset.eq(Mux(scheduler.newest, batches.count - 1, 0)),
        ]
    for sender, issue in ((parts.verify_sender, scheduler.verify), (parts.task_sender, scheduler.task)):
        m.d.comb += [
            sender.start.eq(issue),
            sender.position.eq(scheduler.position),
            sender.address.eq(scheduler.address),
            sender.count.eq(scheduler.count),
            sender.kind.eq(scheduler.kind),
            sender.data.eq(queue.data),
        ]
    config = unit.config
    m.d.comb += [
        parts.config_valid.eq(
            config.max_draft.any()
            & (config.max_draft <= unit.params.max_draft)
            & config.verify_max.any()
            & (config.verify_max <= unit.params.verify_max)
            & config.preverify_max.any()
            & (config.preverify_max <= unit.params.preverify_max)
            & config.context.any()
        ),
        parts.drafting.eq(
            scheduler.task_busy & (scheduler.task_kind == TaskKind.DRAFT) & ~scheduler.aborting
        ),
    ]
    # The ring's read port: an event's own reads first, then the verify request, then the task request.
    verify_grant = ~parts.event_reads
    task_grant = verify_grant & ~parts.verify_sender.wants
    m.d.comb += [
        parts.verify_sender.granted.eq(verify_grant),
        parts.task_sender.granted.eq(task_grant),
        queue.read.eq(
            Mux(
                parts.event_reads,
                parts.event_read,
                parts.verify_sender.wants | parts.task_sender.wants,
            )
        ),
        queue.address.eq(
            Mux(
                parts.event_reads,
                parts.event_address,
                Mux(parts.verify_sender.wants, parts.verify_sender.next, parts.task_sender.next),
            )
        ),
    ]
    m.d.comb += [
        unit.status.running.eq(parts.running),
        unit.status.stopping.eq(parts.stopping),
        unit.status.sequence_full.eq(parts.running & (queue.head >= unit.params.sequence_limit)),
        unit.status.npu_busy.eq(scheduler.npu_busy),
        unit.status.task.eq(scheduler.task_busy),
        unit.status.task_kind.eq(scheduler.task_kind),
        unit.status.trusted.eq(scheduler.trusted),
        unit.status.go_on.eq(parts.decided_go_on),
        unit.status.index.eq(predictor.look_index),
        unit.status.llr.eq(batches.count),
        unit.status.level.eq(queue.tail - queue.head),
        unit.status.committed.eq(queue.head),
    ]


def errors(m: Module, unit: ControlUnit, parts: ControlParts) -> None:
    """Errors are cleared and noted at once. Call it before the states, so that a violation in them stays.

    The configuration is in use from a ``start`` or ``clear`` on, not only while a sequence runs.
    """
    command = unit.command
    with m.If(command.clear_errors):
        m.d.sync += unit.cause.eq(0)
    waiting = parts.pending_start | parts.pending_clear | command.start | command.clear
    with m.If(command.config_write & (parts.running | parts.commanding | waiting)):
        violation(m, unit, Violation.CONFIGURATION)


def commands(m: Module, unit: ControlUnit, parts: ControlParts) -> None:
    """Commands wait until no event is processed. Call it after the states: one that comes as another is
    taken waits in its turn."""
    command = unit.command
    with m.If(command.stop):
        m.d.sync += parts.pending_stop.eq(1)
    with m.If(command.clear):
        m.d.sync += parts.pending_clear.eq(1)
    with m.If(command.start):
        m.d.sync += parts.pending_start.eq(1)

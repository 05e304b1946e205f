"""The in-PIM control unit: takes events one at a time, keeps the draft queue, decides.

The state machine below processes one event from the cycle in which it is taken to the cycle in which all
that follows from it has left. ``ahasd.models.control.latency`` counts its cycles.
"""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Component, connect, flipped

from ahasd.models.control.params import UnitParams
from ahasd.models.control.unit import COUNTERS
from ahasd.models.control.work import Violation
from ahasd.rtl.batch_list import BatchList
from ahasd.rtl.counters import Counters
from ahasd.rtl.draft_queue import DraftQueue
from ahasd.rtl.entropy import EntropyAverage
from ahasd.rtl.predictor import EntropyHistoryPredictor
from ahasd.rtl.requests import RequestSender
from ahasd.rtl.scheduler import TaskScheduler
from ahasd.rtl.signatures import ControlSignature, ResultKind, TaskKind
from ahasd.rtl.timer import PreverifyTimer, Table

__all__ = ["ControlUnit"]


class ControlUnit(wiring.Component):
    """Control unit: entropy-history drafting control, draft queue, pre-verify timer, task scheduler.

    Behaviour, bit for bit: ``ahasd.models.control.unit.ControlUnit``; cycles: ``ahasd.models.control.latency``.
    No combinational path leads from an input stream to an output other than ``clk_req``.

    Parameters
    ----------
    params : UnitParams
    predictor : callable from UnitParams to a component with PredictorSignature
        The draft-control predictor; EDC by default.

    Members
    -------
    See :class:`~ahasd.rtl.signatures.ControlSignature`.
    """

    def __init__(
        self,
        params: UnitParams | None = None,
        predictor: Callable[[UnitParams], Component] = EntropyHistoryPredictor,
    ) -> None:
        self.params = params or UnitParams()
        self._predictor = predictor
        super().__init__(ControlSignature(self.params))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = self.params
        m.submodules.entropy_average = self.average = EntropyAverage(p)
        m.submodules.predictor = self.predictor = self._predictor(p)
        m.submodules.batch_list = self.batches = BatchList(p)
        m.submodules.draft_queue = self.queue = DraftQueue(p)
        m.submodules.preverify_timer = self.timer = PreverifyTimer(p)
        m.submodules.task_scheduler = self.scheduler = TaskScheduler(p)
        m.submodules.verify_sender = self.verify_sender = RequestSender(p)
        m.submodules.task_sender = self.task_sender = RequestSender(p)
        m.submodules.event_counters = self.counts = Counters(p)

        # The event being processed.
        self.at = Signal(p.time_bits)
        self.token_id = Signal(p.token_bits)  # a token's id, a verdict's next, a result's fix
        self.event_entropy = Signal(p.entropy_bits)
        self.event_last = Signal()
        self.accepted = Signal.like(self.feedback.payload.accepted)
        self.passed = Signal.like(self.result.payload.passed)
        self.has_fix = Signal()
        self.was_aborted = Signal()
        self.place = Signal(p.position_bits)  # the verdict's or fix's position
        self.hit = Signal()
        self.contradicted = Signal()
        self.limit = Signal(p.position_bits)
        self.limit_valid = Signal()
        self.scan = Signal(range(p.batches + 1))
        self.kept = Signal(p.llr_bits)
        # The sequence.
        self.running = Signal()
        self.stopping = Signal()
        self.fresh = Signal(init=1)
        self.decided_go_on = Signal()

        self._wire(m)
        self._commands(m)
        with m.FSM(init="INITIALISE") as fsm:
            self._idle(m)
            self._token_states(m)
            self._feedback_states(m)
            self._result_states(m)
            self._common_states(m)
        m.d.comb += self.clk_req.eq(
            ~fsm.ongoing("IDLE")
            | self.verify_sender.busy
            | self.task_sender.busy
            | self.timer.busy
            | self.pending.any()
            | self.command.as_value().any()
            | self.token.valid
            | self.feedback.valid
            | self.result.valid
        )
        return m

    def _wire(self, m: Module) -> None:
        """Connections that hold in every state."""
        queue, batches, scheduler = self.queue, self.batches, self.scheduler
        timer, predictor, average = self.timer, self.predictor, self.average
        connect(m, flipped(self.verify), self.verify_sender.o)
        connect(m, flipped(self.task), self.task_sender.o)
        m.d.comb += [
            self.counters.eq(self.counts.values),
            self.counts.dropped.eq(queue.dropped),
            self.counts.preverified.eq(self.passed),
            self.abort.eq(scheduler.aborting),
            self.error.eq(self.cause.any()),
            average.entropy.eq(self.event_entropy),
            queue.position.eq(self.place),
            queue.token.eq(self.token_id),
            batches.new_bucket.eq(average.bucket),
            batches.new_index.eq(predictor.look_index),
            batches.new_end.eq(queue.tail),
            predictor.bucket.eq(average.bucket),
            predictor.old_bucket.eq(batches.bucket),
            predictor.index.eq(batches.index),
            predictor.llr.eq(batches.count),
            predictor.lookup.eq(scheduler.lookup),
            timer.npu_preset.eq(self.config.npu_preset),
            timer.draft_preset.eq(self.config.draft_preset),
            timer.preverify_preset.eq(self.config.preverify_preset),
            timer.now.eq(self.at),
            timer.most.eq(scheduler.most),
            timer.ask.eq(scheduler.ask),
            timer.since.eq(scheduler.npu_since),
            timer.length.eq(scheduler.kv_length),
            scheduler.now.eq(self.at),
            scheduler.config.eq(self.config),
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
        for sender, issue in ((self.verify_sender, scheduler.verify), (self.task_sender, scheduler.task)):
            m.d.comb += [
                sender.start.eq(issue),
                sender.position.eq(scheduler.position),
                sender.address.eq(scheduler.address),
                sender.count.eq(scheduler.count),
                sender.kind.eq(scheduler.kind),
                sender.data.eq(queue.data),
            ]
        # The ring's read port: an event's own reads first, then the verify request, then the task request.
        self.event_reads = Signal()
        self.event_read = Signal()
        self.event_address = Signal(range(self.params.queue_depth))
        verify_grant = ~self.event_reads
        task_grant = verify_grant & ~self.verify_sender.wants
        m.d.comb += [
            self.verify_sender.granted.eq(verify_grant),
            self.task_sender.granted.eq(task_grant),
            queue.read.eq(
                Mux(
                    self.event_reads,
                    self.event_read,
                    self.verify_sender.wants | self.task_sender.wants,
                )
            ),
            queue.address.eq(
                Mux(
                    self.event_reads,
                    self.event_address,
                    Mux(self.verify_sender.wants, self.verify_sender.next, self.task_sender.next),
                )
            ),
        ]
        m.d.comb += [
            self.status.running.eq(self.running),
            self.status.stopping.eq(self.stopping),
            self.status.sequence_full.eq(self.running & (queue.head >= self.params.sequence_limit)),
            self.status.npu_busy.eq(scheduler.npu_busy),
            self.status.task.eq(scheduler.task_busy),
            self.status.task_kind.eq(scheduler.task_kind),
            self.status.trusted.eq(scheduler.trusted),
            self.status.go_on.eq(self.decided_go_on),
            self.status.index.eq(predictor.look_index),
            self.status.llr.eq(batches.count),
            self.status.level.eq(queue.tail - queue.head),
            self.status.committed.eq(queue.head),
        ]

    def _commands(self, m: Module) -> None:
        """Commands wait until no event is processed; errors are cleared and noted at once."""
        self.pending = Signal(3)
        self.pending_stop, self.pending_clear, self.pending_start = self.pending
        command = self.command
        with m.If(command.stop):
            m.d.sync += self.pending_stop.eq(1)
        with m.If(command.clear):
            m.d.sync += self.pending_clear.eq(1)
        with m.If(command.start):
            m.d.sync += self.pending_start.eq(1)
        with m.If(command.clear_errors):
            m.d.sync += self.cause.eq(0)
        with m.If(command.config_write & self.running):
            self._violation(m, Violation.CONFIGURATION)

    def _violation(self, m: Module, cause: Violation) -> None:
        m.d.sync += self.cause[cause].eq(1)

    def _count(self, m: Module, name: str, condition: object = 1) -> None:
        m.d.comb += self.counts.count[COUNTERS.index(name)].eq(condition)

    def _idle(self, m: Module) -> None:
        """Choose among commands and waiting inputs; the chosen one is taken in the next cycle.

        An answer cannot be taken before the request it answers has left, and a pre-verification's result,
        which may change tokens, not before the running verify request has left.
        """
        with m.State("INITIALISE"):
            m.d.comb += self.predictor.clear.eq(1)
            m.next = "INITIALISING"

        with m.State("INITIALISING"), m.If(~self.predictor.busy):
            m.next = "IDLE"

        with m.State("IDLE"):
            result_waits = self.verify_sender.busy & (self.result.payload.kind == ResultKind.PREVERIFIED)
            with m.If(self.pending_stop):
                m.d.sync += self.pending_stop.eq(0)
                m.next = "STOP"
            with m.Elif(self.pending_clear):
                m.d.sync += self.pending_clear.eq(0)
                m.next = "CLEAR"
            with m.Elif(self.pending_start):
                m.d.sync += [self.pending_start.eq(0), self.at.eq(self.now)]
                m.next = "START"
            with m.Elif(self.feedback.valid & ~self.verify_sender.busy):
                m.next = "TAKE_FEEDBACK"
            with m.Elif(self.token.valid & ~self.task_sender.busy):
                m.next = "TAKE_TOKEN"
            with m.Elif(self.result.valid & ~self.task_sender.busy & ~result_waits):
                m.next = "TAKE_RESULT"

        with m.State("TAKE_FEEDBACK"):
            m.d.comb += self.feedback.ready.eq(1)
            m.d.sync += [
                self.at.eq(self.now),
                self.accepted.eq(self.feedback.payload.accepted),
                self.token_id.eq(self.feedback.payload.next),
            ]
            m.next = "CHECK_FEEDBACK"

        with m.State("TAKE_TOKEN"):
            m.d.comb += self.token.ready.eq(1)
            m.d.sync += [
                self.at.eq(self.now),
                self.token_id.eq(self.token.payload.id),
                self.event_entropy.eq(self.token.payload.entropy),
                self.event_last.eq(self.token.payload.last),
            ]
            m.next = "CHECK_TOKEN"

        with m.State("TAKE_RESULT"):
            m.d.comb += self.result.ready.eq(1)
            m.d.sync += [
                self.at.eq(self.now),
                self.was_aborted.eq(self.result.payload.kind == ResultKind.ABORTED),
                self.passed.eq(self.result.payload.passed),
                self.has_fix.eq(self.result.payload.has_fix),
                self.token_id.eq(self.result.payload.fix),
            ]
            m.next = "CHECK_RESULT"

    def _token_states(self, m: Module) -> None:
        queue, scheduler, average = self.queue, self.scheduler, self.average
        with m.State("CHECK_TOKEN"):
            m.next = "IDLE"
            full = average.count + 1 == self.config.max_draft
            with m.If(~scheduler.task_busy | (scheduler.task_kind != TaskKind.DRAFT)):
                self._violation(m, Violation.TOKEN_UNEXPECTED)
            with m.Elif(scheduler.aborting):
                self._count(m, "stale")
            with m.Else():
                self._count(m, "tokens")
                m.d.comb += [queue.append.eq(1), average.add.eq(1)]
                with m.If(self.event_last | full):
                    m.d.comb += [
                        average.last.eq(1),
                        scheduler.task_done.eq(1),
                        self.timer.record.eq(1),
                        self.timer.table.eq(Table.PDCT),
                        self.timer.since.eq(scheduler.task_since),
                        self.timer.length.eq(average.count + 1),
                    ]
                    with m.If(~self.event_last):
                        self._violation(m, Violation.MISSING_LAST)
                    m.next = "AVERAGE_1"

        # One cycle a bucket bit, see EntropyAverage.
        bits = self.params.bucket_bits
        for k in range(1, bits + 1):
            with m.State(f"AVERAGE_{k}"):
                m.next = f"AVERAGE_{k + 1}" if k < bits else "CLOSE"

        with m.State("CLOSE"):
            m.d.comb += [self.predictor.close.eq(1), self.predictor.llr.eq(self.batches.count + 1)]
            m.next = "CLOSING"

        with m.State("CLOSING"):
            m.next = "CLOSED"

        with m.State("CLOSED"):
            m.d.comb += [self.batches.push.eq(1), scheduler.distrust.eq(1)]
            m.d.sync += self.decided_go_on.eq(self.predictor.go_on)
            self._count(m, "predictions")
            self._count(m, "suppressed", ~self.predictor.go_on)
            m.next = "DECIDE"

    def _feedback_states(self, m: Module) -> None:
        queue, batches, scheduler = self.queue, self.batches, self.scheduler
        with m.State("CHECK_FEEDBACK"):
            m.next = "IDLE"
            with m.If(~scheduler.npu_busy):
                self._violation(m, Violation.FEEDBACK_UNEXPECTED)
            with m.Elif(self.accepted > scheduler.issued):
                self._violation(m, Violation.FEEDBACK_RANGE)
            with m.Else():
                m.d.comb += [
                    scheduler.npu_done.eq(1),
                    self.timer.record.eq(1),
                    self.timer.table.eq(Table.NVCT),
                ]
                m.d.sync += self.place.eq(queue.head + self.accepted)
                m.next = "LIMIT"

        with m.State("LIMIT"):
            # The NPU accepted a token that pre-verification had replaced: the replacement stands.
            over = self.limit_valid & (self.place > self.limit)
            m.d.sync += [self.contradicted.eq(over), self.limit_valid.eq(0)]
            with m.If(over):
                m.d.sync += self.place.eq(self.limit)
            self._count(m, "contradictions", over)
            m.next = "READ"

        with m.State("READ"):
            m.d.comb += [
                self.event_reads.eq(1),
                self.event_read.eq(1),
                self.event_address.eq(self.place),
            ]
            m.next = "COMPARE"

        with m.State("COMPARE"):
            with m.If(self.contradicted):
                m.d.sync += self.token_id.eq(queue.data)
            m.d.sync += self.hit.eq(
                (self.place != queue.tail) & (self.contradicted | (queue.data == self.token_id))
            )
            m.d.comb += [
                self.event_reads.eq(1),
                self.event_read.eq(1),
                self.event_address.eq(queue.head),
            ]
            m.next = "COMMIT"

        with m.State("COMMIT"):
            # ``head`` counts the tokens out, up to and including ``next`` at ``place``.
            final = queue.head == self.place
            m.d.comb += [
                self.commit.valid.eq(1),
                self.commit.payload.token.eq(Mux(final, self.token_id, queue.data)),
                self.commit.payload.last.eq(final),
                self.event_reads.eq(1),
                self.event_read.eq(self.commit.ready),
                self.event_address.eq(queue.head + 1),
                batches.read.eq(1),
            ]
            with m.If(self.commit.ready):
                m.d.comb += queue.commit.eq(1)
                with m.If(final):
                    m.next = "RETIRE"

        with m.State("RETIRE"):
            bound = Mux(self.hit, queue.head, self.place)
            with m.If(batches.count.any() & (batches.end <= bound)):
                m.d.comb += [batches.pop.eq(1), self.predictor.accept.eq(~batches.settled)]
                self._count(m, "accepted", ~batches.settled)
                m.next = "RETIRING"
            with m.Elif(self.hit):
                m.d.comb += queue.catch_up.eq(1)
                m.next = "DECIDE"
            with m.Else():
                m.next = "FLUSH"

        with m.State("RETIRING"):
            m.d.comb += batches.read.eq(1)
            m.next = "RETIRE"

        with m.State("FLUSH"):
            refuted = batches.count.any() & ~batches.settled
            m.d.comb += [
                self.predictor.reject.eq(refuted),
                self.predictor.restore.eq(1),
                batches.clear.eq(1),
                self.average.clear.eq(1),
                queue.flush.eq(1),
                scheduler.distrust.eq(1),
                scheduler.abort.eq(1),
            ]
            self._count(m, "flushes")
            self._count(m, "dropped")
            self._count(m, "rejected", refuted)
            m.next = "DECIDE"

    def _result_states(self, m: Module) -> None:
        queue, batches, scheduler = self.queue, self.batches, self.scheduler
        with m.State("CHECK_RESULT"):
            m.next = "IDLE"
            complete = self.passed == scheduler.size
            with m.If(self.was_aborted):
                with m.If(scheduler.aborting):
                    m.d.comb += scheduler.task_done.eq(1)
                    m.next = "DECIDE"
                with m.Else():
                    self._violation(m, Violation.ABORTED_UNEXPECTED)
            with m.Elif(~scheduler.task_busy | (scheduler.task_kind != TaskKind.PREVERIFY)):
                self._violation(m, Violation.RESULT_UNEXPECTED)
            with m.Elif((self.passed > scheduler.size) | (complete == self.has_fix)):
                self._violation(m, Violation.RESULT_RANGE)
            with m.Else():
                m.d.comb += scheduler.task_done.eq(1)
                with m.If(scheduler.aborting):
                    m.next = "DECIDE"
                with m.Else():
                    m.d.comb += [
                        self.timer.record.eq(1),
                        self.timer.table.eq(Table.PVCT),
                        self.timer.since.eq(scheduler.task_since),
                        self.timer.length.eq(self.passed + self.has_fix),
                    ]
                    m.d.sync += self.place.eq(scheduler.first + self.passed)
                    self._count(m, "preverified")
                    m.next = "CHECKED"

        with m.State("CHECKED"):
            m.d.comb += [
                queue.check.eq(1),
                scheduler.trust.eq(1),
                batches.read.eq(1),
                batches.offset.eq(0),
            ]
            m.d.sync += [self.scan.eq(1), self.kept.eq(0)]
            m.next = "DECIDE"
            with m.If(self.has_fix & (self.place >= queue.head)):
                m.next = "SCAN"

        with m.State("SCAN"):
            # Batches that end at or before ``place`` stay; the one after them holds it.
            m.d.comb += [batches.read.eq(1), batches.offset.eq(self.scan)]
            m.d.sync += self.scan.eq(self.scan + 1)
            with m.If((self.scan <= batches.count) & (batches.end <= self.place)):
                m.d.sync += self.kept.eq(self.kept + 1)
            with m.If(self.scan == self.params.batches):
                m.next = "HOLDER"

        with m.State("HOLDER"):
            m.d.comb += [batches.read.eq(1), batches.offset.eq(self.kept)]
            m.next = "FIX"

        with m.State("FIX"):
            m.d.comb += [
                self.predictor.reject.eq(~batches.settled),
                self.predictor.restore.eq(1),
                batches.trim.eq(1),
                batches.offset.eq(self.kept),
                batches.new_end.eq(self.place + 1),
                queue.fix.eq(1),
            ]
            self._count(m, "fixes")
            self._count(m, "dropped")
            self._count(m, "rejected", ~batches.settled)
            within = self.place < queue.head + scheduler.issued
            with m.If(scheduler.npu_busy & within & ~self.limit_valid):
                m.d.sync += [self.limit.eq(self.place), self.limit_valid.eq(1)]
            m.next = "DECIDE"

    def _common_states(self, m: Module) -> None:
        queue, scheduler = self.queue, self.scheduler
        config = self.config
        with m.State("DECIDE"):
            with m.If(self.stopping):
                m.next = "DRAIN"
            with m.Else():
                m.d.comb += scheduler.decide.eq(1)
                with m.If(scheduler.done):
                    m.next = "DRAIN"

        with m.State("DRAIN"):
            # Requests and the division run on; a consumer that makes a request wait does not hold up events.
            with m.If(self.stopping & ~scheduler.npu_busy & ~scheduler.task_busy):
                m.d.sync += [self.running.eq(0), self.stopping.eq(0)]
            with m.If(
                (~self.verify_sender.busy | self.verify_sender.stalled)
                & (~self.task_sender.busy | self.task_sender.stalled)
                & ~self.timer.busy
            ):
                m.next = "IDLE"

        with m.State("START"):
            valid = (
                config.max_draft.any()
                & (config.max_draft <= self.params.max_draft)
                & config.verify_max.any()
                & (config.verify_max <= self.params.verify_max)
                & config.preverify_max.any()
                & (config.preverify_max <= self.params.preverify_max)
                & config.context.any()
            )
            m.next = "IDLE"
            with m.If(self.running):
                self._violation(m, Violation.COMMAND)
            with m.Elif(~valid):
                self._violation(m, Violation.CONFIGURATION)
            with m.Else():
                m.d.comb += [
                    queue.start.eq(1),
                    queue.token.eq(config.prompt_token),
                    self.batches.clear.eq(1),
                    self.average.clear.eq(1),
                    self.predictor.start.eq(1),
                    scheduler.start.eq(1),
                    self.timer.load.eq(self.fresh),
                ]
                m.d.sync += [self.running.eq(1), self.fresh.eq(0), self.limit_valid.eq(0)]
                m.next = "DECIDE"
                with m.If(self.fresh):
                    m.next = "LOADING"

        with m.State("LOADING"), m.If(~self.timer.busy):
            m.next = "DECIDE"

        with m.State("STOP"):
            m.next = "IDLE"
            with m.If(self.running & ~self.stopping):
                m.d.sync += self.stopping.eq(1)
                m.d.comb += scheduler.abort.eq(1)
                m.next = "DRAIN"

        with m.State("CLEAR"):
            m.next = "IDLE"
            with m.If(self.running):
                self._violation(m, Violation.COMMAND)
            with m.Else():
                m.d.comb += [
                    self.predictor.clear.eq(1),
                    self.timer.load.eq(1),
                    self.counts.clear.eq(1),
                ]
                m.d.sync += self.fresh.eq(0)
                m.next = "CLEARING"

        with m.State("CLEARING"), m.If(~self.predictor.busy & ~self.timer.busy):
            m.next = "DRAIN"

"""Task scheduler: after every event, what the NPU verifies and what the PIM does next."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.control.params import UnitParams
from ahasd.rtl.signatures import TaskKind, config_layout

__all__ = ["TaskScheduler"]


class TaskScheduler(wiring.Component):
    """Decides, and keeps what is outstanding: one verification and one task at most.

    Latency: with ``decide`` in cycle v the verify request is issued in v + 1; a draft that needs no look-up
    in v + 2, one that EDC allows in v + 4; otherwise the timer is asked as soon as it is idle, v + 5 at the
    earliest, and the task is issued when it answers. ``done`` comes in the last of these cycles.

    Members
    -------
    decide, now : In
        Decide; all other inputs are stable until ``done``.
    done : Out(1)
    start : In(1)
        A sequence starts: nothing is outstanding, nothing is trusted.
    config : In
    head, checked, tail, fed_two : In
        Of the draft queue.
    batches, read_batch, newest, batch_end : In / Out
        Of the batch list: its count; look at the newest (else the oldest) batch; where that one ends.
    lookup, go_on : Out, In
        Of the predictor.
    ask, timer_busy, answered, time_for : Out, In
        Of the pre-verify timer.
    verify, task, kind, position, address, count : Out
        Issue a request.
    most, kv_length : Out
        For the timer: tokens not pre-verified yet; KV length of the running verification.
    npu_done, task_done, abort, trust, distrust : In
        What an event means for what is outstanding.
    npu_busy, npu_since, issued : Out
        The running verification: since when, and its tokens.
    task_busy, task_kind, task_since, first, size, aborting, trusted : Out
        The outstanding task; a pre-verification's first position and tokens.
    """

    decide: Signal
    now: Signal
    done: Signal
    start: Signal
    config: data.View
    head: Signal
    checked: Signal
    tail: Signal
    fed_two: Signal
    batches: Signal
    read_batch: Signal
    newest: Signal
    batch_end: Signal
    lookup: Signal
    go_on: Signal
    ask: Signal
    timer_busy: Signal
    answered: Signal
    time_for: Signal
    verify: Signal
    task: Signal
    kind: Signal
    position: Signal
    address: Signal
    count: Signal
    most: Signal
    kv_length: Signal
    npu_done: Signal
    task_done: Signal
    abort: Signal
    trust: Signal
    distrust: Signal
    npu_busy: Signal
    npu_since: Signal
    issued: Signal
    task_busy: Signal
    task_kind: Signal
    task_since: Signal
    first: Signal
    size: Signal
    aborting: Signal
    trusted: Signal

    def __init__(self, params: UnitParams) -> None:
        self._params = p = params
        tokens = p.verify_max.bit_length()
        small = range(p.preverify_max + 1)
        super().__init__(
            {
                "decide": In(1),
                "now": In(p.time_bits),
                "done": Out(1),
                "start": In(1),
                "config": In(config_layout(p)),
                "head": In(p.position_bits),
                "checked": In(p.position_bits),
                "tail": In(p.position_bits),
                "fed_two": In(1),
                "batches": In(p.llr_bits),
                "read_batch": Out(1),
                "newest": Out(1),
                "batch_end": In(p.position_bits),
                "lookup": Out(1),
                "go_on": In(1),
                "ask": Out(1),
                "timer_busy": In(1),
                "answered": In(1),
                "time_for": In(small),
                "verify": Out(1),
                "task": Out(1),
                "kind": Out(TaskKind),
                "position": Out(p.context_position_bits),
                "address": Out(range(p.queue_depth)),
                "count": Out(tokens),
                "most": Out(small),
                "kv_length": Out(p.context_position_bits),
                "npu_done": In(1),
                "task_done": In(1),
                "abort": In(1),
                "trust": In(1),
                "distrust": In(1),
                "npu_busy": Out(1),
                "npu_since": Out(p.time_bits),
                "issued": Out(tokens),
                "task_busy": Out(1),
                "task_kind": Out(TaskKind),
                "task_since": Out(p.time_bits),
                "first": Out(p.position_bits),
                "size": Out(small),
                "aborting": Out(1),
                "trusted": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = self._params
        context = self.config.context

        ready = Signal(p.position_bits)
        capped = Signal.like(self.issued)
        unchecked = Signal(p.position_bits)
        m.d.comb += [
            ready.eq(self.batch_end - self.head),
            capped.eq(Mux(ready > self.config.verify_max, self.config.verify_max, ready)),
            unchecked.eq(self.tail - self.checked),
            self.most.eq(Mux(unchecked > self.config.preverify_max, self.config.preverify_max, unchecked)),
            self.kv_length.eq(context + self.head + self.issued),
            self.newest.eq(self.config.verify_all),
        ]

        def draft() -> None:
            """Tokens from ``fed`` to ``tail``: one, or two after a flush without look-ahead."""
            fed = self.tail - 1 - self.fed_two
            m.d.comb += [
                self.task.eq(1),
                self.kind.eq(TaskKind.DRAFT),
                self.position.eq(context + fed),
                self.address.eq(fed),
                self.count.eq(1 + self.fed_two),
                self.done.eq(1),
            ]

        def preverify(count: Signal) -> None:
            """``count`` tokens from ``checked`` on, and the one before them."""
            m.d.comb += [
                self.task.eq(1),
                self.kind.eq(TaskKind.PREVERIFY),
                self.position.eq(context + self.checked - 1),
                self.address.eq(self.checked - 1),
                self.count.eq(count + 1),
                self.done.eq(1),
            ]

        # Order of assignments: what an event ends comes before what its decisions begin.
        with m.If(self.npu_done):
            m.d.sync += self.npu_busy.eq(0)
        with m.If(self.task_done):
            m.d.sync += [self.task_busy.eq(0), self.aborting.eq(0)]
        with m.If(self.abort & self.task_busy):
            m.d.sync += self.aborting.eq(1)
        with m.If(self.trust):
            m.d.sync += self.trusted.eq(1)
        with m.If(self.distrust):
            m.d.sync += self.trusted.eq(0)
        with m.If(self.start):
            m.d.sync += [
                self.npu_busy.eq(0),
                self.task_busy.eq(0),
                self.aborting.eq(0),
                self.trusted.eq(0),
            ]

        with m.FSM():
            with m.State("IDLE"), m.If(self.decide):
                m.d.comb += self.read_batch.eq(1)
                m.next = "VERIFY"

            with m.State("VERIFY"):
                with m.If(~self.npu_busy & self.batches.any()):
                    m.d.comb += [
                        self.verify.eq(1),
                        self.position.eq(context + self.head - 1),
                        self.address.eq(self.head - 1),
                        self.count.eq(capped + 1),
                    ]
                    m.d.sync += [
                        self.npu_busy.eq(1),
                        self.npu_since.eq(self.now),
                        self.issued.eq(capped),
                    ]
                m.next = "TASK"

            with m.State("TASK"):
                with m.If(self.task_busy | (self.batches == p.batches)):
                    m.d.comb += self.done.eq(1)
                    m.next = "IDLE"
                with m.Elif(~self.config.edc | ~self.batches.any() | self.trusted):
                    draft()
                    m.next = "IDLE"
                with m.Else():
                    m.d.comb += self.lookup.eq(1)
                    m.next = "LOOK"

            with m.State("LOOK"):
                m.next = "ANSWER"

            with m.State("ANSWER"):
                m.next = "IDLE"
                with m.If(self.go_on):
                    draft()
                with m.Elif(self.config.tvc):
                    m.next = "TIMER"
                with m.Elif(self.config.suppress_preverify):
                    preverify(self.most)
                with m.Else():
                    m.d.comb += self.done.eq(1)

            with m.State("TIMER"), m.If(~self.timer_busy):
                m.d.comb += self.ask.eq(1)
                m.next = "WAIT"

            with m.State("WAIT"), m.If(self.answered):
                with m.If(self.time_for.any()):
                    preverify(self.time_for)
                with m.Else():
                    draft()
                m.next = "IDLE"

        with m.If(self.task):
            m.d.sync += [
                self.task_busy.eq(1),
                self.task_kind.eq(self.kind),
                self.task_since.eq(self.now),
                self.first.eq(self.checked),
                self.size.eq(self.count - 1),
            ]
        return m

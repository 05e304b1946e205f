"""What the control unit is made of: sub-modules, registers of the event in process and of the sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth.hdl import Module, Signal

from ahasd.rtl.batch_list import BatchList
from ahasd.rtl.counters import Counters
from ahasd.rtl.draft_queue import DraftQueue
from ahasd.rtl.entropy import EntropyAverage
from ahasd.rtl.requests import RequestSender
from ahasd.rtl.scheduler import TaskScheduler
from ahasd.rtl.timer import PreverifyTimer

if TYPE_CHECKING:
    from ahasd.rtl.control_unit import ControlUnit

__all__ = ["ControlParts"]


class ControlParts:
    """Sub-modules (added to ``m``) and registers of a :class:`~ahasd.rtl.control_unit.ControlUnit`."""

    def __init__(self, m: Module, unit: ControlUnit) -> None:
        p = unit.params
        m.submodules.entropy_average = self.average = EntropyAverage(p)
        m.submodules.predictor = self.predictor = unit.make_predictor(p)
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
        self.event_full = Signal()  # the token is the batch's ``max_draft``-th
        self.accepted = Signal.like(unit.feedback.payload.accepted)
        self.passed = Signal.like(unit.result.payload.passed)
        self.has_fix = Signal()
        self.was_aborted = Signal()
        self.from_task = Signal()  # the timer looks at the task's start, else at the verification's
        self.in_place = Signal()  # the ring is written at ``place``, else at its tail
        self.write_ring = Signal()  # the ring is written in this cycle: early, since it goes to every token
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
        self.config_valid = Signal()
        self.drafting = Signal()  # a token that comes now is taken
        # The ring's read port, when an event has it; registers, since an address has far to go to all tokens.
        self.event_reads = Signal()
        self.event_read = Signal()
        self.event_address = Signal(range(p.queue_depth))
        # Commands that wait; one that uses the configuration is carried out.
        self.commanding = Signal()
        self.pending = Signal(3)
        self.pending_stop, self.pending_clear, self.pending_start = self.pending

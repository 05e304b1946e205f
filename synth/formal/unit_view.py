"""The control unit's registers by short names, for its invariant and its properties."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Mux, Value

from ahasd.models.control.params import UnitParams
from ahasd.rtl.control_unit import ControlUnit
from ahasd.rtl.signatures import TaskKind
from ahasd.synth.formal.bench import Bench

__all__ = ["CLOSING", "FEEDBACK", "FIXING", "MOVING", "UnitView"]

MOVING = ("COMMIT", "RETIRE", "RETIRING", "FLUSH")
"""States in which ``head`` is on its way and the queue's pointers do not yet agree."""
FEEDBACK = ("LIMIT", "READ", "COMPARE", *MOVING)
AVERAGING = ("AVERAGE_1", "AVERAGE_2", "AVERAGE_3")
CLOSING = (*AVERAGING, "CLOSE", "CLOSING", "CLOSED")
"""States between a batch's last token and its place among the closed ones."""
FIXING = ("SCAN", "HOLDER", "FIX")
POSITIONS_LEFT = 512
"""Software stops a sequence before fewer than this many positions are left (the limit is far below)."""


class UnitView:
    """Names for what is inside a :class:`ControlUnit` in a bench."""

    def __init__(self, bench: Bench) -> None:
        assert isinstance(bench.component, ControlUnit)
        self.bench = bench
        self.unit = bench.component
        self.params: UnitParams = self.unit.params
        signal = bench.signal
        self.head, self.checked, self.tail = (
            signal(f"draft_queue.{name}") for name in ("head", "checked", "tail")
        )
        self.count, self.oldest = signal("batch_list.count"), signal("batch_list.oldest")
        self.open = signal("entropy_average.count")
        for name in ("place", "limit", "limit_valid", "hit", "contradicted", "running", "stopping", "scan"):
            setattr(self, name, signal(name))
        for name in ("kept", "passed", "has_fix", "accepted", "write_ring", "pending", "config_valid"):
            setattr(self, name, signal(name))
        for name in ("npu_busy", "issued", "task_busy", "task_kind", "first", "size", "aborting", "trusted"):
            setattr(self, name, signal(f"task_scheduler.{name}"))
        self.drafting = self.task_busy & (self.task_kind == TaskKind.DRAFT) & ~self.aborting
        self.preverifying = self.task_busy & (self.task_kind == TaskKind.PREVERIFY) & ~self.aborting
        words = [
            bench.opened.word("batch_list.spans", self.oldest + age, f"batch_{age}")
            for age in range(self.params.batches)
        ]
        bits = self.params.position_bits
        self.ends = [word[:bits] for word in words]
        self.settled = [word[bits] for word in words]
        self.read_end = signal("batch_list.end")
        last: Any = self.ends[0]
        for age in range(1, self.params.batches):
            last = Mux(self.count == age + 1, self.ends[age], last)
        self.last_end = bench.wire(last, "last_end")
        self.base = bench.wire(Mux(self.count.any(), last, self.head), "base")

    def __getattr__(self, name: str) -> Any:  # for the checker: attributes made by the loops above
        raise AttributeError(name)

    def at(self, *states: str) -> Value:
        """The unit's state machine is in one of these states."""
        return self.bench.opened.state("", *states)

    def deciding(self, *states: str) -> Value:
        """The scheduler's state machine is."""
        return self.bench.opened.state("task_scheduler", *states)

    def timing(self, *states: str) -> Value:
        """The timer's state machine is."""
        return self.bench.opened.state("preverify_timer", *states)

    def environment(self) -> None:
        """What the unit may rely on, and no more.

        Any event may come at any time, legal or not; consumers may be slow. But the configuration stands
        while a sequence starts or runs, and software stops a sequence before positions run out.
        """
        bench = self.bench
        config = bench.past(self.unit.config.as_value(), "config")
        used = bench.past(self.running | self.at("START") | self.pending[2], "config_used")
        bench.assume(~used | (config == self.unit.config.as_value()))
        bench.assume(self.head < (1 << self.params.position_bits) - POSITIONS_LEFT)

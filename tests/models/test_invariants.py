"""What holds at every instant of random streams on the golden unit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from ahasd.models.control.environment import Environment, Habits
from ahasd.models.control.events import Decision, Draft, Event, Feedback, Preverify, Token
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.predictor import AlwaysGoOn
from ahasd.models.control.unit import ControlUnit
from ahasd.models.replay import GoldenUnit


class Watched(GoldenUnit):
    """Checks the golden unit's state after every event."""

    def __init__(self) -> None:
        super().__init__()
        self.from_queue = 0

    def step(self, event: Event, at: int) -> list[Decision]:
        unit = self.unit
        closed, counters, head = len(unit.batches), dict(unit.counters), unit.head
        decisions = super().step(event, at)
        if isinstance(event, Feedback):
            hit = unit.counters["flushes"] == counters["flushes"]
            self.from_queue += unit.head - head - (not hit)
        if isinstance(event, Token) and not (event.last and unit.counters["tokens"] > counters["tokens"]):
            assert decisions == []
            assert len(unit.batches) == closed
        for broken in self.broken():
            raise AssertionError(broken)
        return decisions

    def broken(self) -> Iterator[str]:
        unit, count = self.unit, self.unit.counters
        if count["tokens"] + count["fixes"] != self.from_queue + count["dropped"] + unit.tail - unit.head:
            yield "tokens + fixes = committed from the queue + dropped + queued"
        if not unit.head <= unit.checked <= unit.tail <= unit.head + unit.params.queue_depth:
            yield "head <= checked <= tail"
        if unit.tail - unit.fed not in (1, 2):
            yield "fed is tail - 1 or tail - 2"
        ends = [unit.head, *(batch.end for batch in unit.batches)]
        if any(low >= high for low, high in pairwise(ends)):
            yield "batches are contiguous and not empty"
        opened = unit.tail - unit.open_tokens  # its first token may be committed as look-ahead
        if (opened != ends[-1] and (unit.batches or opened > unit.head)) or len(unit.batches) > 7:
            yield "closed batches and the open one make up the queue"
        if unit.open_tokens and (unit.task is None or unit.task.kind is not Draft):
            yield "an open batch has its task"
        if any(batch.settled and batch.end > unit.checked for batch in unit.batches):
            yield "a batch that is rejected already has been checked"
        if unit.limit is not None and not (unit.npu_busy and unit.head <= unit.limit < unit.checked):
            yield "the limit is in the verification and checked"
        if not unit.npu_busy and unit.batches:
            yield "a closed batch is verified"
        if not unit.npu_busy and unit.task is None:
            yield "someone works"


@pytest.mark.parametrize("seed", range(100, 140))
def test_invariants(seed: int) -> None:
    Environment(seed).run(Watched(), 500)


def test_another_predictor() -> None:
    """The trivial predictor never stops the PIM; all else is as before."""
    unit = GoldenUnit(lambda: ControlUnit(predictor=AlwaysGoOn))
    recording = Environment(8, ControlConfig()).run(unit, 500)
    assert recording.counters["suppressed"] == 0 < recording.counters["predictions"]
    assert not any(isinstance(decision, Preverify) for step in recording.steps for decision in step.decisions)


def test_perfect_models_never_flush() -> None:
    """When draft and target model agree, every verdict but one without look-ahead is a hit."""
    sure = dict.fromkeys(("accept", "ahead", "right"), 1.0)
    habits = replace(Habits.random(Random(1)), **sure, token_ticks=1.0, verify_ticks=900.0)
    recording = Environment(2, ControlConfig(edc=False), habits).run(GoldenUnit(), 600)
    assert recording.counters["flushes"] == recording.counters["dropped"] == 0
    assert recording.counters["rejected"] == 0 < recording.counters["accepted"]

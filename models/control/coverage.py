"""Functional coverage of the control unit: which situations a stream of events has brought about.

:class:`CoveredUnit` is the golden unit with a count of every bin; :func:`coverage` finds the counts of a
recording, whoever made it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from copy import copy

from ahasd.models.control.events import Aborted, Decision, Draft, Event, Feedback, Preverified, Token
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.predictor import EntropyHistoryPredictor
from ahasd.models.control.unit import ControlUnit
from ahasd.models.control.work import TaskPath, Work
from ahasd.models.replay import GoldenUnit, Replay, replay

__all__ = ["BINS", "CoveredUnit", "coverage", "missed"]

BINS = (
    "batch: one token",
    "batch: sixteen tokens",
    "batch: lowest bucket",
    "batch: highest bucket",
    "batch: prediction suppressed",
    "stale token",
    "stale last token",
    "aborted",
    "late result, passed",
    "late result, fix",
    "result: all passed",
    "result: none passed",
    "result: partly committed meanwhile",
    "fix",
    "fix: while verification runs",
    "fix: second one while it runs",
    "fix: beyond what is verified",
    "fix: too late",
    "fix: batches dropped",
    "fix: not in the oldest batch",
    "feedback: none accepted",
    "feedback: all accepted",
    "hit by look-ahead",
    "hit by a mended rejection",
    "hit by a refusal of the same token",
    "contradiction",
    "refusal at the fix: flush",
    "refusal before the fix",
    "flush: no look-ahead",
    "flush: wrong look-ahead",
    "flush: rejection",
    "flush: no batch left",
    "flush: batch rejected already",
    "flush: open batch",
    "flush: aborts a draft",
    "flush: aborts a pre-verification",
    "retire: none",
    "retire: one",
    "retire: several",
    "retire: batch rejected already",
    "closed: seven batches",
    "closed: seven batches hold the PIM back",
    "verify: several batches",
    "verify: oldest of several batches",
    "verify: capped by verify_max",
    "verify: ends within a batch",
    "draft: fed one token",
    "draft: fed two tokens",
    "task: draft, EDC off",
    "task: draft, nothing closed",
    "task: draft, trusted",
    "task: draft, EDC says go on",
    "task: wait",
    "task: wait ends as LLR falls",
    "task: preverify, timer off",
    "timer: no time left",
    "timer: time for none",
    "timer: time for some",
    "timer: capped by what is unchecked",
    "timer: capped by preverify_max",
    "timer: pre-verification costs nothing",
    "timer: prediction saturates",
    "time: wraps around in a verification",
    "time: wraps around in a task",
    "time: duration saturates",
    "time: two events in a tick",
    "counter: strongest go on",
    "counter: strongest stop",
)
"""Names of all bins."""


class CoveredUnit(GoldenUnit):
    """The golden unit with ``bins``: how often each of :data:`BINS` has come about."""

    def __init__(self) -> None:
        super().__init__()
        self.bins: Counter[str] = Counter()
        self._at = -1
        self._waiting = False

    def start(self, config: ControlConfig, at: int) -> list[Decision]:
        self._at, self._waiting = at, False
        return super().start(config, at)

    def step(self, event: Event, at: int) -> list[Decision]:
        before = _snapshot(self.unit)
        outcome = self.unit.step(event, at)
        decisions = self._decisions(outcome)
        match event:
            case Token():
                found = _token(before, event, self.unit, at)
            case Feedback():
                found = _feedback(before, event, self.unit, at)
            case Preverified():
                found = _preverified(before, event, self.unit, at)
            case Aborted():
                found = iter(("aborted",))
        self.bins.update(found)
        self.bins.update(_decided(self.unit, outcome.work, at))
        if self._waiting and outcome.work.path is TaskPath.GO_ON and isinstance(event, Feedback):
            self.bins["task: wait ends as LLR falls"] += 1
        self._waiting = outcome.work.path is TaskPath.SUPPRESS and self.unit.task is None
        if at == self._at:
            self.bins["time: two events in a tick"] += 1
        self._at = at
        return decisions


def _snapshot(unit: ControlUnit) -> ControlUnit:
    """State to compare with; shares the ring, the predictor and the cycle tables."""
    before = copy(unit)
    before.batches = [copy(batch) for batch in unit.batches]
    before.task = copy(unit.task)
    before.counters = dict(unit.counters)
    return before


def _added(before: ControlUnit, unit: ControlUnit, name: str) -> int:
    return unit.counters[name] - before.counters[name]


def _token(before: ControlUnit, event: Token, unit: ControlUnit, at: int) -> Iterator[str]:
    if _added(before, unit, "stale"):
        yield "stale last token" if event.last else "stale token"
    if len(unit.batches) > len(before.batches):
        assert before.task is not None
        yield from _time(before.task.since, at, "time: wraps around in a task", unit)
        if before.open_tokens in (0, 15):
            yield "batch: one token" if before.open_tokens == 0 else "batch: sixteen tokens"
        if unit.batches[-1].bucket in (0, 7):
            yield "batch: lowest bucket" if unit.batches[-1].bucket == 0 else "batch: highest bucket"
        if _added(before, unit, "suppressed"):
            yield "batch: prediction suppressed"
        if len(unit.batches) == unit.params.batches:
            yield "closed: seven batches"


def _feedback(before: ControlUnit, event: Feedback, unit: ControlUnit, at: int) -> Iterator[str]:
    complete = event.accepted == before.verify_tokens
    verdict = before.head + event.accepted
    pos = min(verdict, verdict if before.limit is None else before.limit)
    hit = not _added(before, unit, "flushes")
    if event.accepted == 0:
        yield "feedback: none accepted"
    if complete:
        yield "feedback: all accepted"
    if before.limit is not None and verdict < before.limit:
        yield "refusal before the fix"
    if verdict > pos:
        yield "contradiction"
    elif hit:
        if complete:
            yield "hit by look-ahead"
        else:
            yield "hit by a mended rejection" if pos == before.limit else "hit by a refusal of the same token"
    elif pos == before.tail:
        yield "flush: no look-ahead"
    elif pos == before.limit:
        yield "refusal at the fix: flush"
    else:
        yield "flush: wrong look-ahead" if complete else "flush: rejection"
    retired = sum(batch.end <= (pos + 1 if hit else pos) for batch in before.batches)
    yield ("retire: none", "retire: one", "retire: several")[min(retired, 2)]
    if any(batch.settled for batch in before.batches[:retired]):
        yield "retire: batch rejected already"
    if not hit:
        left = before.batches[retired:]
        if not left:
            yield "flush: no batch left"
        elif left[0].settled:
            yield "flush: batch rejected already"
        if before.open_tokens:
            yield "flush: open batch"
        if before.task is not None:
            yield "flush: aborts a " + ("draft" if before.task.kind is Draft else "pre-verification")
    yield from _time(before.verify_since, at, "time: wraps around in a verification", unit)


def _preverified(before: ControlUnit, event: Preverified, unit: ControlUnit, at: int) -> Iterator[str]:
    task = before.task
    assert task is not None
    if task.aborting:
        yield "late result, passed" if event.fix is None else "late result, fix"
        return
    yield from _time(task.since, at, "time: wraps around in a task", unit)
    if event.passed == 0:
        yield "result: none passed"
    if task.first < before.head:
        yield "result: partly committed meanwhile"
    if event.fix is None:
        yield "result: all passed"
        return
    pos = task.first + event.passed
    if pos < before.head:
        yield "fix: too late"
        return
    yield "fix"
    if before.npu_busy:
        if pos >= before.head + before.verify_tokens:
            yield "fix: beyond what is verified"
        else:
            yield "fix: while verification runs" if before.limit is None else "fix: second one while it runs"
    if len(unit.batches) < len(before.batches):
        yield "fix: batches dropped"
    if len(unit.batches) > 1:
        yield "fix: not in the oldest batch"


def _time(since: int, at: int, wraps: str, unit: ControlUnit) -> Iterator[str]:
    if at < since:
        yield wraps
    if (at - since) % (1 << unit.params.time_bits) > unit.params.duration_max:
        yield "time: duration saturates"


def _decided(unit: ControlUnit, work: Work, at: int) -> Iterator[str]:
    """The verify request and the task."""
    closed = len(unit.batches)
    config = unit.config
    if work.verify_tokens:
        end = unit.head + unit.verify_tokens
        ends = [batch.end for batch in unit.batches]
        if config.verify_all and end >= ends[min(1, closed - 1)] and closed > 1:
            yield "verify: several batches"
        if not config.verify_all and closed > 1:
            yield "verify: oldest of several batches"
        if end < (ends[-1] if config.verify_all else ends[0]):
            yield "verify: capped by verify_max"
        if end not in ends:
            yield "verify: ends within a batch"
    if work.decides and unit.task is None and closed == unit.params.batches:
        yield "closed: seven batches hold the PIM back"
    if work.path is TaskPath.NONE:
        return
    if unit.task is not None and unit.task.kind is Draft:
        yield "draft: fed one token" if work.task_tokens == 1 else "draft: fed two tokens"
    if work.path is TaskPath.DIRECT:
        if not config.edc:
            yield "task: draft, EDC off"
        else:
            yield "task: draft, trusted" if closed else "task: draft, nothing closed"
        return
    yield from _counter(unit)
    if work.path is TaskPath.GO_ON:
        yield "task: draft, EDC says go on"
    elif work.path is TaskPath.SUPPRESS:
        yield "task: preverify, timer off" if unit.task else "task: wait"
    else:
        yield from _timer(unit, at)


def _counter(unit: ControlUnit) -> Iterator[str]:
    predictor = unit.predictor
    if isinstance(predictor, EntropyHistoryPredictor):
        value = predictor.pht[predictor.index(len(unit.batches))]
        if value in (0, 3):
            yield "counter: strongest go on" if value else "counter: strongest stop"


def _timer(unit: ControlUnit, at: int) -> Iterator[str]:
    left, cost = unit.predicted_left(at), unit.pvct.predict(1)
    unchecked = unit.tail - unit.checked
    most = min(unchecked, unit.config.preverify_max)
    size = unit.task.tokens if unit.task is not None else 0
    if cost == 0:
        yield "timer: pre-verification costs nothing"
    if unit.params.duration_max in (cost, unit.nvct.predict(unit.verify_kv), unit.pdct.predict(1)):
        yield "timer: prediction saturates"
    if size == 0:
        yield "timer: no time left" if left < 0 else "timer: time for none"
    elif size < most:
        yield "timer: time for some"
    elif unchecked <= unit.config.preverify_max:
        yield "timer: capped by what is unchecked"
    else:
        yield "timer: capped by preverify_max"


def coverage(recordings: Iterable[Replay]) -> Counter[str]:
    """How often each bin came about in recordings of legal events."""
    bins: Counter[str] = Counter()
    for recording in recordings:
        unit = CoveredUnit()
        replay(recording, unit)
        bins.update(unit.bins)
    return bins


def missed(bins: Counter[str]) -> list[str]:
    """Bins that have not come about."""
    return [name for name in BINS if not bins[name]]

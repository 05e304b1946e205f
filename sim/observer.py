"""A golden unit that looks on: checks every decision of the engine and keeps the books.

It is fed the events that the engine's unit takes, in that order, at the timebase readings that it used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ahasd.models.control.events import (
    Commit,
    Decision,
    Draft,
    Event,
    Feedback,
    Preverified,
    Preverify,
    Token,
)
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import Batch, ControlUnit
from ahasd.models.control.work import TaskPath, Work
from ahasd.models.replay import Replay, Step
from ahasd.sim.engine import Decided, Output, Taken
from ahasd.sim.ports import ModelError

__all__ = ["Dropped", "Latency", "Observer", "TimerLook"]


@dataclass(frozen=True, slots=True)
class Dropped:
    """Drafts that a verdict (``flush``) or a pre-verification (``fix``) has removed from ``position`` on."""

    position: int
    tokens: tuple[int, ...]
    why: str


@dataclass(slots=True)
class TimerLook:
    """One decision of the pre-verify timer: NPU time left as predicted and as it came, ticks."""

    at: int
    predicted: int
    actual: int | None = None


@dataclass(slots=True)
class Latency:
    """Cycles from an event's acceptance to one kind of decision."""

    count: int = 0
    least: int = 0
    most: int = 0
    sum: int = 0

    def add(self, cycles: int) -> None:
        """One more."""
        self.least = cycles if self.count == 0 else min(self.least, cycles)
        self.most = max(self.most, cycles)
        self.count += 1
        self.sum += cycles

    def __add__(self, other: Latency) -> Latency:
        return Latency(
            self.count + other.count,
            min(self.least, other.least),
            max(self.most, other.most),
            self.sum + other.sum,
        )


@dataclass(slots=True)
class _Closed:
    """A closed batch whose outcome is open, and what the predictor said when it closed."""

    batch: Batch
    go_on: bool


@dataclass(frozen=True, slots=True)
class _Expected:
    """A decision that has not been seen yet: of which event, when that was taken, and its kind of latency."""

    decision: Decision
    step: int
    taken: int
    path: str


@dataclass(slots=True)
class _Books:
    """Sums over the events so far. Tokens."""

    from_queue: int = 0
    committed_drafts: int = 0
    dropped_fixes: int = 0
    correct: int = 0
    """Batches whose prediction at close was right: go on and accepted, or stop and rejected."""
    fixes: set[int] = field(default_factory=set)
    """Positions in the queue that hold a token of pre-verification."""


class Observer:
    """Watches one sequence.

    Parameters
    ----------
    config : ControlConfig
    make : callable
        Makes the golden unit, as the engine's own.
    late : bool
        Decisions may come out after the next event was taken, in order for each receiver; else all of an
        event must be there by then.
    """

    def __init__(
        self, config: ControlConfig, make: Callable[[], ControlUnit] = ControlUnit, late: bool = False
    ) -> None:
        self.unit = make()
        self.config = config
        self._late = late
        self.steps: list[Step] = []
        self.queued: list[int] = []
        """Tokens in the queue after each step."""
        self.looks: list[TimerLook] = []
        self.drops: list[Dropped] = []
        self.latency: dict[str, Latency] = {}
        self.books = _Books()
        self._closed: list[_Closed] = []
        self._expected: list[_Expected] = []

    @property
    def counters(self) -> dict[str, int]:
        """Counters after the last event taken."""
        return dict(self.unit.counters)

    @property
    def queued_drafts(self) -> int:
        """Draft tokens in the queue, not committed yet."""
        return self.unit.tail - self.unit.head - sum(p >= self.unit.head for p in self.books.fixes)

    def recording(self) -> Replay:
        """Everything taken and decided so far."""
        return Replay(self.config, self.steps, self.counters)

    def watch(self, output: Output) -> None:
        """One output of the engine.

        Raises
        ------
        ModelError
            If the golden unit does not decide so, or decides more: names event and decision.
        """
        if isinstance(output, Taken):
            if not self._late:
                self.complete()
            self._take(output)
        else:
            self._compare(output)

    def complete(self) -> None:
        """All that was to be decided so far has come out.

        Raises
        ------
        ModelError
            If not.
        """
        if self._expected:
            missing = self._expected[0]
            where = self._where(missing.step)
            raise ModelError(f"{where}: the engine did not decide {missing.decision}")

    def stop(self) -> None:
        """Software stops the sequence, at rest."""
        self._expect(self.unit.stop().decisions, Work(kind="stop"), 0)

    def _where(self, step: int) -> str:
        return f"event {step} ({self.steps[step - 1].event or 'start'})"

    def _expect(self, decisions: list[Decision], work: Work, taken: int) -> None:
        for decision in decisions:
            path = f".{work.path.value}" if isinstance(decision, Draft | Preverify) else ""
            kind = f"{work.kind}{path}.{type(decision).__name__.lower()}"
            self._expected.append(_Expected(decision, len(self.steps), taken, kind))

    def _compare(self, output: Decided) -> None:
        channel = _channel(output.decision)
        found = next((e for e in self._expected if _channel(e.decision) == channel), None)
        if found is None or not _same(found.decision, output):
            expected = [e.decision for e in self._expected]
            where = self._where(len(self.steps))
            raise ModelError(f"{where}: the engine decided {output.decision}, the golden unit {expected}")
        self._expected.remove(found)
        if not output.inside:
            self.latency.setdefault(found.path, Latency()).add(output.edge - found.taken)

    def _take(self, taken: Taken) -> None:
        unit = self.unit
        if taken.event is None:
            unit.configure(self.config)
            outcome = unit.start(taken.now)
        else:
            before = self._before(taken.event)
            outcome = unit.step(taken.event, taken.now)
            if outcome.violation is not None:
                raise ModelError(f"{taken.event} breaks the protocol: {outcome.violation.name}")
            self._account(taken, before, outcome.work, outcome.decisions)
        self.steps.append(Step(taken.now, taken.event, outcome.decisions))
        self.queued.append(unit.tail - unit.head)
        self._expect(outcome.decisions, outcome.work, taken.edge)
        if outcome.work.path is TaskPath.TIMER:
            self.looks.append(TimerLook(taken.now, unit.predicted_left(taken.now) + unit.pdct.predict(1)))

    # Books.

    def _before(self, event: Event) -> tuple[int, tuple[int, ...], int, int]:
        """Head, queue content, counters of accepted and suppressed: what the accounts need from before."""
        unit = self.unit
        queue: tuple[int, ...] = ()
        if isinstance(event, Feedback | Preverified):
            queue = tuple(unit.token_at(p) for p in range(unit.head, unit.tail))
        return unit.head, queue, unit.counters["accepted"], unit.counters["suppressed"]

    def _account(
        self,
        taken: Taken,
        before: tuple[int, tuple[int, ...], int, int],
        work: Work,
        decisions: list[Decision],
    ) -> None:
        unit, books = self.unit, self.books
        head, queue, accepted, suppressed = before
        match taken.event:
            case Token() if work.decides and not self._is_known(unit.batches):
                go_on = unit.counters["suppressed"] == suppressed
                self._closed.append(_Closed(unit.batches[-1], go_on))
            case Feedback():
                self._verdict(head, queue, work, decisions)
                for look in self.looks:
                    if look.actual is None:
                        look.actual = (taken.now - look.at) % (1 << unit.params.time_bits)
            case Preverified() if work.fixed:
                books.fixes.add(unit.tail - 1)
                self._drop(unit.tail - 1, queue[unit.tail - 1 - head :], "fix")
        self._settle(unit.counters["accepted"] - accepted)
        queued = unit.tail - unit.head
        count = unit.counters
        if count["tokens"] + count["fixes"] != books.from_queue + count["dropped"] + queued:
            raise ModelError(
                f"event {len(self.steps)} ({taken.event}): {count['tokens']} tokens + {count['fixes']} fixes "
                f"are not {books.from_queue} committed + {count['dropped']} dropped + {queued} queued"
            )

    def _is_known(self, batches: list[Batch]) -> bool:
        return not batches or any(entry.batch is batches[-1] for entry in self._closed)

    def _verdict(self, head: int, queue: tuple[int, ...], work: Work, decisions: list[Decision]) -> None:
        books = self.books
        commit = next(d for d in decisions if isinstance(d, Commit))
        taken = len(commit.tokens) - work.flushed
        books.from_queue += taken
        fixes = {p for p in books.fixes if p < head + taken}
        books.committed_drafts += taken - len(fixes)
        books.fixes -= fixes
        if work.flushed:
            books.dropped_fixes += len(books.fixes)
            books.fixes.clear()
            self._drop(head + taken, queue[taken:], "flush")

    def _drop(self, position: int, tokens: tuple[int, ...], why: str) -> None:
        if tokens:
            self.drops.append(Dropped(position, tokens, why))

    def _settle(self, accepted: int) -> None:
        """Judge the predictions of batches that have left or been rejected in this event."""
        alive: list[_Closed] = []
        for entry in self._closed:
            if entry.batch.settled:
                self.books.correct += not entry.go_on
            elif any(entry.batch is batch for batch in self.unit.batches):
                alive.append(entry)
            elif accepted:
                accepted -= 1
                self.books.correct += entry.go_on
        self._closed = alive


def _channel(decision: Decision) -> str:
    """Who receives it: of each receiver's decisions the order counts."""
    return "task" if isinstance(decision, Draft | Preverify) else type(decision).__name__


def _same(expected: Decision, output: Decided) -> bool:
    found = output.decision
    if output.inside and isinstance(found, Draft | Preverify):  # its tokens mean nothing
        assert isinstance(expected, Draft | Preverify)
        return (type(found), found.position, len(found.tokens)) == (
            type(expected), expected.position, len(expected.tokens),
        )  # fmt: skip
    return found == expected

"""The golden control unit: every decision and counter, bit for bit, without clocks.

Order of events and decisions as the control-unit specification has it; how long each takes in hardware is
in :mod:`ahasd.models.control.latency`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ahasd.models.control.events import (
    Abort,
    Aborted,
    Commit,
    Decision,
    Draft,
    Event,
    Feedback,
    Preverified,
    Preverify,
    Token,
    Verify,
)
from ahasd.models.control.params import ControlConfig, UnitParams
from ahasd.models.control.predictor import EntropyHistoryPredictor, Predictor, bucket_of
from ahasd.models.control.timer import CycleTable, duration, longest_fit
from ahasd.models.control.work import TaskPath, Violation, Work

__all__ = ["COUNTERS", "Batch", "ControlUnit", "Outcome"]

COUNTERS = (
    "predictions",
    "suppressed",
    "accepted",
    "rejected",
    "flushes",
    "dropped",
    "preverified",
    "fixes",
    "contradictions",
    "tokens",
    "stale",
)
"""Counters in the replay format's order."""


@dataclass(slots=True)
class Batch:
    """A closed batch: position after its last token, entropy bucket, PHT index, whether already rejected."""

    end: int
    bucket: int
    index: int
    settled: bool = False


@dataclass(slots=True)
class Task:
    """The PIM's outstanding task: what, since when; a pre-verification's first position and size."""

    kind: type[Draft] | type[Preverify]
    since: int
    first: int = 0
    tokens: int = 0
    aborting: bool = False


@dataclass(slots=True)
class Outcome:
    """What one event or command caused."""

    decisions: list[Decision] = field(default_factory=list)
    work: Work = field(default_factory=Work)
    violation: Violation | None = None
    """The protocol violation that made the unit ignore the event (or, for ``MISSING_LAST``, note it)."""


class ControlUnit:
    """Golden model of the control unit.

    Parameters
    ----------
    params : UnitParams
    predictor : callable from UnitParams to Predictor
        EDC by default.
    """

    def __init__(
        self,
        params: UnitParams | None = None,
        predictor: Callable[[UnitParams], Predictor] = EntropyHistoryPredictor,
    ) -> None:
        self.params = params or UnitParams()
        self.predictor = predictor(self.params)
        self.config = ControlConfig()
        self.nvct = CycleTable(self.params)
        self.pdct = CycleTable(self.params)
        self.pvct = CycleTable(self.params)
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.running = False
        self.stopping = False
        self._fresh = True
        self._begin_sequence()

    def _begin_sequence(self) -> None:
        self.ring = [0] * self.params.queue_depth
        self.head = self.checked = self.tail = 0
        self.fed = -1
        self.batches: list[Batch] = []
        self.open_tokens = 0
        self.open_entropy = 0
        self.trusted = False
        self.limit: int | None = None
        self.task: Task | None = None
        self.npu_busy = False
        self.verify_since = 0
        self.verify_tokens = 0

    # Status, as the RTL's ports have it.

    @property
    def sequence_full(self) -> bool:
        """The sequence has committed ``sequence_limit`` tokens; software should start a new one."""
        return self.running and self.head >= self.params.sequence_limit

    @property
    def verify_kv(self) -> int:
        """KV length of the running verification."""
        return self.config.context + self.head + self.verify_tokens

    def token_at(self, position: int) -> int:
        """The ring's token at a position of the sequence (-1 is the last prompt token)."""
        return self.ring[position % self.params.queue_depth]

    # Commands.

    def configure(self, config: ControlConfig) -> Violation | None:
        """Set the configuration; a violation, without effect, while a sequence runs."""
        if self.running:
            return Violation.CONFIGURATION
        self.config = config
        return None

    def start(self, now: int) -> Outcome:
        """Start a sequence; a violation while one runs."""
        if self.running:
            return Outcome(violation=Violation.COMMAND)
        outcome = Outcome(work=Work(kind="start", presets_loaded=self._fresh))
        if self._fresh:
            self._load_presets()
        self._begin_sequence()
        self.predictor.start_sequence()
        self.ring[-1] = self.config.prompt_token
        self.running = True
        self._decide(now, outcome)
        return outcome

    def stop(self) -> Outcome:
        """Make no new decision, abort the task; the running verification is still processed."""
        outcome = Outcome(work=Work(kind="stop"))
        if self.running and not self.stopping:
            self.stopping = True
            self._abort(outcome)
            self._finish_stop()
        return outcome

    def clear(self) -> Outcome:
        """Predictor, cycle tables (from the presets) and counters as new; a violation while running."""
        if self.running:
            return Outcome(violation=Violation.COMMAND)
        self.predictor.clear()
        self._load_presets()
        self.counters = dict.fromkeys(COUNTERS, 0)
        return Outcome(work=Work(kind="clear"))

    def _load_presets(self) -> None:
        self.nvct.preset(self.config.npu_preset)
        self.pdct.preset(self.config.draft_preset)
        self.pvct.preset(self.config.preverify_preset)
        self._fresh = False

    def _finish_stop(self) -> None:
        if self.stopping and not self.npu_busy and self.task is None:
            self.running = self.stopping = False

    # Events.

    def step(self, event: Event, now: int) -> Outcome:
        """Process one event accepted at timebase ``now``; decisions in the order in which they are made."""
        match event:
            case Token():
                outcome = self._token(event, now)
            case Feedback():
                outcome = self._feedback(event, now)
            case Preverified():
                outcome = self._preverified(event, now)
            case Aborted():
                outcome = self._aborted()
        if outcome.violation in (None, Violation.MISSING_LAST) and outcome.work.decides:
            if self.stopping:
                self._finish_stop()
            else:
                self._decide(now, outcome)
        return outcome

    def _token(self, event: Token, now: int) -> Outcome:
        task = self.task
        if task is None or task.kind is not Draft:
            return Outcome(work=Work(kind="token"), violation=Violation.TOKEN_UNEXPECTED)
        outcome = Outcome(work=Work(kind="token", decides=False))
        if task.aborting:
            self.counters["stale"] += 1
            return outcome
        self.counters["tokens"] += 1
        self.fed = max(self.fed, self.tail)
        self.ring[self.tail % self.params.queue_depth] = event.id
        self.tail += 1
        self.open_tokens += 1
        self.open_entropy += event.entropy
        if not event.last:
            if self.open_tokens < self.config.max_draft:
                return outcome
            outcome.violation = Violation.MISSING_LAST
        outcome.work.decides = True
        outcome.work.recorded = True
        self.pdct.record(duration(now, task.since, self.params), self.open_tokens)
        self.task = None
        bucket = bucket_of(self.open_entropy, self.open_tokens, self.params)
        look = self.predictor.close(bucket, len(self.batches) + 1)
        self.batches.append(Batch(self.tail, bucket, look.index))
        self.open_tokens = self.open_entropy = 0
        self.trusted = False
        self.counters["predictions"] += 1
        self.counters["suppressed"] += not look.go_on
        return outcome

    def _feedback(self, event: Feedback, now: int) -> Outcome:
        outcome = Outcome(work=Work(kind="feedback"))
        if not self.npu_busy:
            outcome.violation = Violation.FEEDBACK_UNEXPECTED
        elif event.accepted > self.verify_tokens:
            outcome.violation = Violation.FEEDBACK_RANGE
        if outcome.violation is not None:
            return outcome
        work = outcome.work
        work.recorded = True
        self.nvct.record(duration(now, self.verify_since, self.params), self.verify_kv)
        self.npu_busy = False
        first, pos, following = self.head, self.head + event.accepted, event.next
        if self.limit is not None and pos > self.limit:
            pos = self.limit
            following = self.token_at(pos)
            self.counters["contradictions"] += 1
        self.limit = None
        hit = pos < self.tail and self.token_at(pos) == following
        committed = (*(self.token_at(p) for p in range(first, pos)), following)
        outcome.decisions.append(Commit(committed))
        work.committed = len(committed)
        self.head = pos + 1
        bound = self.head if hit else pos
        while self.batches and self.batches[0].end <= bound:
            batch = self.batches.pop(0)
            work.retired += 1
            if not batch.settled:
                self.predictor.accept(batch.index, batch.bucket)
                self.counters["accepted"] += 1
        if not hit:
            work.flushed = True
            self.counters["flushes"] += 1
            if self.batches:
                self._reject(self.batches[0])
            self.batches.clear()
            self.open_tokens = self.open_entropy = 0
            self.predictor.restore()
            self.ring[pos % self.params.queue_depth] = following
            self.counters["dropped"] += self.tail - pos
            self.tail = self.checked = self.head
            self.fed = min(self.fed, pos)
            self.trusted = False
            self._abort(outcome)
        self.checked = max(self.checked, self.head)
        return outcome

    def _reject(self, batch: Batch) -> None:
        if not batch.settled:
            self.predictor.reject(batch.index)
            batch.settled = True
            self.counters["rejected"] += 1

    def _abort(self, outcome: Outcome) -> None:
        if self.task is not None and not self.task.aborting:
            self.task.aborting = True
            outcome.decisions.append(Abort())

    def _preverified(self, event: Preverified, now: int) -> Outcome:
        outcome = Outcome(work=Work(kind="preverified"))
        task = self.task
        if task is None or task.kind is not Preverify:
            outcome.violation = Violation.RESULT_UNEXPECTED
            return outcome
        if event.passed > task.tokens or (event.passed == task.tokens) != (event.fix is None):
            outcome.violation = Violation.RESULT_RANGE
            return outcome
        self.task = None
        if task.aborting:
            outcome.work.late = True
            return outcome
        outcome.work.recorded = True
        self.pvct.record(duration(now, task.since, self.params), event.passed + (event.fix is not None))
        self.counters["preverified"] += event.passed
        pos = task.first + event.passed
        self.checked = max(self.checked, pos)
        self.trusted = True
        if event.fix is not None and pos >= self.head:
            outcome.work.fixed = True
            self._fix(pos, event.fix)
        return outcome

    def _fix(self, pos: int, fix: int) -> None:
        while len(self.batches) > 1 and self.batches[-2].end > pos:
            self.batches.pop()
        holder = self.batches[-1]
        holder.end = pos + 1
        self._reject(holder)
        self.predictor.restore()
        self.ring[pos % self.params.queue_depth] = fix
        self.counters["dropped"] += self.tail - pos
        self.tail = self.checked = pos + 1
        self.fed = min(self.fed, pos)
        self.counters["fixes"] += 1
        if self.npu_busy and pos < self.head + self.verify_tokens and self.limit is None:
            self.limit = pos

    def _aborted(self) -> Outcome:
        outcome = Outcome(work=Work(kind="aborted"))
        if self.task is None or not self.task.aborting:
            outcome.violation = Violation.ABORTED_UNEXPECTED
        else:
            self.task = None
        return outcome

    # Decisions.

    def _decide(self, now: int, outcome: Outcome) -> None:
        config, work = self.config, outcome.work
        if not self.npu_busy and self.batches:
            end = self.batches[-1].end if config.verify_all else self.batches[0].end
            self.verify_tokens = min(end - self.head, config.verify_max)
            self.npu_busy = True
            self.verify_since = now
            outcome.decisions.append(
                Verify(config.context + self.head - 1, self._tokens(self.head - 1, self.verify_tokens + 1))
            )
            work.verify_tokens = self.verify_tokens + 1
        if self.task is not None or len(self.batches) == self.params.batches:
            return
        if not config.edc or not self.batches or self.trusted:
            work.path = TaskPath.DIRECT
        elif self.predictor.lookup(len(self.batches)).go_on:
            work.path = TaskPath.GO_ON
        elif not config.tvc:
            work.path = TaskPath.SUPPRESS
            if config.suppress == "preverify":
                self._preverify(now, self._unchecked(), outcome)
            return
        else:
            work.path = TaskPath.TIMER
            tokens = self._time_for(now)
            if tokens:
                self._preverify(now, tokens, outcome)
                return
        self._draft(now, outcome)

    def _unchecked(self) -> int:
        return min(self.tail - self.checked, self.config.preverify_max)

    def predicted_left(self, now: int) -> int:
        """Ticks until the running verification ends, less one drafted token, as the timer predicts."""
        elapsed = duration(now, self.verify_since, self.params)
        return self.nvct.predict(self.verify_kv) - elapsed - self.pdct.predict(1)

    def _time_for(self, now: int) -> int:
        return longest_fit(self.predicted_left(now), self.pvct.predict(1), self._unchecked())

    def _tokens(self, position: int, count: int) -> tuple[int, ...]:
        return tuple(self.token_at(p) for p in range(position, position + count))

    def _preverify(self, now: int, tokens: int, outcome: Outcome) -> None:
        self.task = Task(Preverify, now, self.checked, tokens)
        outcome.decisions.append(
            Preverify(self.config.context + self.checked - 1, self._tokens(self.checked - 1, tokens + 1))
        )
        outcome.work.task_tokens = tokens + 1

    def _draft(self, now: int, outcome: Outcome) -> None:
        self.task = Task(Draft, now)
        tokens = self._tokens(self.fed, self.tail - self.fed)
        outcome.decisions.append(Draft(self.config.context + self.fed, tokens))
        outcome.work.task_tokens = len(tokens)

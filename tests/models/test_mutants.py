"""Mutants of the golden unit, one rule changed in each: vectors, random streams or commands tell them all.

A mutant is a piece of source replaced by another. The piece must stand once in its function, so that a
mutant that no longer fits the code is an error, not a survivor.

Some rules cannot be told apart from their absence, and have no mutant here: a flush clears ``trusted`` (so
does the next batch, and until then nothing is closed); a fix sets ``limit`` only while a verification runs
(one always does, since a batch is closed) and only within it (no verdict reaches beyond it); a fix rejects
its batch unless that is settled (a settled batch has been checked to its end).
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import pytest

from ahasd.models.control import timer, unit
from ahasd.models.control.environment import Environment
from ahasd.models.control.events import Aborted, Event, Feedback, Preverified, Token
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.predictor import EntropyHistoryPredictor
from ahasd.models.control.timer import CycleTable
from ahasd.models.control.unit import ControlUnit
from ahasd.models.replay import GoldenUnit, Replay, Step, read_replay, vectors

E, T, U = EntropyHistoryPredictor, CycleTable, ControlUnit

MUTANTS = [
    # Tokens and batches.
    (U, "_token", 'self.counters["tokens"] += 1', "pass"),
    (U, "_token", "self.fed = max(self.fed, self.tail)", "self.fed = self.tail - 1"),
    (U, "_token", "self.fed = max(self.fed, self.tail)", "self.fed = self.tail + 1"),
    (U, "_token", "self.open_entropy += event.entropy", "self.open_entropy = event.entropy"),
    (U, "_token", "self.open_tokens < self.config.max_draft", "self.open_tokens <= self.config.max_draft"),
    (U, "_token", "self.open_tokens < self.config.max_draft", "self.open_tokens < 16"),
    (U, "_token", "self.pdct.record", "self.pvct.record"),
    (U, "_token", "task.since, self.params), self.open_tokens", "task.since, self.params), 1"),
    (U, "_token", "len(self.batches) + 1", "len(self.batches)"),
    (U, "_token", "look.index))", "self.predictor.index(len(self.batches))))"),
    (U, "_token", "self.open_tokens = self.open_entropy = 0", "self.open_tokens = 0"),
    (U, "_token", "self.trusted = False", "pass"),
    (U, "_token", "+= not look.go_on", "+= look.go_on"),
    (U, "_token", "if task.aborting:", "if task.aborting and not event.last:"),
    (U, "_token", 'self.counters["stale"] += 1', 'self.counters["stale"] += not event.last'),
    (U, "_token", "or task.kind is not Draft", ""),
    # Feedback.
    (U, "_feedback", "event.accepted > self.verify_tokens", "event.accepted >= self.verify_tokens"),
    (U, "_feedback", "event.accepted > self.verify_tokens", "event.accepted > self.tail - self.head"),
    (U, "_feedback", "self.params), self.verify_kv)", "self.params), self.verify_tokens)"),
    (U, "_feedback", "self.params), self.verify_kv)", "self.params), self.verify_kv - 1)"),
    (U, "_feedback", "pos > self.limit", "pos >= self.limit"),
    (U, "_feedback", "pos > self.limit", "pos > self.limit + 1"),
    (U, "_feedback", "following = self.token_at(pos)", "pass"),
    (U, "_feedback", "pos = self.limit\n", "pass\n"),
    (U, "_feedback", "self.limit = None", "pass"),
    (U, "_feedback", "pos < self.tail and self.token_at(pos) == following", "pos < self.tail"),
    (
        U,
        "_feedback",
        "pos < self.tail and self.token_at(pos) == following",
        "self.token_at(pos) == following",
    ),
    (U, "_feedback", "pos < self.tail and self.token_at(pos) == following", "False"),
    (U, "_feedback", "self.head if hit else pos", "self.head"),
    (U, "_feedback", "self.head if hit else pos", "pos"),
    (U, "_feedback", "self.batches[0].end <= bound", "self.batches[0].end < bound"),
    (U, "_feedback", "while self.batches and", "if self.batches and"),
    (U, "_feedback", "if not batch.settled:", "if True:"),
    (U, "_feedback", "self._reject(self.batches[0])", "self._reject(self.batches[-1])"),
    (U, "_feedback", "self._reject(self.batches[0])", "pass"),
    (U, "_feedback", "self.open_tokens = self.open_entropy = 0", "self.open_tokens = 0"),
    (U, "_feedback", "self.open_tokens = self.open_entropy = 0", "pass"),
    (U, "_feedback", "self.predictor.restore()", "pass"),
    (U, "_feedback", "% self.params.queue_depth] = following", "% self.params.queue_depth] = committed[0]"),
    (U, "_feedback", "+= self.tail - pos", "+= self.tail - self.head"),
    (U, "_feedback", "self.tail = self.checked = self.head", "self.tail = self.head"),
    (U, "_feedback", "self.fed = min(self.fed, pos)", "pass"),
    (U, "_feedback", "self.fed = min(self.fed, pos)", "self.fed = pos"),
    (U, "_feedback", "self._abort(outcome)", "pass"),
    (U, "_feedback", "self.checked = max(self.checked, self.head)", "pass"),
    (U, "_feedback", "self.checked = max(self.checked, self.head)", "self.checked = self.head"),
    (U, "_reject", "self.predictor.reject(batch.index)", "self.predictor.reject(self.predictor.index(0))"),
    (U, "_reject", "batch.settled = True", "pass"),
    (U, "_reject", "if not batch.settled:", "if True:"),
    (U, "_abort", "self.task is not None and not self.task.aborting", "self.task is not None"),
    # Pre-verification results and fixes.
    (U, "_preverified", "event.passed > task.tokens", "event.passed > self.config.preverify_max"),
    (U, "_preverified", "(event.fix is None)", "(event.fix is None or task.aborting)"),
    (U, "_preverified", "if task.aborting:", "if task.aborting and event.fix is None:"),
    (U, "_preverified", "if task.aborting:", "if False:"),
    (U, "_preverified", "event.passed + (event.fix is not None)", "max(event.passed, 1)"),
    (U, "_preverified", "+= event.passed", "+= task.tokens"),
    (U, "_preverified", "self.checked = max(self.checked, pos)", "pass"),
    (U, "_preverified", "self.checked = max(self.checked, pos)", "self.checked = pos"),
    (U, "_preverified", "self.trusted = True", "self.trusted = event.fix is None"),
    (U, "_preverified", "pos >= self.head", "pos > self.head"),
    (U, "_preverified", "pos >= self.head", "task.first >= self.head"),
    (U, "_preverified", "pos >= self.head", "True"),
    (U, "_fix", "self.batches[-2].end > pos", "self.batches[-2].end >= pos"),
    (U, "_fix", "self.batches[-2].end > pos", "self.batches[-2].end > pos + 1"),
    (U, "_fix", "holder.end = pos + 1", "holder.end = pos"),
    (U, "_fix", "holder.end = pos + 1", "pass"),
    (U, "_fix", "self._reject(holder)", "self._reject(self.batches[0])"),
    (U, "_fix", "self._reject(holder)", "pass"),
    (U, "_fix", "self.predictor.restore()", "pass"),
    (U, "_fix", "+= self.tail - pos", "+= self.tail - pos - 1"),
    (U, "_fix", "self.tail = self.checked = pos + 1", "self.tail = pos + 1"),
    (U, "_fix", "self.fed = min(self.fed, pos)", "pass"),
    (U, "_fix", "self.fed = min(self.fed, pos)", "self.fed = pos - 1"),
    (U, "_fix", "pos < self.head + self.verify_tokens", "pos < self.head + self.verify_tokens - 1"),
    (U, "_fix", " and self.limit is None", ""),
    (U, "_aborted", "or not self.task.aborting", ""),
    # Decisions.
    (
        U,
        "_decide",
        "self.batches[-1].end if config.verify_all else self.batches[0].end",
        "self.batches[-1].end",
    ),
    (
        U,
        "_decide",
        "self.batches[-1].end if config.verify_all else self.batches[0].end",
        "self.batches[0].end",
    ),
    (U, "_decide", "config.verify_max", "32"),
    (U, "_decide", "self.verify_since = now", "self.verify_since = self.verify_since or now"),
    (U, "_decide", "== self.params.batches", "== self.params.batches - 1"),
    (U, "_decide", "not config.edc or ", ""),
    (U, "_decide", "not self.batches or ", ""),
    (U, "_decide", " or self.trusted", ""),
    (
        U,
        "_decide",
        "self.predictor.lookup(len(self.batches))",
        "self.predictor.lookup(len(self.batches) - 1)",
    ),
    (U, "_decide", "elif not config.tvc:", "elif False:"),
    (U, "_decide", 'config.suppress == "preverify"', "True"),
    (U, "_decide", "if tokens:", "if tokens > 1:"),
    (U, "_unchecked", "self.tail - self.checked", "self.tail - self.head"),
    (U, "_unchecked", "self.config.preverify_max", "8"),
    (U, "predicted_left", " - self.pdct.predict(1)", ""),
    (U, "predicted_left", " - elapsed", ""),
    (U, "predicted_left", "self.pdct.predict(1)", "self.pdct.predict(2)"),
    (U, "predicted_left", "self.verify_kv", "self.config.context + self.tail"),
    (U, "_time_for", "self.pvct.predict(1)", "self.pdct.predict(1)"),
    (U, "_preverify", "now, self.checked, tokens", "now, self.checked, self._unchecked()"),
    (U, "_preverify", "Task(Preverify, now,", "Task(Preverify, 0,"),
    (U, "_draft", "Task(Draft, now)", "Task(Draft, 0)"),
    (U, "verify_kv", "self.config.context + ", ""),
    # Commands.
    (U, "_begin_sequence", "self.fed = -1", "self.fed = 0"),
    (U, "_begin_sequence", "self.open_entropy = 0", "self.open_entropy = getattr(self, 'open_entropy', 0)"),
    (U, "start", "self.predictor.start_sequence()", "pass"),
    (U, "start", "if self._fresh:", "if True:"),
    (U, "start", "if self._fresh:", "if False:"),
    (U, "start", "if self.running:", "if self.running and not self.stopping:"),
    (U, "stop", "self._abort(outcome)", "pass"),
    (U, "_finish_stop", "not self.npu_busy and ", ""),
    (U, "_finish_stop", "and self.task is None", ""),
    (U, "step", "if self.stopping:", "if False:"),
    (U, "clear", "self.predictor.clear()", "pass"),
    (U, "clear", "self._load_presets()", "pass"),
    (U, "clear", "self.counters = dict.fromkeys(COUNTERS, 0)", "pass"),
    (U, "configure", "if self.running:", "if False:"),
    (U, "_load_presets", "self.pvct.preset(self.config.preverify_preset)", "pass"),
    (U, "_load_presets", "self._fresh = False", "pass"),
    # Predictor.
    (E, "clear", "self.WEAKLY_GO_ON", "self.STRONGLY_GO_ON"),
    (E, "start_sequence", "self.lceht = [0]", "self.lceht = [1]"),
    (E, "index", "<< self.params.llr_bits | llr", "<< self.params.llr_bits | (llr & 3)"),
    (E, "close", "[bucket, *self.leht[:-1]]", "[*self.leht[1:], bucket]"),
    (E, "lookup", ">= self.WEAKLY_GO_ON", "> self.WEAKLY_GO_ON"),
    (E, "accept", "self.STRONGLY_GO_ON", "4"),
    (E, "accept", "self.STRONGLY_GO_ON", "2"),
    (E, "accept", "[bucket, *self.lceht[:-1]]", "[bucket, *self.leht[:-1]]"),
    (E, "reject", ", 0)", ", 1)"),
    (E, "reject", "max(self.pht[index] - 1, 0)", "max(self.pht[index] - 2, 0)"),
    (E, "reject", "max(self.pht[index] - 1, 0)", "self.pht[index] - 1"),
    (E, "restore", "list(self.lceht)", "[0] * 8"),
    (unit, "bucket_of", "entropy_sum // tokens", "(entropy_sum + tokens - 1) // tokens"),
    (unit, "bucket_of", "entropy_sum // tokens", "entropy_sum // 16"),
    # Timer.
    (unit, "duration", "% (1 << params.time_bits)", "% (1 << 33)"),
    (unit, "duration", "params.duration_max", "params.duration_max + 1"),
    (unit, "duration", "(now - then) % (1 << params.time_bits)", "abs(now - then)"),
    (T, "record", "(ticks << 8) // length", "(ticks // length) << 8"),
    (T, "record", "(ticks << 8) // length", "-(-(ticks << 8) // length)"),
    (T, "record", "(self.oldest + 1)", "self.oldest"),
    (T, "record", "self.entries[self.oldest]", "self.entries[-1]"),
    (T, "preset", "self.oldest = 0", "pass"),
    (T, "predict", "mean * length >> 8", "sum(self.entries) * length >> 10"),
    (T, "predict", "mean * length >> 8", "(mean >> 8) * length"),
    (T, "predict", "min(mean * length >> 8, self.params.duration_max)", "mean * length >> 8"),
    (unit, "longest_fit", "left < cost", "left <= cost"),
    (unit, "longest_fit", "most if cost == 0 else ", "1 if cost == 0 else "),
    (unit, "longest_fit", "min(left // cost, most)", "1"),
    (unit, "longest_fit", "min(left // cost, most)", "most"),
]


@contextmanager
def mutated(owner: object, name: str, old: str, new: str) -> Iterator[None]:
    """``owner.name`` with one piece of its source replaced."""
    original = inspect.getattr_static(owner, name)
    function = original.fget if isinstance(original, property) else original
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, f"{name}: {old!r} stands {source.count(old)} times in it"
    space: dict[str, object] = {}
    exec(compile(source.replace(old, new), f"<{name}>", "exec"), vars(inspect.getmodule(function)), space)
    setattr(owner, name, space[name])
    try:
        yield
    finally:
        setattr(owner, name, original)


@cache
def recordings() -> list[Replay]:
    """The vectors, and random streams after them."""
    return [
        *(read_replay(path) for path in vectors()),
        *(Environment(seed).run(GoldenUnit()) for seed in range(200, 260)),
    ]


def differs(recording: Replay) -> bool:
    """The unit, as it is now, decides or counts otherwise, or fails."""
    under_test = GoldenUnit()
    try:
        for step in recording.steps:
            if decided(under_test, recording.config, step) != step.decisions:
                return True
        return under_test.counters() != recording.counters
    except Exception:
        return True


def decided(under_test: GoldenUnit, config: ControlConfig, step: Step) -> list[object]:
    if step.event is None:
        return list(under_test.start(config, step.at))
    return list(under_test.step(step.event, step.at))


def commands() -> list[object]:
    """All that a unit says when it is told what no recording has: commands, violations, further sequences."""
    log: list[object] = []
    control = ControlUnit()
    config = ControlConfig(max_draft=2, context=10, tvc=False, suppress="preverify", npu_preset=9)
    low, high = Token(1, 0, True), Token(2, 255, True)
    part = Token(4, 200, False)

    def say(outcome: object) -> None:
        tables = [
            (table.entries[:], table.oldest, table.predict(1), table.predict(70_000))
            for table in (control.nvct, control.pdct, control.pvct)
        ]
        log.append((outcome, control.running, control.stopping, dict(control.counters), tables))

    def events(*items: Event) -> None:
        for item in items:
            try:
                say(control.step(item, len(log)))
            except Exception as error:
                say(type(error))

    for round_ in range(3):
        say(control.configure(replace(config, preverify_preset=round_, verify_max=1 + round_)))
        say(control.start(round_))
        events(low, Feedback(0, 2), Aborted(), low)  # EDC has learnt to stop: pre-verification
        events(
            low, Aborted(), Preverified(1, 5), Preverified(2, None), Preverified(2, 5), Feedback(3, 1)
        )  # violations
        say(control.start(1))
        say(control.clear())
        say(control.configure(ControlConfig(max_draft=1)))
        if round_ == 0:
            events(Preverified(0, 9), high, high)
            say(control.stop())
            events(Token(3, 3, True), part, Aborted(), Aborted(), Feedback(0, 9))
        elif round_ == 1:
            say(control.stop())
            say(control.start(5))
            events(Preverified(1, 2))  # violation: late, but out of range
            events(Feedback(0, 3))
            say(control.stop())
            events(Preverified(0, 9))
            say(control.stop())
            say(control.clear())
        else:
            events(Feedback(0, 3), low, Preverified(1, None), part, part)
            say(control.stop())
            events(Feedback(1, 7), Aborted())
    for now in (7, 8):
        say(control.start(now))
        events(part)
        say(control.stop())
        events(Aborted())
    say(control.start(9))
    events(part, part)
    say(control.step(Preverified(2, None), 1 << 25))
    return log


EXPECTED = commands()


def survives(mutant: tuple[object, str, str, str]) -> bool:
    known = recordings()  # by the unit as it is
    with mutated(*mutant):
        try:
            if commands() != EXPECTED:
                return False
        except Exception:
            return False
        return not any(differs(recording) for recording in known)


def test_the_unchanged_unit_is_not_told_apart() -> None:
    assert not any(differs(recording) for recording in recordings())
    assert commands() == EXPECTED


def test_no_mutant_survives() -> None:
    assert len(MUTANTS) == len(set(map(str, MUTANTS))) >= 100
    survivors = [mutant[1:] for mutant in MUTANTS if survives(mutant)]
    assert survivors == [], f"{len(survivors)} of {len(MUTANTS)} survive"


def test_a_mutant_must_fit_the_code() -> None:
    with (
        pytest.raises(AssertionError, match="stands 0 times"),
        mutated(timer, "longest_fit", "no such", "piece"),
    ):
        pass

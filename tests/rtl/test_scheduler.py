"""The task scheduler decides as the specification's list says, in the cycles it documents."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest

from ahasd.rtl.scheduler import TaskScheduler
from ahasd.rtl.signatures import TaskKind

from .bench import PARAMS, pulse, simulate

DEPTH = PARAMS.queue_depth
VERIFY, DIRECT, GO_ON, ASK = 1, 2, 4, 5
"""Cycles after ``decide``, see TaskScheduler."""


@dataclass
class Situation:
    """All that a decision depends on."""

    edc: int = 1
    tvc: int = 1
    suppress_preverify: int = 0
    verify_all: int = 1
    verify_max: int = 32
    preverify_max: int = 8
    context: int = 100
    head: int = 50
    checked: int = 52
    tail: int = 60
    fed_two: int = 0
    batches: int = 3
    oldest_end: int = 54
    newest_end: int = 60
    go_on: int = 0
    timer_wait: int = 0
    """Cycles after ``decide`` until the timer is idle."""
    time_for: int = 0
    now: int = 1000


@dataclass(frozen=True)
class Issue:
    cycle: int
    kind: str
    position: int
    address: int
    count: int


@dataclass
class Outstanding:
    """What the scheduler keeps, by name of its outputs."""

    npu_busy: int = 0
    npu_since: int = 0
    issued: int = 0
    task_busy: int = 0
    task_kind: TaskKind = TaskKind.DRAFT
    task_since: int = 0
    first: int = 0
    size: int = 0
    aborting: int = 0
    trusted: int = 0


def decide(s: Situation, now: Outstanding, answer_delay: int) -> tuple[list[Issue], int]:
    """The requests and the cycle of ``done``; changes what is outstanding."""
    issues = []
    if not now.npu_busy and s.batches:
        end = s.newest_end if s.verify_all else s.oldest_end
        now.issued = min(end - s.head, s.verify_max)
        now.npu_busy, now.npu_since = 1, s.now
        issues.append(Issue(VERIFY, "verify", s.context + s.head - 1, s.head - 1, now.issued + 1))
    if now.task_busy or s.batches == PARAMS.batches:
        return issues, DIRECT
    unchecked = min(s.tail - s.checked, s.preverify_max)
    tokens = 0
    if not s.edc or not s.batches or now.trusted:
        cycle = DIRECT
    elif s.go_on:
        cycle = GO_ON
    elif not s.tvc:
        cycle = GO_ON
        if not s.suppress_preverify:
            return issues, cycle
        tokens = unchecked
    else:
        cycle = max(ASK, s.timer_wait) + answer_delay
        tokens = s.time_for
    if tokens:
        at, count = s.checked - 1, tokens + 1
    else:
        at, count = s.tail - 1 - s.fed_two, 1 + s.fed_two
    kind = "preverify" if tokens else "draft"
    issues.append(Issue(cycle, kind, s.context + at, at, count))
    now.task_busy, now.task_since, now.first, now.size = 1, s.now, s.checked, count - 1
    now.task_kind = TaskKind.PREVERIFY if tokens else TaskKind.DRAFT
    return issues, cycle


class Driver:
    """Plays queue, batch list, predictor and timer around the scheduler."""

    ANSWER_DELAY = 3

    def __init__(self, ctx: Any, dut: TaskScheduler) -> None:
        self.ctx, self.dut = ctx, dut
        self.expected = Outstanding()

    def check_outstanding(self) -> None:
        get, dut, expected = self.ctx.get, self.dut, self.expected
        for name in ("npu_busy", "task_busy", "aborting", "trusted"):
            assert get(getattr(dut, name)) == getattr(expected, name), name
        if expected.npu_busy:
            assert (get(dut.npu_since), get(dut.issued)) == (expected.npu_since, expected.issued)
        if expected.task_busy:
            for name in ("task_kind", "task_since", "size"):
                assert get(getattr(dut, name)) == getattr(expected, name), name
            if expected.task_kind is TaskKind.PREVERIFY:
                assert get(dut.first) == expected.first

    def apply(self, s: Situation) -> None:
        set_, dut = self.ctx.set, self.dut
        for name in (
            "edc", "tvc", "suppress_preverify", "verify_all", "verify_max", "preverify_max", "context",
        ):  # fmt: skip
            set_(dut.config[name], getattr(s, name))
        for name in ("head", "checked", "tail", "fed_two", "batches", "now"):
            set_(getattr(dut, name), getattr(s, name))
        set_(dut.timer_busy, int(s.timer_wait > 0))

    async def decide(self, s: Situation) -> list[Issue]:
        """One decision; its requests, which must be the expected ones in the expected cycles."""
        ctx, dut = self.ctx, self.dut
        self.apply(s)
        expected, done = decide(s, self.expected, self.ANSWER_DELAY)
        issues: list[Issue] = []
        answers_at = look_at = None
        ctx.set(dut.decide, 1)
        for cycle in range(200):
            ctx.set(dut.timer_busy, int(cycle < s.timer_wait))
            # The predictor's answer is there two cycles after the look-up, and only then.
            ctx.set(dut.go_on, s.go_on if look_at == cycle - 2 else 1 - s.go_on)
            ctx.set(dut.answered, int(answers_at == cycle))
            ctx.set(dut.time_for, s.time_for if answers_at == cycle else 5)
            if ctx.get(dut.lookup):
                look_at = cycle
            if ctx.get(dut.ask):
                assert answers_at is None
                assert cycle >= s.timer_wait
                answers_at = cycle + self.ANSWER_DELAY
                assert ctx.get(dut.most) == min(s.tail - s.checked, s.preverify_max)
                assert ctx.get(dut.kv_length) == s.context + s.head + self.expected.issued
            for kind in ("verify", "task"):
                if ctx.get(getattr(dut, kind)):
                    name = kind if kind == "verify" else ctx.get(dut.kind).name.lower()
                    issues.append(
                        Issue(cycle, name, ctx.get(dut.position), ctx.get(dut.address), ctx.get(dut.count))
                    )
            finished = ctx.get(dut.done)
            if ctx.get(dut.read_batch):
                end = s.newest_end if ctx.get(dut.newest) else s.oldest_end
                await ctx.tick()
                ctx.set(dut.batch_end, end)
            else:
                await ctx.tick()
            ctx.set(dut.decide, 0)
            if finished:
                break
        wrapped = [Issue(i.cycle, i.kind, i.position, i.address % DEPTH, i.count) for i in expected]
        assert issues == wrapped, s
        assert cycle == done
        self.check_outstanding()
        return issues

    async def event(self, **strobes: int) -> None:
        expected = self.expected
        await pulse(self.ctx, self.dut, **strobes)
        if strobes.get("npu_done"):
            expected.npu_busy = 0
        if strobes.get("task_done"):
            expected.task_busy = expected.aborting = 0
        if strobes.get("abort") and expected.task_busy:
            expected.aborting = 1
        if strobes.get("trust"):
            expected.trusted = 1
        if strobes.get("distrust"):
            expected.trusted = 0
        if strobes.get("start"):
            self.expected = Outstanding()
        self.check_outstanding()


def random_situation(source: random.Random) -> Situation:
    batches = source.randint(0, PARAMS.batches)
    head = source.choice([0, 1, DEPTH - 1, source.randint(0, 32000)])
    oldest = head + source.randint(1, 16)
    newest = oldest + source.randint(0, 16) * max(batches - 1, 0)
    if batches == 0:
        oldest = newest = head
    tail = newest + source.randint(0, 16)
    # EDC says stop only while something is not pre-verified.
    checked = source.randint(head, max(tail - 1, head))
    preverify_max = source.randint(1, PARAMS.preverify_max)
    return Situation(
        *(source.getrandbits(1) for _ in range(4)),
        verify_max=source.randint(1, PARAMS.verify_max),
        preverify_max=preverify_max,
        context=source.choice([1, 32767, source.randint(1, 32767)]),
        head=head,
        checked=checked,
        tail=tail,
        fed_two=int(batches == 0 and source.random() < 0.3),
        batches=batches,
        oldest_end=oldest,
        newest_end=newest,
        go_on=source.getrandbits(1),
        timer_wait=source.choice([0, 0, 3, ASK, 20]),
        time_for=source.randint(0, min(max(tail - checked, 0), preverify_max)),
        now=source.getrandbits(32),
    )


@pytest.mark.parametrize("seed", range(3))
def test_random_situations(seed: int) -> None:
    dut = TaskScheduler(PARAMS)
    source = random.Random(seed)
    kinds = set()

    async def bench(ctx: Any) -> None:
        driver = Driver(ctx, dut)
        await driver.event(start=1)
        for _ in range(200):
            for issue in await driver.decide(random_situation(source)):
                kinds.add(issue.kind)
            strobes = {name: int(source.random() < 0.5) for name in ("npu_done", "task_done")}
            strobes |= {name: int(source.random() < 0.2) for name in ("trust", "abort")}
            if not strobes["trust"]:
                strobes["distrust"] = int(source.random() < 0.3)
            strobes["abort"] &= 1 - strobes["task_done"]
            await driver.event(**strobes)
            if source.random() < 0.02:
                await driver.event(start=1)
        assert kinds == {"verify", "draft", "preverify"}

    simulate(dut, bench)


DIRECTED = {
    "caps the verification": Situation(verify_max=3),
    "oldest batch only": Situation(verify_all=0),
    "seven batches: no task": Situation(batches=7, newest_end=60),
    "nothing closed: draft": Situation(batches=0, tail=50, checked=50),
    "two tokens to feed": Situation(batches=0, tail=50, checked=50, fed_two=1),
    "EDC off": Situation(edc=0),
    "EDC says go on": Situation(go_on=1),
    "suppressed: wait": Situation(tvc=0),
    "suppressed: pre-verify": Situation(tvc=0, suppress_preverify=1),
    "suppressed: pre-verify, capped": Situation(tvc=0, suppress_preverify=1, preverify_max=2),
    "TVC overrules suppress": Situation(suppress_preverify=1, time_for=0),
    "time for one": Situation(time_for=1),
    "time for all": Situation(time_for=8),
    "the timer is busy with a record": Situation(time_for=2, timer_wait=30),
    "positions at their ends": Situation(
        context=32767, head=32000, checked=32100, tail=32112, oldest_end=32016, newest_end=32112
    ),
}


@pytest.mark.parametrize("situation", DIRECTED.values(), ids=DIRECTED)
def test_directed(situation: Situation) -> None:
    dut = TaskScheduler(PARAMS)

    async def bench(ctx: Any) -> None:
        driver = Driver(ctx, dut)
        await driver.event(start=1)
        await driver.decide(situation)
        await driver.event(npu_done=1)
        await driver.event(abort=1)
        await driver.decide(situation)  # a task being aborted is outstanding
        await driver.event(task_done=1)
        await driver.event(trust=1)
        await driver.decide(situation)

    simulate(dut, bench)

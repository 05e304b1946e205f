"""The PIM module by itself: times, hold-back, abort, rank switches."""

from __future__ import annotations

from typing import Any

import pytest
import simpy

from ahasd.models.control.events import Aborted, Draft, Event, Preverified, Preverify, Token
from ahasd.models.energy import Activity
from ahasd.models.policies import Cutter, Features, Policy, Verdict
from ahasd.models.rollout import DraftRollout, DraftToken
from ahasd.models.traces import load_trace
from ahasd.sim.caches import TargetCache, TrueText
from ahasd.sim.drafter import Drafter
from ahasd.sim.jobs import TargetRanks
from ahasd.sim.pim import Pim
from ahasd.sim.ports import ModelError, Output

DRAFT_PS, EXTRA_PS, PREVERIFY_PS, SWITCH_PS = 1000, 10, 5000, 7


class FlatCosts:
    """Round figures; each fed token after the first costs EXTRA_PS more."""

    layers = 1

    def draft_ps(self, kv_len: int, tokens: int) -> int:
        return DRAFT_PS + EXTRA_PS * (tokens - 1)

    def preverify_ps(self, kv_len: int, tokens: int) -> int:
        return PREVERIFY_PS

    def verify_ps(self, kv_len: int, tokens: int) -> int:
        return 0

    def prefill_ps(self, prompt_tokens: int) -> int:
        return 0

    def switch_ps(self) -> int:
        return SWITCH_PS

    def draft_activity(self, kv_len: int, tokens: int) -> Activity:
        return Activity(pim_bytes=1000 * tokens)

    def preverify_activity(self, kv_len: int, tokens: int) -> Activity:
        return Activity(pim_macs=1000 * tokens)

    def verify_activity(self, kv_len: int, tokens: int) -> Activity:
        return Activity()

    def prefill_activity(self, prompt_tokens: int) -> Activity:
        return Activity()


class Slot:
    """An input of a controller that takes events when the test lets it."""

    def __init__(self, env: simpy.Environment, log: list[tuple[int, Event]]) -> None:
        self.env, self.log = env, log
        self.closed = False
        self.waiting: list[simpy.Event] = []

    def send(self, event: Event) -> simpy.Event:
        self.log.append((int(self.env.now), event))
        done = self.env.event()
        self.waiting.append(done)
        if not self.closed:
            self.open()
        return done

    def open(self) -> None:
        self.closed = False
        for done in self.waiting:
            done.succeed()
        self.waiting.clear()


class Bench:
    """A PIM with a controller that only notes what comes."""

    def __init__(self, policy: Policy, max_draft: int = 16) -> None:
        self.env = simpy.Environment()
        self.log: list[tuple[int, Event]] = []
        self.token = Slot(self.env, self.log)
        self.result = Slot(self.env, self.log)
        self.feedback: Any = None
        self.task: Output[Draft | Preverify] = Output()
        self.verify: Output[Any] = Output()
        self.abort: Output[None] = Output()
        self.commit: Output[tuple[int, ...]] = Output()
        trace = load_trace("smollm2-greedy/00")
        self.y: list[int] = trace.y.tolist()
        self.rollout = DraftRollout(trace)
        self.context, self.prompt = trace.context, trace.prompt_token
        self.text = TrueText(self.y, self.context, self.prompt)
        self.cache = TargetCache(self.text)
        self.cutter: Cutter[DraftToken] = Cutter(policy, max_draft)
        self.pim = Pim(
            self.env,
            costs=FlatCosts(),
            drafter=Drafter(self.rollout, self.text),
            cutter=self.cutter,
            cache=self.cache,
            ranks=TargetRanks(self.env, "none"),
            text=self.text,
            controller=self,  # type: ignore[arg-type]
            h_max=7.0,
        )

    def first(self) -> None:
        self.task.put(Draft(self.context - 1, (self.prompt,)))

    def run(self, until: int | None = None) -> list[tuple[int, Event]]:
        """Run; what has come since the last time."""
        self.log.clear()
        self.env.run(until)
        return list(self.log)

    def ids(self, base: int, count: int, start: int = 0) -> list[int]:
        return [self.rollout.token(base, k).id for k in range(start, start + count)]


class Threes(Policy):
    """Batches of three."""

    name = "threes"
    params = None

    def begin_batch(self, position: int | None = None) -> None:
        self.count = 0

    def after(self, token: Features) -> Verdict:
        self.count += 1
        return Verdict.LAST if self.count == 3 else Verdict.GO_ON


class ThreesBefore(Threes):
    """Batches of three, known to have ended only when the fourth token is there."""

    holds_back = True

    def after(self, token: Features) -> Verdict:
        self.count += 1
        return Verdict.LAST_BEFORE if self.count == 4 else Verdict.GO_ON


def tokens(log: list[tuple[int, Event]]) -> list[tuple[int, int, bool]]:
    return [(at, event.id, event.last) for at, event in log if isinstance(event, Token)]


def test_a_draft_sends_each_token_when_it_is_there() -> None:
    bench = Bench(Threes())
    bench.first()
    a, b, c = bench.ids(0, 3)
    assert tokens(bench.run()) == [(1000, a, False), (2000, b, False), (3000, c, True)]
    # Going on: the rollout goes on, nothing but the last token is fed.
    bench.task.put(Draft(bench.context + 2, (c,)))
    d, e, f = bench.ids(0, 3, start=3)
    assert tokens(bench.run()) == [(4000, d, False), (5000, e, False), (6000, f, True)]
    assert [span.tokens for span in bench.pim.spans] == [3, 3]


def test_max_draft_ends_a_batch() -> None:
    bench = Bench(Threes(), max_draft=2)
    bench.first()
    assert [last for _, _, last in tokens(bench.run())] == [False, True]


def test_a_correction_starts_a_rollout_from_the_true_prefix() -> None:
    bench = Bench(Threes())
    bench.first()
    bench.run()
    # Two tokens, as after a batch that was accepted whole, with the target's token behind it.
    bench.task.put(Draft(bench.context + 2, (bench.y[2], bench.y[3])))
    assert [t for _, t, _ in tokens(bench.run())] == bench.ids(4, 3)
    at = [span.begin for span in bench.pim.spans]
    assert bench.pim.spans[-1].end == at[-1] + 3 * DRAFT_PS + EXTRA_PS


def test_a_false_prefix_is_caught() -> None:
    bench = Bench(Threes())
    bench.first()
    bench.run()
    bench.task.put(Draft(bench.context, (bench.y[0] + 1,)))
    with pytest.raises(ModelError, match="prefix of a draft"):
        bench.run()


def test_a_row_that_is_not_there_is_caught() -> None:
    bench = Bench(Threes())
    bench.task.put(Draft(bench.context + 5, (1,)))
    with pytest.raises(ModelError, match="draft model's KV cache"):
        bench.run()


def test_a_token_is_held_back_until_the_next_one_is_there() -> None:
    bench = Bench(ThreesBefore())
    bench.first()
    a, b, c = bench.ids(0, 3)
    assert tokens(bench.run()) == [(2000, a, False), (3000, b, False), (4000, c, True)]
    assert bench.pim.held == 1
    assert bench.pim.drafted == 4
    # It opens the next batch, if that goes on; it costs nothing again.
    bench.task.put(Draft(bench.context + 2, (c,)))
    d, e, f = bench.ids(0, 3, start=3)
    assert tokens(bench.run()) == [(5000, d, False), (6000, e, False), (7000, f, True)]
    assert bench.pim.drafted == 7
    assert bench.pim.wasted == 0


def test_a_token_held_back_is_wasted_if_another_prefix_is_asked_for() -> None:
    bench = Bench(ThreesBefore())
    bench.first()
    bench.run()
    bench.task.put(Draft(bench.context, (bench.y[0],)))
    assert [t for _, t, _ in tokens(bench.run())] == bench.ids(1, 3)
    assert bench.pim.wasted == 1


@pytest.mark.parametrize("policy", [Threes, ThreesBefore])
def test_abort_stops_at_once(policy: type[Policy]) -> None:
    bench = Bench(policy())
    bench.first()
    bench.run(until=1500)
    bench.abort.put(None)
    assert bench.run() == [(1500 + SWITCH_PS, Aborted())]
    (span,) = bench.pim.spans
    assert (span.aborted, span.end, span.tokens) == (True, 1500 + SWITCH_PS, 1)
    assert bench.pim.wasted == (1 if policy is ThreesBefore else 0)
    bench.task.put(Draft(bench.context, (bench.y[0],)))  # ready for the next
    assert len(tokens(bench.run())) == 3


def test_passes_are_counted_for_energy() -> None:
    """By the part done: after an abort, and while one runs; turning the ranks and stopping are no passes."""
    bench = Bench(Threes())
    bench.first()
    bench.run(until=2500)
    assert bench.pim.meter.total == Activity(pim_bytes=2500)
    bench.abort.put(None)
    bench.run()
    assert bench.pim.meter.total == Activity(pim_bytes=2500)
    bench.task.put(Draft(bench.context - 1, (bench.prompt, bench.y[0])))  # two tokens in one pass, two of one
    assert len(tokens(bench.run())) == 3
    assert bench.pim.meter.total == Activity(pim_bytes=6500)


def test_preverifications_are_counted_for_energy() -> None:
    bench = Bench(Threes())
    preverify(bench, bench.y[:2])
    bench.run(until=SWITCH_PS)
    assert bench.pim.meter.total == Activity()
    bench.run(until=SWITCH_PS + PREVERIFY_PS // 5)
    bench.abort.put(None)
    bench.run()
    assert bench.pim.meter.total == Activity(pim_macs=600)
    preverify(bench, bench.y[:2])
    bench.run()
    assert bench.pim.meter.total == Activity(pim_macs=3600)


def test_abort_while_the_last_token_waits_ends_with_aborted() -> None:
    bench = Bench(Threes())
    bench.first()
    bench.token.closed = True
    bench.run(until=3500)
    bench.abort.put(None)
    bench.token.open()
    assert bench.run() == [(3500 + SWITCH_PS, Aborted())]
    (span,) = bench.pim.spans
    assert (span.aborted, span.tokens) == (True, 3)


def preverify(bench: Bench, drafts: list[int]) -> None:
    bench.task.put(Preverify(bench.context - 1, (bench.prompt, *drafts)))


def test_preverify_finds_the_first_wrong_token() -> None:
    bench = Bench(Threes())
    preverify(bench, [bench.y[0], bench.y[1] + 1, bench.y[2]])
    assert bench.run() == [(SWITCH_PS + PREVERIFY_PS, Preverified(1, bench.y[1]))]
    assert bench.cache.rows == bench.context + 1  # the last prompt token and the one found right
    preverify(bench, bench.y[:2])
    ((at, result),) = bench.run()
    assert result == Preverified(2, None)
    assert at == SWITCH_PS + 2 * PREVERIFY_PS  # no switch: the target's ranks were on
    bench.first()
    assert tokens(bench.run())[0][0] == at + SWITCH_PS + DRAFT_PS


def test_abort_of_a_preverification() -> None:
    bench = Bench(Threes())
    preverify(bench, bench.y[:2])
    bench.run(until=100)
    bench.abort.put(None)
    assert bench.run() == [(100 + SWITCH_PS, Aborted())]
    assert bench.cache.rows == bench.context - 1


def test_abort_while_the_result_waits_is_answered_by_the_result() -> None:
    bench = Bench(Threes())
    bench.result.closed = True
    preverify(bench, bench.y[:2])
    bench.run(until=PREVERIFY_PS + 100)
    bench.abort.put(None)
    bench.result.open()
    assert bench.run() == []
    assert not bench.pim.spans[0].aborted
    bench.first()
    assert len(tokens(bench.run())) == 3


def test_one_task_at_a_time() -> None:
    bench = Bench(Threes())
    with pytest.raises(ModelError, match="no task"):
        bench.abort.put(None)
    bench.first()
    with pytest.raises(ModelError, match="outstanding"):
        bench.first()

"""Corners and long runs of the whole unit against the golden model, on the compiled engine."""

from __future__ import annotations

import random

import pytest

from ahasd.models.control.environment import Environment, Habits
from ahasd.models.control.events import Commit, Draft, Feedback, Token, Verify
from ahasd.models.control.params import ControlConfig
from ahasd.models.replay import GoldenUnit, first_difference
from ahasd.sim.compiled.build import compiler
from ahasd.sim.compiled.engine import CompiledReplayUnit

pytestmark = pytest.mark.skipif(compiler() is None, reason="no C++ compiler")

EVENTS = 1_000_000


def agree(seed: int, events: int, config: ControlConfig | None = None, habits: Habits | None = None) -> int:
    """The same environment around both units; events that were compared."""
    expected = Environment(seed, config, habits).run(GoldenUnit(), events)
    found = Environment(seed, config, habits).run(CompiledReplayUnit(), events)
    assert first_difference(expected, found) is None
    return len(found.steps) - 1


def habits(**changed: float) -> Habits:
    """Random ones with some of them set."""
    drawn = Habits.random(random.Random(1))
    return Habits(**{**{name: getattr(drawn, name) for name in Habits.__dataclass_fields__}, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_random_platforms(seed: int) -> None:
    assert agree(10_000 + seed, 1000) > 500


@pytest.mark.slow
def test_a_million_random_events() -> None:
    done = seed = 0
    while done < EVENTS:
        done += agree(20_000 + seed, 5000)
        seed += 1


@pytest.mark.parametrize("seed", range(3))
def test_timebase_wraps_around(seed: int) -> None:
    agree(seed, 2000, habits=habits(long=0.5))


@pytest.mark.parametrize("seed", range(3))
def test_verdicts_contradict_preverification(seed: int) -> None:
    config = ControlConfig(edc=True, tvc=False, suppress="preverify", max_draft=4)
    wrong = habits(contradict=1.0, accept=0.97, right=0.3, entropy=(192, 255), last=0.1, long=0.0)  # type: ignore[arg-type]
    expected = Environment(seed, config, wrong).run(GoldenUnit(), 4000)
    assert expected.counters["contradictions"] > 0
    agree(seed, 4000, config, wrong)


@pytest.mark.parametrize("seed", range(3))
def test_back_to_back_flushes(seed: int) -> None:
    always_wrong = habits(accept=0.0, ahead=0.0, agree=0.0, vocabulary=1 << 18)
    expected = Environment(seed, habits=always_wrong).run(GoldenUnit(), 1000)
    assert expected.counters["flushes"] > 50
    agree(seed, 1000, habits=always_wrong)


def test_seven_batches_of_sixteen_and_the_longest_context() -> None:
    config = ControlConfig(edc=False, tvc=False, context=32767, prompt_token=(1 << 18) - 1)
    golden, unit = GoldenUnit(), CompiledReplayUnit()
    assert unit.start(config, 0) == golden.start(config, 0)
    position = 0
    for batch in range(7):
        for number in range(16):
            event = Token(position, 255, number == 15)
            decisions = unit.step(event, position)
            assert decisions == golden.step(event, position)
            position += 1
        assert bool([d for d in decisions if isinstance(d, Draft)]) == (batch < 6)
    # The first batch is verified; all of it is right, and so is the look-ahead.
    event = Feedback(16, 16)
    decisions = unit.step(event, 1000)
    assert decisions == golden.step(event, 1000)
    assert Commit(tuple(range(17))) in decisions
    verify = [d for d in decisions if isinstance(d, Verify)]
    assert len(verify[0].tokens) == 33
    assert unit.counters() == golden.counters()


def test_the_sequence_goes_on_beyond_its_limit() -> None:
    """The status bit is all that happens at 32000; context and position together need 17 bits."""
    config = ControlConfig(edc=False, tvc=False, context=32767, max_draft=16, verify_max=32)
    right = habits(
        accept=1.0, ahead=1.0, last=0.0, vocabulary=1 << 18, long=0.0, token_ticks=1.0, verify_ticks=20.0
    )
    expected = Environment(5, config, right).run(GoldenUnit(), 60_000)
    committed = sum(len(d.tokens) for step in expected.steps for d in step.decisions if isinstance(d, Commit))
    assert committed >= 32_000
    agree(5, 60_000, config, right)

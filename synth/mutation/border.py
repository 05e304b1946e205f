"""Random environments whose PIM is timed so that the pre-verify timer decides at the border of what fits.

``tests/rtl/test_timer.py`` asks the timer by itself like this; here the whole unit is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from random import Random

from ahasd.models.control.environment import TIMEBASE, Environment, Habits, random_config
from ahasd.models.control.events import Decision, Event
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import ControlUnit
from ahasd.models.control.work import TaskPath
from ahasd.models.replay import GoldenUnit, Replay, Step

__all__ = ["border_runs"]

LATEST = 1 << 26
"""Ticks by which an event is put off at most."""
STEPS = 6
"""Of the search for a border."""


def border_runs(count: int, events: int) -> Iterator[Replay]:
    """``count`` recordings of ``events`` events each, on the golden unit."""
    for seed in range(count):
        rng = Random(f"{seed} border")
        config, habits = _suppressed(rng)
        unit = _PutOff(rng)
        recording = Environment(seed, config, habits).run(unit, events)
        yield Replay(config, unit.steps, recording.counters)


def _preset(ratio: int) -> int:
    """At least a tick, at most what an entry holds."""
    return min(max(ratio, 1 << 8), (1 << 32) - 1)


def _suppressed(rng: Random) -> tuple[ControlConfig, Habits]:
    """With rejections, which teach the predictor to stop: then the timer is asked."""
    context = rng.choice((1, 3, rng.randint(1, 64), rng.randint(1, 32767)))
    npu = rng.getrandbits(32) >> rng.randrange(22)
    verification = _preset(npu * context)  # about, in 1/256 ticks
    draft = _preset(verification >> rng.randrange(1, 10))
    preverify = _preset(verification >> rng.randrange(1, 6))
    config = replace(
        random_config(rng),
        edc=True,
        tvc=True,
        max_draft=rng.choice((1, 2, 4, 16)),
        preverify_max=8,
        context=context,
        npu_preset=npu,
        draft_preset=draft,
        preverify_preset=preverify,
    )
    # Durations as the presets have it, so that the tables stay in their range.
    habits = replace(
        Habits.random(rng),
        accept=0.5,
        ahead=0.1,
        late=0.5,
        entropy=(0, 20),
        long=0.0,
        contradict=0.0,
        verify_ticks=verification / 256,
        token_ticks=draft / 256,
        preverify_ticks=preverify / 256,
    )
    return config, habits


class _PutOff(GoldenUnit):
    """The golden unit in a time that is stretched before some events; ``steps`` have its readings."""

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self._rng = rng
        self._late = 0

    def start(self, config: ControlConfig, at: int) -> list[Decision]:
        decisions = super().start(config, at)
        self.steps.append(Step(at, None, decisions))
        return decisions

    def step(self, event: Event, at: int) -> list[Decision]:
        self._late += _delay(self._rng, self.unit, event, at + self._late)
        at = (at + self._late) % TIMEBASE
        decisions = super().step(event, at)
        self.steps.append(Step(at, event, decisions))
        return decisions


def _delay(rng: Random, unit: ControlUnit, event: Event, time: int) -> int:
    """Ticks after which the decision is at a border; 0 if it does not ask the timer or has none ahead.

    Secant steps: what is predicted falls as the event is put off, but not at one for one, since the event
    may also record how long its task took.
    """
    count, off = rng.randint(0, unit.config.preverify_max), rng.choice((-1, 0, 0, 1))
    tried: list[tuple[int, int]] = []  # delay, ticks too many
    delay = 0
    for _ in range(STEPS):
        trial = deepcopy(unit)
        at = (time + delay) % TIMEBASE
        if trial.step(event, at).work.path is not TaskPath.TIMER:
            return 0
        excess = trial.predicted_left(at) - count * trial.pvct.predict(1) - off
        tried.append((delay, excess))
        if excess == 0:
            break
        slope = 1.0
        if len(tried) > 1 and (fall := tried[-2][1] - excess):
            slope = (delay - tried[-2][0]) / fall
        delay += round(slope * excess)
        if not 0 <= delay < LATEST:
            return 0
    return delay

"""Random events that a golden unit's state allows, and recordings made of them."""

from __future__ import annotations

import random
from collections.abc import Callable

from ahasd.models.control.events import Aborted, Draft, Event, Feedback, Preverified, Token
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import ControlUnit
from ahasd.models.replay import GoldenUnit, Replay, Step

__all__ = ["ALPHABET", "random_config", "random_event", "record"]

ALPHABET = (0, 1, 0x20001, 0x3FFFF)
"""Few token ids, so that verdicts often agree with what is queued by chance."""
TIMEBASE = 1 << 32


def random_config(source: random.Random, **fixed: object) -> ControlConfig:
    """A configuration with which all paths are taken often; ``fixed`` overrides."""
    values: dict[str, object] = {
        "edc": source.random() < 0.9,
        "tvc": source.random() < 0.7,
        "suppress": source.choice(["wait", "preverify"]),
        "verify_all": source.random() < 0.8,
        "max_draft": source.choice([1, 2, 3, 5, 16]),
        "verify_max": source.choice([1, 4, 16, 32]),
        "preverify_max": source.choice([1, 4, 8]),
        "context": source.choice([1, 500, 30000]),
        "prompt_token": source.getrandbits(18),
        "npu_preset": source.choice([0, 4096, 1 << 20, 1 << 31]),
        "draft_preset": source.choice([0, 0, 7680]),
        "preverify_preset": source.choice([0, 5120]),
    }
    return ControlConfig(**(values | fixed))  # type: ignore[arg-type]


def token(golden: ControlUnit, source: random.Random) -> Token:
    last = source.random() < 0.4 or golden.open_tokens + 1 == golden.config.max_draft
    return Token(source.choice(ALPHABET), source.choice([0, 90, 180, 255, source.randrange(256)]), last)


def preverified(tokens: int, source: random.Random) -> Preverified:
    passed = source.randint(0, tokens)
    return Preverified(passed, None if passed == tokens else source.choice(ALPHABET))


def feedback(issued: int, source: random.Random) -> Feedback:
    accepted = issued if source.random() < 0.5 else source.randint(0, issued)
    return Feedback(accepted, source.choice(ALPHABET))


def random_event(golden: ControlUnit, source: random.Random) -> Event:
    """An event that NPU or PIM may send in the golden unit's present state; there always is one."""
    choices: list[Event] = []
    task = golden.task
    if golden.npu_busy:
        choices.append(feedback(golden.verify_tokens, source))
    if task is not None and task.kind is Draft:
        choices += [token(golden, source)] * 3
    if task is not None and task.kind is not Draft:
        choices += [preverified(task.tokens, source)] * 2
    if task is not None and task.aborting:
        choices.append(Aborted())
    return source.choice(choices)


def record(
    config: ControlConfig,
    seed: int,
    events: int,
    make: Callable[[], ControlUnit] = ControlUnit,
    at: int = TIMEBASE - 2000,
) -> Replay:
    """Random events and the golden unit's decisions; the timebase wraps around early in them."""
    source = random.Random(seed)
    golden = GoldenUnit(make)
    steps = [Step(at, None, golden.start(config, at))]
    for _ in range(events):
        at = (at + source.choice([0, 1, 30, 400, 3000])) % TIMEBASE
        event = random_event(golden.unit, source)
        steps.append(Step(at, event, golden.step(event, at)))
    return Replay(config, steps, golden.counters())

"""Recorded events for the mutants: conformance vectors, random environments, a co-simulation.

All of it is also played to the unit as it is and compared with the golden model by the tests named here.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from ahasd.models.control.environment import Environment, Habits
from ahasd.models.control.params import ControlConfig, UnitParams
from ahasd.models.replay import GoldenUnit, Replay, read_replay, vectors
from ahasd.sim.config import RunConfig
from ahasd.sim.port_bits import SLOTS, config_bits, event_bits, port_map, slot_of
from ahasd.sim.run import simulate
from ahasd.synth.mutation.border import border_runs

__all__ = ["Script", "long_scripts", "short_scripts"]

ENVIRONMENTS = 10
EVENTS = 1000
BORDERS = 200
BORDER_EVENTS = 100


@dataclass(frozen=True)
class Script:
    """``words`` as ``script.cc`` reads them; outputs are taken with a chance of ``ready`` in 1024 a cycle."""

    name: str
    words: array[int]
    ready: int


def encode(recording: Replay) -> array[int]:
    """A recording's start and events as 32-bit words."""
    ports = port_map(UnitParams())
    width = sum(width for _, width in ports["config"].values())
    config = config_bits(recording.config, ports)
    words = array("I")
    for step in recording.steps:
        if step.event is None:
            words.extend((1, step.at))
            words.extend(config >> shift & 0xFFFFFFFF for shift in range(0, width, 32))
        else:
            bits = event_bits(step.event, ports)
            slot = SLOTS.index(slot_of(step.event))
            words.extend((0, step.at, slot, bits & 0xFFFFFFFF, bits >> 32))
    return words


def short_scripts() -> Iterator[Script]:
    """The vectors, the border of the timer, random environments."""
    for number, path in enumerate(vectors()):  # tests/rtl/test_vectors.py; tests/rtl/test_backpressure.py
        yield Script(path.stem, encode(read_replay(path)), (1024, 700)[number % 2])
    for number, recording in enumerate(border_runs(BORDERS, BORDER_EVENTS)):
        yield Script(f"timer at the border {number}", encode(recording), 1024)
    for seed in range(ENVIRONMENTS):  # tests/rtl/test_abuse.py
        recording = Environment(seed).run(GoldenUnit(), EVENTS)
        yield Script(f"environment {seed}", encode(recording), (1024, 300)[seed % 2])


def long_scripts() -> Iterator[Script]:
    """Long sequences and a co-simulation."""
    for name, environment, events in _long():
        yield Script(name, encode(environment.run(GoldenUnit(), events)), 1024)
    (run,) = simulate(RunConfig(engine="golden")).runs
    assert run.recording is not None
    yield Script("co-simulation", encode(run.recording), 1024)


def _long() -> Iterator[tuple[str, Environment, int]]:
    """Long sequences: positions beyond 2^14, every row of the predictor's table trained."""
    drawn = Habits.random(Random(1))
    names = Habits.__dataclass_fields__
    right: dict[str, float | tuple[int, int]] = {name: getattr(drawn, name) for name in names}
    right |= {"accept": 0.97, "ahead": 0.9, "right": 0.8, "agree": 0.5, "contradict": 0.2, "late": 0.5}
    right |= {"vocabulary": 1 << 18, "stale": 0.5, "entropy": (0, 255), "last": 0.1}
    for name, tvc, verify_ticks in (("timer", True, 500.0), ("no timer", False, 100.0)):
        config = ControlConfig(
            tvc=tvc,
            suppress="preverify",
            context=32767,
            npu_preset=256,
            draft_preset=256 * 20,
            preverify_preset=256 * 10,
        )
        times = {"token_ticks": 20.0, "verify_ticks": verify_ticks, "preverify_ticks": 10.0, "long": 0.0}
        habits = Habits(**{**right, **times})  # type: ignore[arg-type]
        yield f"long sequence, {name}", Environment(7, config, habits), 40_000
    # A slow NPU: seven batches of sixteen wait.
    slow = {"token_ticks": 1.0, "verify_ticks": 3000.0, "last": 0.0, "long": 0.0}
    for verify_max in (20, 32):
        config = ControlConfig(edc=False, context=32767, verify_max=verify_max)
        habits = Habits(**{**right, **slow})  # type: ignore[arg-type]
        yield f"slow NPU, {verify_max} a time", Environment(8, config, habits), 2000

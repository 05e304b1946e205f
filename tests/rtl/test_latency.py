"""``models.control.latency`` is the RTL's timing, cycle for cycle, and within the specification's limits."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from ahasd.models.control.events import Abort, Commit, Verify
from ahasd.models.control.latency import latency
from ahasd.models.control.params import UnitParams
from ahasd.models.control.unit import ControlUnit as GoldenControlUnit
from ahasd.models.control.unit import Outcome
from ahasd.models.control.work import TaskPath, Work
from ahasd.models.replay import Replay, read_replay, vectors
from ahasd.sim.compiled.build import compiler
from ahasd.sim.compiled.engine import CompiledReplayUnit
from ahasd.sim.engine import Decided
from ahasd.sim.rtl_engine import RtlReplayUnit

from .bench import PARAMS
from .streams import random_config, record

needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C++ compiler")

OFFER_LIMIT = 32
TIMER_OFFER_LIMIT = 128


@dataclass(frozen=True)
class Edges:
    """Cycles after an event was taken at which its decisions were seen to take effect."""

    free: int
    committed: int | None = None
    abort: int | None = None
    verify_taken: int | None = None
    task_taken: int | None = None


def expected_edges(outcome: Outcome, params: UnitParams) -> Edges:
    """An abort's time counts only if there was a task to abort."""
    timing = latency(outcome.work, params)
    abort = timing.abort if Abort() in outcome.decisions else None
    return Edges(timing.free, timing.committed, abort, timing.verify_taken, timing.task_taken)


def seen_edges(unit: RtlReplayUnit | CompiledReplayUnit) -> Edges:
    seen: dict[str, int] = {}
    for output in unit.outputs:
        if not isinstance(output, Decided):
            continue
        match output.decision:
            case Commit():
                name = "committed"
            case Abort():
                name = "abort"
            case Verify():
                name = "verify_taken"
            case _:
                name = "task_taken"
        assert name not in seen
        seen[name] = output.edge - unit.taken
    return Edges(unit.free - unit.taken, **seen)


def works(
    recording: Replay, unit: RtlReplayUnit | CompiledReplayUnit | None = None, params: UnitParams = PARAMS
) -> Iterator[Work]:
    """The golden unit's work for each event; ``unit`` must decide the same and take as long."""
    golden = GoldenControlUnit(params)
    golden.configure(recording.config)
    for number, step in enumerate(recording.steps, 2):
        if step.event is None:
            outcome = golden.start(step.at)
            if unit is not None:
                decisions = unit.start(recording.config, step.at)
        else:
            outcome = golden.step(step.event, step.at)
            if unit is not None:
                decisions = unit.step(step.event, step.at)
        if unit is not None:
            assert decisions == outcome.decisions
            assert seen_edges(unit) == expected_edges(outcome, params), f"line {number}: {outcome}"
        yield outcome.work


def check_limits(work: Work) -> None:
    timing = latency(work)
    if timing.verify_offered is not None:
        assert timing.verify_offered - work.committed <= OFFER_LIMIT
    if timing.task_offered is not None:
        limit = TIMER_OFFER_LIMIT if work.path is TaskPath.TIMER else OFFER_LIMIT
        assert timing.task_offered - work.committed <= limit


def in_simulator() -> list[Replay]:
    """Short streams in which every path to a task is taken."""
    configs = [
        {"edc": True, "tvc": True, "max_draft": 2, "verify_max": 4, "preverify_preset": 0},
        {"edc": True, "tvc": False, "suppress": "preverify", "max_draft": 3, "verify_all": False},
    ]
    return [
        record(random_config(random.Random(seed), **config), seed, 250) for seed, config in enumerate(configs)
    ]


@pytest.mark.parametrize("recording", in_simulator(), ids=["timer", "suppress"])
def test_simulated_unit_takes_as_long(recording: Replay) -> None:
    done = list(works(recording, RtlReplayUnit()))
    paths = {work.path for work in done}
    assert paths >= {TaskPath.NONE, TaskPath.DIRECT, TaskPath.GO_ON}
    assert paths & {TaskPath.TIMER, TaskPath.SUPPRESS}
    assert any(work.fixed for work in done)
    assert any(work.flushed for work in done)


@needs_compiler
@pytest.mark.parametrize("path", vectors(), ids=lambda path: path.stem)
def test_compiled_unit_takes_as_long_and_offers_in_time(path: Path) -> None:
    for work in works(read_replay(path), CompiledReplayUnit()):
        check_limits(work)


@needs_compiler
@pytest.mark.parametrize("seed", range(10))
def test_compiled_unit_on_random_streams(seed: int) -> None:
    recording = record(random_config(random.Random(1000 + seed)), seed, 1000)
    for work in works(recording, CompiledReplayUnit()):
        check_limits(work)


def legal_works() -> Iterator[Work]:
    """Every combination of what an event may cause, at the ends of the counts; some cannot even occur."""
    kinds = [
        *(Work(kind="start", presets_loaded=loaded) for loaded in (False, True)),
        Work(kind="token", recorded=True),
        *(
            Work(kind="feedback", recorded=True, committed=committed, retired=retired, flushed=flushed)
            for committed, retired, flushed in product(
                (1, 2, 12, PARAMS.verify_max + 1), (0, 1, PARAMS.batches), (False, True)
            )
        ),
        *(Work(kind="preverified", recorded=True, fixed=fixed) for fixed in (False, True)),
        Work(kind="preverified", late=True),
        Work(kind="aborted"),
    ]
    for base, path, verify, task in product(kinds, TaskPath, (0, 2, PARAMS.verify_max + 1), (1, 2, 9)):
        work = Work(**{name: getattr(base, name) for name in base.__slots__})
        work.path, work.verify_tokens = path, verify
        work.task_tokens = 0 if path is TaskPath.NONE else task
        yield work


def test_offers_of_the_worst_legal_work_come_in_time() -> None:
    for work in legal_works():
        check_limits(work)
    slowest = max(
        (latency(work).task_offered or 0) - work.committed
        for work in legal_works()
        if work.path is TaskPath.TIMER
    )
    assert slowest > OFFER_LIMIT, "the timer's limit is tested on nothing"

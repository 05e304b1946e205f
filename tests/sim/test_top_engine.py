"""The top in the loop: programmed over its registers, in three clock domains, checked by a golden unit."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ahasd.models.control.environment import Environment
from ahasd.models.control.events import (
    Abort,
    Aborted,
    Draft,
    Event,
    Feedback,
    Preverified,
    Preverify,
    Token,
)
from ahasd.models.control.params import ControlConfig
from ahasd.models.replay import GoldenUnit, first_difference, read_replay, replay, vectors
from ahasd.rtl.registers.ahasd_map import TIMES
from ahasd.sim.compiled.build import compiler, top_library
from ahasd.sim.compiled.top import TopEngine, TopReplayUnit, TopUnit
from ahasd.sim.config import RunConfig
from ahasd.sim.engine import Decided, Output, Taken
from ahasd.sim.observer import Observer
from ahasd.sim.ports import ModelError
from ahasd.sim.run import simulate

pytestmark = [
    pytest.mark.hdl,
    pytest.mark.skipif(compiler() is None, reason="no C++ compiler"),
]

CROSSING_PS = 6 * 1000 + 2 * 1250
"""docs/integration.md: six cycles of the NPU's clock and one of the memory side's, which the engine rounds up
to the next edge."""
SWITCH = 1 + 3 + 2
"""Cycles of the rank gate: a beat, a switch, and the grant's request and answer."""

RUNS = [
    RunConfig(tokens=150),
    RunConfig(tokens=100, system="async", trace="smollm2-greedy/02"),
    RunConfig(
        tokens=60, set={"platform.npu.clock_ps": 7310, "control.suppress": "preverify", "control.tvc": False}
    ),
    RunConfig(tokens=60, set={"platform.npu.clock_ps": 300, "platform.contention": "none"}),
    RunConfig(tokens=40, set={"platform.control_clock_ps": 5_000, "platform.npu.clock_ps": 300}),
]


def document(config: RunConfig, engine: str) -> dict[str, object]:
    """Of a run, which checks losslessness, every decision, and the registers at its end."""
    found = simulate(replace(config, engine=engine)).to_dict()
    del found["wall"]
    return found


@pytest.mark.parametrize("config", RUNS, ids=lambda config: f"{config.system}-{config.set}")
def test_runs_are_lossless_checked_and_repeat(config: RunConfig) -> None:
    first, second = document(config, "top"), document(config, "top")
    assert json.dumps(first) == json.dumps(second)
    assert first["engine"]["name"] == "top"  # type: ignore[index]


def test_what_the_top_adds_to_each_latency() -> None:
    """In memory cycles: nothing on the way to the host, the gate to the PIM, a crossing to the NPU."""
    config = RunConfig(tokens=150)
    golden, top = (document(config, name)["engine"]["latency_cycles"] for name in ("golden", "top"))  # type: ignore[index]
    assert golden.keys() == top.keys()
    for path in golden:
        added = [top[path][key] - golden[path][key] for key in ("min", "max")]
        kind = path.split(".")[-1]
        if kind in ("commit", "abort"):
            assert added == [0, 0], path
        elif kind == "verify":
            assert 0 < min(added) <= max(added) <= -(-CROSSING_PS // 1250), path
        else:
            assert 1 <= min(added) <= max(added) <= SWITCH, path


def play(every: bool) -> tuple[list[Output], dict[str, int]]:
    """A short session with long pauses: outputs, and counters with those of ticks."""
    engine = TopEngine(every=every)
    outputs: list[Output] = []

    def run(to: int) -> None:
        while new := engine.advance(to):
            outputs.extend(new)

    engine.start(ControlConfig(edc=False, max_draft=3), 5)
    run(700)
    edge = 700
    for number in range(6):
        engine.submit(Token(number, 9, number % 3 == 2), edge + 1)
        edge += 1013 if number % 2 else 90
        run(edge)
    engine.submit(Feedback(3, 3), edge + 1)
    run(edge + 9000)
    engine.submit(Feedback(1, 77), edge + 9001)
    engine.unit.access("STATUS", None, edge + 12_345)  # so that both get there
    run(edge + 12_400)
    return outputs, engine.unit.counters(*TIMES)


def test_skipping_edges_changes_nothing() -> None:
    assert play(every=False) == play(every=True)


@pytest.mark.parametrize("path", vectors(), ids=lambda path: path.stem)
def test_vectors(path: object) -> None:
    """All of them: a simulator can set the timebase that the top keeps for itself."""
    recording = read_replay(path)  # type: ignore[arg-type]
    assert first_difference(recording, replay(recording, TopReplayUnit())) is None


@pytest.mark.parametrize("seed", range(3))
def test_random_platforms(seed: int) -> None:
    expected = Environment(30_000 + seed).run(GoldenUnit(), 500)
    assert first_difference(expected, Environment(30_000 + seed).run(TopReplayUnit(), 500)) is None


def test_the_status_bit_of_the_sequence_limit() -> None:
    """32000 tokens set it, and its interrupt; a stop clears it, and a new sequence begins."""
    config = ControlConfig(edc=False, tvc=False)
    unit, observer = TopUnit(top_library()), Observer(config, late=True)
    unit.write("INTERRUPT_ENABLE", 1 << 2)
    unit.configure(config, unit.edge + 1)
    unit.command("start", unit.edge + 1)
    give(unit, observer)
    golden = observer.unit
    right = 0  # tokens of the running verification; its look-ahead begins with token 0
    while golden.head < 32_010:
        for number in range(16):
            give(unit, observer, (Token(number, 0, number == 15), 1))
        if right:
            give(unit, observer, (Feedback(right, 0), 1))
        right = 15 if right else 16
        observer.steps.clear()
        if golden.head > 31_900:
            assert unit.status()["sequence_full"] == golden.sequence_full == (golden.head >= 32_000)
    assert unit.read("INTERRUPT_STATUS") == 1 << 2
    assert unit.read("COMMITTED") == golden.head
    unit.command("stop")
    observer.stop()
    give(unit, observer, (Aborted(), 1))
    if golden.npu_busy:
        give(unit, observer, (Feedback(0, 3), 1))
    status = unit.status()
    assert (status["sequence_full"], status["running"], unit.errors()) == (0, 0, [])
    unit.command("start", unit.edge + 1)
    (started, draft) = unit.run(unit.edge + 10_000, to_rest=True)
    assert isinstance(started, Taken)
    assert isinstance(draft, Decided)


def test_a_difference_between_registers_and_golden_unit_is_an_error() -> None:
    engine, observer = TopEngine(), Observer(ControlConfig(), late=True)
    engine.start(ControlConfig(), 3)
    for output in engine.advance(1000):
        observer.watch(output)
    engine.submit(Token(1, 2, False), 1001)
    for output in engine.advance(2000):
        observer.watch(output)
    observer.unit.counters["stale"] += 1
    with pytest.raises(ModelError, match="the registers say"):
        engine.finish(observer)


@pytest.mark.parametrize("drain", [0, 60])
def test_a_request_aborted_before_it_is_taken_is_answered_in_the_engine(drain: int) -> None:
    """A draft waits for ranks that drain while a verdict flushes the queue: the PIM never hears of it."""
    config = ControlConfig(edc=True, tvc=False, suppress="preverify", max_draft=1)
    found = set()
    for delay in range(4, 60, 4):
        unit, observer = TopUnit(top_library(), drain=drain), Observer(config, late=True)
        unit.configure(config, 1)
        unit.command("start", 1)
        give(unit, observer)
        give(unit, observer, (Token(1, 0, True), 1))
        give(unit, observer, (Feedback(0, 5), 1))  # refuses it: of the next one the predictor thinks ill
        give(unit, observer, (Aborted(), 1))
        outputs = give(unit, observer, (Token(2, 0, True), 1))
        assert any(isinstance(o, Decided) and isinstance(o.decision, Preverify) for o in outputs)
        outputs = give(unit, observer, (Preverified(1, None), 1), (Feedback(0, 9), delay))
        observer.complete()
        inside = [o.decision if isinstance(o, Decided) else o.event for o in outputs if o.inside]
        assert [type(item) for item in inside] in ([], [Draft, Abort, Aborted])
        found.add(bool(inside))
    assert found == ({False} if drain == 0 else {False, True})


def give(unit: TopUnit, observer: Observer, *events: tuple[Event, int]) -> list[Output]:
    """Events, each so many cycles from now, and all that follows, checked."""
    edge = unit.edge
    for event, delay in events:
        unit.submit(event, edge + delay)
    outputs = unit.run(edge + 10_000, to_rest=True)
    for output in outputs:
        observer.watch(output)
    return outputs

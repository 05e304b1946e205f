"""The whole unit under random pressure on every port: decisions depend on the order of events alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from ahasd.models.control.events import Aborted, Feedback, Token
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import ControlUnit as GoldenControlUnit
from ahasd.rtl.control_unit import ControlUnit

from .bench import simulate
from .environment import Npu, Pim
from .pair import GoldenNeverGoOn, NeverGoOn
from .pins import Pins, Watched
from .scoreboard import Scoreboard
from .streams import random_config


def run(seed: int, scenario: Callable[[Pins], Any], never_go_on: bool = False, **ready: float) -> Pins:
    """Run ``scenario`` on a fresh unit in a random environment; the bench as it is after it."""
    source = random.Random(seed)
    if never_go_on:
        unit, golden = ControlUnit(predictor=NeverGoOn), GoldenControlUnit(predictor=GoldenNeverGoOn)
    else:
        unit, golden = ControlUnit(), GoldenControlUnit()
    watched = Watched(unit)
    made: list[Pins] = []

    async def bench(ctx: Any) -> None:
        npu = Npu(source, ready.get("npu", 0.5))
        pim = Pim(source, ControlConfig(), ready.get("pim", 0.5))
        pins = Pins(ctx, watched, Scoreboard(golden), npu, pim, source)
        made.append(pins)
        await pins.reset_done()
        await scenario(pins)

    simulate(watched, bench)
    return made[0]


@pytest.mark.parametrize(
    ("seed", "never_go_on", "npu", "pim"),
    [
        (0, False, 0.5, 0.5),
        (1, False, 0.1, 0.9),
        (2, False, 0.9, 0.1),
        (3, True, 0.1, 0.5),
        (4, True, 0.9, 0.9),
        (5, True, 0.3, 0.1),
    ],
)
def test_random_pressure(seed: int, never_go_on: bool, npu: float, pim: float) -> None:
    """Two sequences: predictor, cycle tables and counters go on from the first to the second."""
    short = random_config(random.Random(seed), edc=True, tvc=False, suppress="preverify", max_draft=3)
    timed = random_config(random.Random(seed), edc=True, tvc=True, max_draft=2, preverify_preset=0)

    async def scenario(pins: Pins) -> None:
        for config in (short, timed):
            await pins.start(config)
            await pins.run(1500)
            await pins.finish()

    pins = run(seed, scenario, never_go_on, npu=npu, pim=pim)
    counters = pins.scoreboard.golden.counters
    assert counters["flushes"] > 5
    assert counters["tokens"] > 30
    assert pins.contests > 0, "no two inputs ever waited together"
    assert pins.aborts > 0
    if never_go_on:
        assert counters["preverified"] + counters["fixes"] > 0


def test_random_pressure_covers_late_results_and_stale_tokens() -> None:
    async def scenario(pins: Pins) -> None:
        for number in range(3):
            config = random_config(
                pins.source, edc=True, tvc=False, suppress="preverify", max_draft=2 + number
            )
            await pins.start(config)
            await pins.run(1200)
            await pins.finish()

    pins = run(7, scenario, never_go_on=True, npu=0.9, pim=0.5)
    assert pins.pim.late_results > 0
    assert pins.scoreboard.golden.counters["stale"] > 0
    assert pins.scoreboard.golden.counters["fixes"] > 0
    assert any(isinstance(event, Aborted) for event in pins.scoreboard.events)


def test_tokens_are_taken_while_the_npu_takes_no_request() -> None:
    config = ControlConfig(edc=False, max_draft=4)

    async def scenario(pins: Pins) -> None:
        await pins.start(config)
        await pins.run(1500)
        golden = pins.scoreboard.golden
        assert len(golden.batches) == 7
        assert golden.tail > 7
        assert pins.scoreboard.owed["verify"][0].taken == 0
        pins.npu.ready = 0.8
        await pins.run(1000)
        assert golden.counters["flushes"] > 0
        await pins.finish()

    pins = run(11, scenario, npu=0.0)
    assert sum(isinstance(event, Token) for event in pins.scoreboard.events) > 20


def test_a_result_waits_until_the_verify_request_has_left() -> None:
    """Not even the header is taken: the result stays at its input; when all beats have left it is taken."""
    config = ControlConfig(tvc=False, suppress="preverify", max_draft=4)

    async def scenario(pins: Pins) -> None:
        await pins.start(config)
        await pins.run(600)
        assert "result" in pins.waiting
        assert pins.result_waits > 300
        golden = pins.scoreboard.golden
        assert golden.counters["preverified"] == golden.counters["fixes"] == 0
        pins.npu.ready = 1.0
        await pins.run(300)
        assert golden.counters["preverified"] + golden.counters["fixes"] > 0
        await pins.finish()

    run(13, scenario, never_go_on=True, npu=0.0, pim=0.9)


def test_verdicts_are_taken_while_the_pim_takes_no_task() -> None:
    """A flush aborts a task whose request still waits; the PIM, when it takes it, answers at once."""
    config = ControlConfig(edc=False, max_draft=4)

    async def scenario(pins: Pins) -> None:
        golden = pins.scoreboard.golden
        await pins.start(config)
        for _ in range(2000):
            await pins.step()
            if golden.npu_busy:
                break
        pins.pim.ready = 0.0
        await pins.run(400)
        assert golden.counters["flushes"] + golden.counters["accepted"] > 0
        assert pins.scoreboard.owed["task"]
        pins.pim.ready = 0.5
        await pins.run(600)
        await pins.finish()

    for seed in range(3):
        run(20 + seed, scenario, npu=1.0, pim=1.0)


def test_no_answer_is_taken_before_its_request_has_left() -> None:
    """Even if one comes too early: from a PIM and an NPU that have taken the header only."""
    config = ControlConfig(edc=False, max_draft=4)

    async def scenario(pins: Pins) -> None:
        golden = pins.scoreboard.golden
        await pins.start(config)
        for port, agent, event in (
            ("task", pins.pim, Token(1, 1, True)),
            ("verify", pins.npu, Feedback(0, 1)),
        ):
            agent.ready = 1.0
            while not (pins.scoreboard.owed[port] and pins.scoreboard.owed[port][0].headed):
                await pins.step()
            agent.ready = 0.0
            await pins.run(5)
            assert pins.scoreboard.owed[port][0].taken == 0
            pins.present(event)
            before = len(pins.scoreboard.events)
            await pins.run(200)
            assert event in pins.waiting.values()
            assert event not in pins.scoreboard.events[before:]
            if port == "task":
                del pins.waiting["token"]  # against the rules of streams, but it has never happened
                pins.ctx.set(pins.unit.token.valid, 0)
                pins.pim.ready = 1.0
        assert golden.npu_busy

    run(31, scenario, npu=0.0, pim=0.0)

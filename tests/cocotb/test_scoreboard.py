"""The bench's agents and scoreboard without a simulator."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

import pytest

from ahasd.models.control.environment import Environment
from ahasd.models.control.events import Abort, Aborted, Commit, Draft, Feedback, Preverify, Token, Verify
from ahasd.models.control.params import ControlConfig, UnitParams
from ahasd.models.replay import GoldenUnit, Replay, Step
from ahasd.sim.benches.agents import Pin, Pressure, Sink, Source
from ahasd.sim.benches.scoreboard import Assembler, Needs, Scoreboard, needs
from ahasd.sim.port_bits import port_map

PORTS = port_map(UnitParams())
DRAFT = Draft(9, (7,))
VERIFY = Verify(9, (7, 1))
STEPS = [
    Step(0, None, [DRAFT]),
    Step(1, Token(1, 0, True), [VERIFY, Draft(10, (1,))]),
    Step(2, Feedback(0, 5), [Commit((5,)), Abort()]),
    Step(2, Aborted(), [Draft(10, (5,))]),
]
RECORDING = Replay(ControlConfig(), STEPS, {})


class Dut:
    """Ports that are attributes."""

    _name = "dut"

    def __init__(self, *names: str) -> None:
        self.ports = {name: SimpleNamespace(value=0) for name in names}

    def _get(self, name: str) -> SimpleNamespace | None:
        return self.ports.get(name)

    def __getitem__(self, name: str) -> SimpleNamespace:
        return self.ports[name]


def test_scoreboard_takes_what_is_expected() -> None:
    board = Scoreboard(RECORDING)
    board.taken = 3
    for decision in (Commit((5,)), DRAFT, Abort(), Draft(10, (1,)), VERIFY):
        board.decided(decision)
    assert not board.drained
    assert board.describe_missing() == f"{STEPS[3].decisions[0]} of step 3"
    board.decided(Draft(10, (99,)), cancelled=True)
    assert board.drained
    assert board.seen == {"commit": 1, "abort": 1, "verify": 1, "task": 3}


@pytest.mark.parametrize(
    ("taken", "decision", "cancelled", "message"),
    [
        (3, Draft(9, (8,)), False, "step 0: expected Draft"),
        (3, Draft(8, (8,)), True, "step 0: expected Draft"),
        (3, Draft(9, (7, 7)), True, "step 0: expected Draft"),
        (3, Preverify(9, (7,)), False, "step 0: expected Draft"),
        (-1, DRAFT, False, "comes before step 0"),
        (0, VERIFY, False, "comes before step 1"),
        (3, Commit((6,)), False, "step 2: expected Commit"),
    ],
)
def test_scoreboard_refuses(taken: int, decision: object, cancelled: bool, message: str) -> None:
    board = Scoreboard(RECORDING)
    board.taken = taken
    with pytest.raises(AssertionError, match=message):
        board.decided(decision, cancelled)  # type: ignore[arg-type]


def test_scoreboard_refuses_what_is_too_much() -> None:
    board = Scoreboard(RECORDING)
    board.taken = 3
    board.decided(Abort())
    with pytest.raises(AssertionError, match="abort: nothing expected"):
        board.decided(Abort())


def test_needs() -> None:
    assert needs(STEPS) == [Needs(), Needs(tasks=1), Needs(verifies=1), Needs(tasks=2, aborts=1)]
    # With a stale token after it, the verdict must not come before the PIM has taken the request.
    stale = [*STEPS[:3], Step(2, Token(3, 0, False)), STEPS[3]]
    assert needs(stale)[2:] == [Needs(tasks=2, verifies=1), Needs(tasks=2), Needs(tasks=2, aborts=1)]


def test_needs_are_what_the_unit_has_decided_before() -> None:
    recording = Environment(3).run(GoldenUnit(), 300)
    for number, needed in enumerate(needs(recording.steps)):
        decided = [d for step in recording.steps[:number] for d in step.decisions]
        assert needed.verifies <= sum(isinstance(d, Verify) for d in decided)
        assert needed.tasks <= sum(isinstance(d, Draft | Preverify) for d in decided)
        assert needed.aborts <= sum(isinstance(d, Abort) for d in decided)


def bits(port: str, **values: int) -> int:
    return sum(value << PORTS[port][name][0] for name, value in values.items())


def header(position: int, tokens: int, **more: int) -> int:
    return bits("request", header=1, data=bits("header", position=position, tokens=tokens), **more)


def test_assembler() -> None:
    assembler = Assembler(PORTS)
    assert assembler.beat("commit", bits("commit", token=3)) is None
    assert assembler.beat("task", header(5, 2, kind=1)) is None
    assert assembler.beat("verify", header(6, 1)) is None
    assert assembler.beat("task", bits("request", data=8, kind=1)) is None
    assert assembler.beat("verify", bits("request", data=9, last=1)) == Verify(6, (9,))
    assert assembler.beat("task", bits("request", data=7, last=1, kind=1)) == Preverify(5, (8, 7))
    assert assembler.beat("commit", bits("commit", token=4, last=1)) == Commit((3, 4))
    assembler.beat("task", header(5, 1))
    assert assembler.beat("task", bits("request", data=1, last=1)) == Draft(5, (1,))


@pytest.mark.parametrize(
    ("beats", "message"),
    [
        ([header(5, 2), header(5, 2)], "a header within a request"),
        ([header(5, 2, last=1)], "a request without tokens"),
        ([header(5, 2), bits("request", data=1, last=1)], "2 tokens announced, last at 1"),
        ([header(5, 1), bits("request", data=1)], "1 tokens announced, last at 1"),
    ],
)
def test_assembler_refuses(beats: list[int], message: str) -> None:
    assembler = Assembler(PORTS)
    for beat in beats[:-1]:
        assembler.beat("task", beat)
    with pytest.raises(AssertionError, match=message):
        assembler.beat("task", beats[-1])


class Ready(Pressure):
    """As told."""

    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)

    def ready(self) -> bool:
        return self.answers.pop(0)


def sink(*ready: bool) -> tuple[Dut, Sink]:
    dut = Dut("o__valid", "o__ready", "o__payload")
    agent = Sink(dut, "o", Random(1))
    agent._pressure = Ready(*ready)
    return dut, agent


def test_sink_takes_held_beats() -> None:
    dut, agent = sink(True, False, False, True)
    assert agent.cycle() is None
    dut["o__valid"].value, dut["o__payload"].value = 1, 42
    assert agent.cycle() is None
    assert (agent.held, agent.offered) == (True, True)
    assert agent.cycle() is None
    assert agent.cycle() == 42
    assert (agent.held, dut["o__ready"].value) == (False, 1)


@pytest.mark.parametrize(("valid", "payload", "message"), [(0, 42, "valid fell"), (1, 43, "payload changed")])
def test_sink_refuses_a_change(valid: int, payload: int, message: str) -> None:
    dut, agent = sink(False, True)
    dut["o__valid"].value, dut["o__payload"].value = 1, 42
    agent.cycle()
    dut["o__valid"].value, dut["o__payload"].value = valid, payload
    with pytest.raises(AssertionError, match=message):
        agent.cycle()


def test_source_holds_until_taken() -> None:
    dut = Dut("i__valid", "i__ready", "i__payload")
    agent = Source(dut, "i")
    agent.offer(5)
    agent.sample()
    assert not agent.settle()
    assert (dut["i__valid"].value, dut["i__payload"].value, agent.waiting) == (1, 5, True)
    dut["i__ready"].value = 1
    agent.sample()
    assert agent.waiting
    assert agent.settle()
    assert (dut["i__valid"].value, agent.waiting) == (0, False)


def test_pressure_has_all_moods() -> None:
    pressure = Pressure(Random(1))
    answers = [pressure.ready() for _ in range(20_000)]
    runs = "".join("10"[not answer] for answer in answers)
    assert "1" * 100 in runs
    assert "0" * 100 in runs
    assert "0101" in runs


def test_pin_with_an_escaped_name() -> None:
    dut = Dut("\\config ")
    Pin(dut, "config").set(3)
    assert dut["\\config "].value == 3
    with pytest.raises(AttributeError, match="dut has no port none"):
        Pin(dut, "none")

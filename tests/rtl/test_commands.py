"""Start, stop and clear, in every phase of a sequence and in the middle of an event."""

from __future__ import annotations

import random

import pytest

from ahasd.models.control.events import Abort, Aborted, Commit, Feedback, Preverified, Token
from ahasd.models.control.latency import latency
from ahasd.models.control.params import ControlConfig, UnitParams
from ahasd.models.control.unit import COUNTERS
from ahasd.models.control.work import Violation, Work
from ahasd.sim.engine import Decided

from .pair import Pair
from .phases import DRAFT_CONFIG, PHASES, in_phase
from .streams import random_config, random_event

EDC = {"edc": True, "tvc": True, "max_draft": 2, "verify_max": 4, "preverify_preset": 0}


@pytest.mark.parametrize("phase", PHASES)
def test_stop_in_each_phase(phase: str) -> None:
    """Aborts the task, decides nothing new, and is idle after the last answer; then a new sequence starts."""
    pair = in_phase(phase)
    golden = pair.golden
    source = random.Random(phase)
    had_task = golden.task is not None and not golden.task.aborting
    outcome = pair.stop()
    assert outcome.decisions == ([Abort()] if had_task else [])
    while golden.running:
        assert pair.unit.status("stopping")
        decisions = pair.step(random_event(golden, source)).decisions
        assert all(isinstance(decision, Commit) for decision in decisions)
    assert not pair.unit.status("running")
    assert not pair.unit.status("stopping")
    pair.start(random_config(source))
    pair.random(source, 25)


@pytest.mark.parametrize("accepted", [0, 2, 3])
@pytest.mark.parametrize("aborted_first", [False, True])
def test_feedback_after_stop_is_processed_in_full(accepted: int, aborted_first: bool) -> None:
    pair = in_phase("verifying")
    pair.stop()
    if aborted_first:
        pair.step(Aborted())
        assert pair.unit.status("running")
    outcome = pair.step(Feedback(accepted, 12345))
    assert outcome.decisions == [Commit((*(10, 20, 30)[:accepted], 12345))]
    assert pair.golden.counters["flushes"] == 1
    if not aborted_first:
        assert pair.unit.status("running")
        pair.step(Token(1, 1, True))
        pair.step(Aborted())
    assert not pair.unit.status("running")


def test_a_late_result_ends_a_stopped_preverification() -> None:
    pair = in_phase("preverifying")
    pair.stop()
    pair.step(Preverified(1, 77))
    assert pair.unit.status("running")
    assert pair.golden.counters["preverified"] == 0
    pair.step(Feedback(3, 1))
    assert not pair.unit.status("running")


def test_stop_again_and_stop_while_idle_do_nothing() -> None:
    pair = in_phase("idle")
    assert pair.stop().decisions == []
    pair.start(DRAFT_CONFIG)
    assert pair.stop().decisions == [Abort()]
    assert pair.stop().decisions == []
    pair.step(Aborted())
    assert not pair.unit.status("running")
    assert pair.stop().decisions == []
    assert pair.unit.cause() == 0


@pytest.mark.parametrize("never_go_on", [False, True])
def test_sequences_go_on_from_each_other(never_go_on: bool) -> None:
    """Predictor, tables and counters go on; queue, histories and limit begin anew; ``clear`` clears."""
    pair = Pair(never_go_on)
    source = random.Random(3)
    for number in range(4):
        config = random_config(source, **EDC, npu_preset=1 << 20)
        pair.configure(config)
        if number == 2:
            pair.clear()
            assert pair.unit.counters() == dict.fromkeys(COUNTERS, 0)
        pair.start()
        if number == 1:
            assert pair.golden.counters["tokens"] > 0
            assert pair.golden.nvct.entries != [config.npu_preset] * 4
        pair.random(source, 50)
        pair.finish(source)


def test_training_outlives_a_sequence_and_clear_ends_it() -> None:
    """A rejection at a sequence's first index makes the next one suppress there, but not after ``clear``."""
    pair = Pair()
    config = ControlConfig(tvc=False, max_draft=1)
    answers = []
    for number in range(4):
        if number == 3:
            pair.clear()
        pair.start(config)
        outcome = pair.step(Token(1, 0, True))
        answers.append(len(outcome.decisions))
        pair.step(Feedback(0, 2))
        source = random.Random(number)
        pair.finish(source)
    assert answers == [2, 1, 1, 2]  # a verification, and a draft unless suppressed


def test_clear_before_the_first_start_takes_the_presets_of_then() -> None:
    pair = Pair()
    early = ControlConfig(**EDC, npu_preset=1 << 31)
    pair.configure(early)
    pair.clear()
    pair.start(ControlConfig(**EDC, npu_preset=0))
    assert pair.golden.nvct.entries == [early.npu_preset] * 4
    pair.random(random.Random(1), 100)


def test_first_start_loads_presets_and_later_ones_do_not() -> None:
    pair = Pair()
    source = random.Random(6)
    pair.start(ControlConfig(**EDC, npu_preset=1 << 20))
    pair.finish(source)
    pair.start(ControlConfig(**EDC, npu_preset=0))
    assert pair.golden.nvct.entries == [1 << 20] * 4
    pair.random(source, 80)


def test_clear_and_start_in_one_cycle() -> None:
    """Both are done, clear first."""
    pair = Pair()
    source = random.Random(2)
    pair.start(ControlConfig(**EDC))
    pair.random(source, 60)
    pair.finish(source)
    pair.configure(ControlConfig(**EDC, npu_preset=1 << 24))
    outputs = pair.unit.pulse(pair.unit.edge + 1, pair.now, clear=1, start=1) + pair.rest()
    pair.golden.clear()
    expected = pair.golden.start(pair.now)
    assert [output.decision for output in outputs if isinstance(output, Decided)] == expected.decisions
    pair.check()
    pair.random(source, 60)


@pytest.mark.parametrize("command", ["start", "clear", "config_write", "stop"])
def test_commands_in_the_middle_of_an_event(command: str) -> None:
    """In every cycle of a token's and a verdict's processing: done after it (a write: noted at once)."""
    for delay in (0, 3, 10, 33):
        pair = in_phase("verifying")
        golden, unit = pair.golden, pair.unit
        pair.now += 1
        event = (Feedback(3, 5), Token(1, 1, True))[delay % 2]
        unit.present(event)
        outputs = []
        for _ in range(2 + delay):  # two: seen, taken
            outputs += unit.clock(unit.edge + 1, pair.now)
        outputs += unit.pulse(unit.edge + 1, pair.now, **{command: 1}) + pair.rest()
        expected = golden.step(event, pair.now).decisions
        if command == "stop":
            expected += golden.stop().decisions
        else:
            cause = Violation.CONFIGURATION if command == "config_write" else Violation.COMMAND
            pair.cause = 1 << cause
        assert [output.decision for output in outputs if isinstance(output, Decided)] == expected
        pair.check()


def test_commands_take_as_long_as_the_latency_function_says() -> None:
    pair = Pair()
    pair.configure(DRAFT_CONFIG)
    for command in ("clear", "start", "stop"):
        taken = pair.unit.edge + 2  # seen in the cycle after the strobe
        outcome = getattr(pair, command)()
        timing = latency(outcome.work)
        assert pair.unit.edge + 1 - taken == timing.free, command
        if command == "stop":
            assert timing == latency(Work(kind="stop"))
            assert [output.edge - taken for output in pair.outputs] == [timing.abort]


def test_sequence_full_is_told() -> None:
    pair = Pair(params=UnitParams(sequence_limit=20))
    source = random.Random(8)
    pair.start(DRAFT_CONFIG)
    while pair.golden.head < 30:
        assert pair.unit.status("sequence_full") == (pair.golden.head >= 20)
        pair.random(source, 1)
    assert pair.unit.status("sequence_full")
    pair.finish(source)
    assert not pair.unit.status("sequence_full")

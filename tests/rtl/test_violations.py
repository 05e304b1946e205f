"""Every protocol violation: consumed, noted, and otherwise without effect, as in the golden unit."""

from __future__ import annotations

import random

import pytest

from ahasd.models.control.events import Abort, Aborted, Event, Feedback, Preverified, Token
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.work import Violation
from ahasd.sim.engine import Taken
from ahasd.sim.port_bits import config_bits

from .pair import Pair
from .phases import BATCH, DRAFT_CONFIG, PHASES, in_phase

OFFENDERS: list[tuple[str, Event, Violation]] = [
    *((phase, Feedback(0, 1), Violation.FEEDBACK_UNEXPECTED) for phase in ("idle", "drafting")),
    ("aborting draft", Feedback(0, 1), Violation.FEEDBACK_UNEXPECTED),
    *(
        ("verifying", Feedback(accepted, 1), Violation.FEEDBACK_RANGE)
        for accepted in (BATCH + 1, BATCH + 2, 32, 63)
    ),
    ("stopping", Feedback(BATCH + 1, 1), Violation.FEEDBACK_RANGE),
    *(
        (phase, Token(7, 7, last), Violation.TOKEN_UNEXPECTED)
        for phase in ("idle", "full", "preverifying", "aborting preverification")
        for last in (False, True)
    ),
    *(
        (phase, Preverified(1, 2), Violation.RESULT_UNEXPECTED)
        for phase in ("idle", "drafting", "verifying", "full", "aborting draft", "stopping")
    ),
    *(
        (phase, Preverified(passed, fix), Violation.RESULT_RANGE)
        for phase in ("preverifying", "aborting preverification")
        for passed, fix in (
            (BATCH + 1, None), (BATCH + 1, 5), (15, None), (15, 5), (BATCH, 5), (BATCH - 1, None), (0, None),
        )
    ),
    *(
        (phase, Aborted(), Violation.ABORTED_UNEXPECTED)
        for phase in ("idle", "drafting", "verifying", "full", "preverifying")
    ),
]  # fmt: skip


def go_on(pair: Pair, events: int = 25) -> None:
    """The violation has left no trace but its bit: decisions go on as the golden unit's."""
    if not pair.golden.running:
        pair.start(DRAFT_CONFIG)
    source = random.Random(events)
    for _ in range(events):
        if pair.golden.stopping:
            pair.finish(source)
            return
        pair.random(source, 1)


@pytest.mark.parametrize("phase", PHASES)
def test_events_that_may_not_come(phase: str) -> None:
    """One after the other: each leaves its bit and nothing else, so the phase stays what it was."""
    pair = in_phase(phase)
    task = pair.golden.task
    for event, violation in [(event, violation) for where, event, violation in OFFENDERS if where == phase]:
        for _ in range(2):
            assert pair.step(event).violation is violation, event
            assert pair.unit.cause() == 1 << violation
            assert [type(output) for output in pair.outputs] == [Taken], "not consumed, or followed by more"
        assert pair.golden.task is task
        pair.clear_errors()
        assert pair.unit.cause() == 0
    go_on(pair)


@pytest.mark.parametrize("phase", ["drafting", "verifying", "preverifying"])
def test_causes_stay_until_they_are_cleared(phase: str) -> None:
    pair = in_phase(phase)
    for where, event, _ in OFFENDERS:
        if where == phase:
            pair.step(event)
    assert pair.cause.bit_count() > 1
    go_on(pair)
    assert pair.unit.cause() == pair.cause
    pair.clear_errors()


def test_every_cause_is_covered() -> None:
    covered = {violation for _, _, violation in OFFENDERS}
    others = {Violation.COMMAND, Violation.CONFIGURATION, Violation.MISSING_LAST}
    assert covered | others == set(Violation)


@pytest.mark.parametrize("phase", [name for name in PHASES if name != "idle"])
def test_commands_that_may_not_come(phase: str) -> None:
    pair = in_phase(phase)
    assert pair.start().violation is Violation.COMMAND
    pair.clear_errors()
    assert pair.clear().violation is Violation.COMMAND
    pair.clear_errors()
    pair.configure(ControlConfig(edc=True, max_draft=1))
    assert pair.cause == 1 << Violation.CONFIGURATION
    go_on(pair)


def test_clear_errors_lets_a_violation_of_the_same_cycle_stand() -> None:
    pair = in_phase("drafting")
    pair.start()
    assert pair.unit.cause() == 1 << Violation.COMMAND
    pair.unit.pulse(pair.unit.edge + 1, pair.now, clear_errors=1, config_write=1)
    assert pair.unit.cause() == 1 << Violation.CONFIGURATION


def test_start_with_a_configuration_out_of_range() -> None:
    outside = [
        *(("max_draft", value) for value in (0, 17, 31)),
        *(("verify_max", value) for value in (0, 33, 63)),
        *(("preverify_max", value) for value in (0, 9, 15)),
        ("context", 0),
    ]
    pair = in_phase("idle")
    unit = pair.unit
    for key, value in outside:
        offset, width = unit.ports["config"][key]
        bits = config_bits(DRAFT_CONFIG, unit.ports) & ~(((1 << width) - 1) << offset) | value << offset
        unit._context.set(unit.dut.config.as_value(), bits)
        assert unit.pulse(unit.edge + 1, pair.now, start=1) + pair.rest() == []
        assert unit.cause() == 1 << Violation.CONFIGURATION
        assert pair.error()
        assert not unit.status("running")
        pair.clear_errors()
    go_on(pair)


def test_start_with_a_configuration_at_the_ends_of_its_range() -> None:
    inside = [
        *(("max_draft", value) for value in (1, 16)),
        *(("verify_max", value) for value in (1, 32)),
        *(("preverify_max", value) for value in (1, 8)),
        *(("context", value) for value in (1, 32767)),
        ("prompt_token", (1 << 18) - 1),
    ]
    pair = in_phase("idle")
    source = random.Random(4)
    for key, value in inside:
        pair.start(ControlConfig(**{key: value}))
        pair.random(source, 8)
        pair.finish(source)
    assert pair.unit.cause() == 0


@pytest.mark.parametrize("max_draft", [1, 4, 16])
def test_missing_last_is_taken_as_last(max_draft: int) -> None:
    pair = in_phase("idle")
    pair.start(ControlConfig(edc=False, max_draft=max_draft))
    for number in range(1, max_draft + 1):
        outcome = pair.step(Token(number, 50, False))
        assert (outcome.violation is Violation.MISSING_LAST) == (number == max_draft)
    assert len(outcome.decisions) == 2, "no verification, or no next task"
    assert pair.unit.status("llr") == 1
    assert pair.unit.cause() == 1 << Violation.MISSING_LAST
    go_on(pair)


def test_a_stale_last_token_does_not_end_the_task() -> None:
    pair = in_phase("aborting draft")
    stale = pair.golden.counters["stale"]
    for _ in range(3):
        assert pair.step(Token(7, 7, True)).decisions == []
    assert pair.golden.counters["stale"] == stale + 3
    assert pair.unit.status("task")
    assert pair.step(Aborted()).decisions != []
    assert pair.unit.cause() == 0


def test_more_stale_tokens_than_a_batch_holds_are_no_violation() -> None:
    pair = in_phase("aborting draft")
    for _ in range(3 * DRAFT_CONFIG.max_draft):
        assert pair.step(Token(7, 7, False)).violation is None
    pair.step(Aborted())
    go_on(pair)
    assert pair.unit.cause() == 0


@pytest.mark.parametrize(("passed", "fix"), [(0, 5), (BATCH - 1, 5), (BATCH, None)])
def test_a_late_result_only_ends_the_task(passed: int, fix: int | None) -> None:
    pair = in_phase("aborting preverification")
    before = dict(pair.golden.counters)
    outcome = pair.step(Preverified(passed, fix))
    assert outcome.violation is None
    assert pair.golden.counters == before
    assert outcome.work.task_tokens > 0
    go_on(pair)
    assert pair.unit.cause() == 0


def test_the_task_is_still_outstanding_after_a_result_out_of_range() -> None:
    pair = in_phase("preverifying")
    assert pair.step(Preverified(BATCH + 1, None)).violation is Violation.RESULT_RANGE
    assert Abort() in pair.step(Feedback(0, 12345)).decisions
    assert pair.step(Preverified(0, None)).violation is Violation.RESULT_RANGE
    assert pair.step(Preverified(BATCH, None)).violation is None
    assert pair.unit.cause() == 1 << Violation.RESULT_RANGE


def test_waiting_inputs_are_taken_feedback_token_result() -> None:
    """A token and a result cannot wait together without a violation, so two of the three are."""
    pair = in_phase("verifying")
    for event in (Preverified(0, 1), Token(3, 3, False), Feedback(3, 5)):
        pair.unit.present(event)
    taken = [output.event for output in pair.rest() if isinstance(output, Taken)]
    assert taken == [Feedback(3, 5), Token(3, 3, False), Preverified(0, 1)]

"""The golden control unit beyond the conformance vectors: violations, commands, limits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ahasd.models.control.events import (
    Abort,
    Aborted,
    Commit,
    Draft,
    Event,
    Feedback,
    Preverified,
    Preverify,
    Token,
    Verify,
)
from ahasd.models.control.params import ControlConfig, UnitParams
from ahasd.models.control.unit import ControlUnit, Outcome
from ahasd.models.control.work import Violation
from ahasd.models.errors import ConfigError

PROMPT = 77


def state(item: object) -> object:
    """All that a unit remembers, to compare."""
    if isinstance(item, (list, tuple)):
        return [state(part) for part in item]
    if hasattr(item, "__slots__"):
        return {name: state(getattr(item, name)) for name in item.__slots__}
    if isinstance(item, dict):
        return {name: state(part) for name, part in item.items()}
    if hasattr(item, "__dict__") and not isinstance(item, type):
        return {name: state(part) for name, part in vars(item).items()}
    return item


def started(**config: object) -> ControlUnit:
    unit = ControlUnit()
    base = ControlConfig(max_draft=2, context=10, prompt_token=PROMPT, tvc=False, suppress="preverify")
    assert unit.configure(replace(base, **config)) is None
    assert unit.start(0).decisions == [Draft(unit.config.context - 1, (PROMPT,))]
    return unit


def play(unit: ControlUnit, *events: Event, now: int = 5) -> Outcome:
    """The outcome of the last of legal events."""
    for event in events:
        outcome = unit.step(event, now)
        assert outcome.violation is None, event
    return outcome


LOW = Token(1, 0, True)
"""A batch of its own, of the lowest entropy."""


def preverifying(**config: object) -> ControlUnit:
    """EDC has learnt to stop; the PIM pre-verifies the one token of the one batch, which the NPU verifies."""
    unit = started(**config)
    play(unit, LOW, Feedback(0, 2), Aborted())
    assert play(unit, LOW).decisions == [Verify(10, (2, 1)), Preverify(10, (2, 1))]
    return unit


def aborting_preverification() -> ControlUnit:
    unit = preverifying()
    assert play(unit, Feedback(0, 3)).decisions == [Commit((3,)), Abort()]
    return unit


def waiting() -> ControlUnit:
    """As :func:`preverifying`, but the PIM has nothing to do."""
    unit = started(suppress="wait")
    play(unit, LOW, Feedback(0, 2), Aborted())
    assert play(unit, LOW).decisions == [Verify(10, (2, 1))]
    return unit


def aborting_draft() -> ControlUnit:
    unit = started()
    assert play(unit, LOW, Feedback(0, 2)).decisions == [Commit((2,)), Abort()]
    return unit


@pytest.mark.parametrize(
    ("unit", "event", "violation"),
    [
        (ControlUnit(), Feedback(0, 1), Violation.FEEDBACK_UNEXPECTED),
        (started(), Feedback(0, 1), Violation.FEEDBACK_UNEXPECTED),
        (preverifying(), Feedback(2, 1), Violation.FEEDBACK_RANGE),
        (preverifying(), Feedback(63, 1), Violation.FEEDBACK_RANGE),
        (ControlUnit(), LOW, Violation.TOKEN_UNEXPECTED),
        (waiting(), LOW, Violation.TOKEN_UNEXPECTED),
        (preverifying(), LOW, Violation.TOKEN_UNEXPECTED),
        (aborting_preverification(), LOW, Violation.TOKEN_UNEXPECTED),
        (ControlUnit(), Preverified(1, None), Violation.RESULT_UNEXPECTED),
        (started(), Preverified(0, 1), Violation.RESULT_UNEXPECTED),
        (waiting(), Preverified(1, None), Violation.RESULT_UNEXPECTED),
        (aborting_draft(), Preverified(1, None), Violation.RESULT_UNEXPECTED),
        (preverifying(), Preverified(2, None), Violation.RESULT_RANGE),
        (preverifying(), Preverified(2, 4), Violation.RESULT_RANGE),
        (preverifying(), Preverified(0, None), Violation.RESULT_RANGE),
        (preverifying(), Preverified(1, 4), Violation.RESULT_RANGE),
        (aborting_preverification(), Preverified(0, None), Violation.RESULT_RANGE),
        (aborting_preverification(), Preverified(1, 4), Violation.RESULT_RANGE),
        (aborting_preverification(), Preverified(2, None), Violation.RESULT_RANGE),
        (ControlUnit(), Aborted(), Violation.ABORTED_UNEXPECTED),
        (started(), Aborted(), Violation.ABORTED_UNEXPECTED),
        (waiting(), Aborted(), Violation.ABORTED_UNEXPECTED),
        (preverifying(), Aborted(), Violation.ABORTED_UNEXPECTED),
    ],
)
def test_violating_event_changes_nothing(unit: ControlUnit, event: Event, violation: Violation) -> None:
    before = state(unit)
    outcome = unit.step(event, 6)
    assert outcome.violation is violation
    assert outcome.decisions == []
    assert state(unit) == before


@pytest.mark.parametrize("unit", [started(), preverifying(), aborting_draft(), aborting_preverification()])
def test_commands_while_running_change_nothing(unit: ControlUnit) -> None:
    before = state(unit)
    for outcome in (unit.start(6), unit.clear()):
        assert outcome.violation is Violation.COMMAND
        assert outcome.decisions == []
    assert unit.configure(ControlConfig()) is Violation.CONFIGURATION
    assert state(unit) == before


def test_missing_last_is_taken_as_last() -> None:
    unit, other = started(), started()
    play(unit, Token(1, 9, False))
    play(other, Token(1, 9, False))
    outcome, expected = unit.step(Token(2, 9, False), 8), other.step(Token(2, 9, True), 8)
    assert (outcome.violation, expected.violation) == (Violation.MISSING_LAST, None)
    assert outcome.decisions == expected.decisions != []
    assert state(unit) == state(other)


def test_stale_token_without_last_is_no_violation() -> None:
    unit = aborting_draft()
    for count in range(1, 40):
        outcome = unit.step(Token(5, 255, count % 3 == 0), 9)
        assert (outcome.violation, outcome.decisions) == (None, [])
        assert unit.counters["stale"] == count
    assert play(unit, Aborted()).decisions == [Draft(10, (2,))]


def test_two_machines_that_round_differently() -> None:
    """The NPU accepts the token that pre-verification has replaced: the replacement stands."""
    unit = preverifying()
    assert play(unit, Preverified(0, 9)).decisions == [Draft(11, (9,))]
    play(unit, LOW)
    assert (unit.limit, unit.counters["fixes"], unit.counters["rejected"]) == (1, 1, 2)
    outcome = play(unit, Feedback(1, 8))
    assert outcome.decisions[0] == Commit((9,))
    assert not outcome.work.flushed
    assert (unit.counters["contradictions"], unit.counters["flushes"], unit.limit) == (1, 1, None)


def test_refusal_at_the_fix_is_an_ordinary_verdict() -> None:
    for following, flushed in ((9, False), (8, True)):
        unit = preverifying()
        play(unit, Preverified(0, 9))
        outcome = play(unit, Feedback(0, following))
        assert outcome.decisions[0] == Commit((following,))
        assert (outcome.work.flushed, unit.counters["contradictions"]) == (flushed, 0)


# stop, clear, further sequences.


def test_stop_aborts_the_task_and_lets_the_verification_finish() -> None:
    unit = preverifying()
    assert unit.stop().decisions == [Abort()]
    assert unit.stop().decisions == []
    assert (unit.running, unit.stopping) == (True, True)
    assert play(unit, Aborted()).decisions == []
    assert unit.running
    assert play(unit, Feedback(1, 4)).decisions == [Commit((1, 4))]
    assert (unit.running, unit.stopping) == (False, False)
    assert unit.counters["flushes"] == 2


def test_flush_after_stop_does_not_abort_twice() -> None:
    unit = preverifying()
    unit.stop()
    assert play(unit, Feedback(0, 4)).decisions == [Commit((4,))]
    assert unit.running
    assert play(unit, Preverified(0, 4)).decisions == []
    assert not unit.running
    assert (unit.counters["preverified"], unit.counters["fixes"]) == (0, 0)


def test_stop_while_drafting_and_while_waiting() -> None:
    unit = started()
    assert unit.stop().decisions == [Abort()]
    play(unit, Token(4, 0, True), Aborted())
    assert (unit.running, unit.counters["tokens"], unit.counters["stale"]) == (False, 0, 1)
    unit = waiting()
    assert unit.stop().decisions == []
    assert play(unit, Feedback(1, 4)).decisions == [Commit((1, 4))]
    assert not unit.running


def test_stop_of_an_idle_unit_does_nothing() -> None:
    unit = ControlUnit()
    before = state(unit)
    assert unit.stop().decisions == []
    assert state(unit) == before


def stopped() -> ControlUnit:
    unit = preverifying(npu_preset=1000, draft_preset=2000, preverify_preset=3000)
    play(unit, Preverified(0, 9), Token(1, 255, True), Feedback(0, 8), Aborted())
    unit.stop()
    play(unit, Aborted())
    assert not unit.running
    return unit


def test_second_sequence_keeps_training_and_counters() -> None:
    unit = stopped()
    predictor = unit.predictor
    kept = [list(predictor.pht), unit.nvct.entries, unit.pdct.entries, unit.pvct.entries, dict(unit.counters)]
    assert predictor.leht != [0] * 8 or predictor.pht != [2] * 512
    config = ControlConfig(context=20, prompt_token=5, npu_preset=7, draft_preset=7, preverify_preset=7)
    assert unit.configure(config) is None
    assert unit.start(1000).decisions == [Draft(19, (5,))]
    assert kept == [
        list(predictor.pht),
        unit.nvct.entries,
        unit.pdct.entries,
        unit.pvct.entries,
        dict(unit.counters),
    ]
    assert (unit.head, unit.checked, unit.tail, unit.fed, unit.limit, unit.trusted) == (
        0,
        0,
        0,
        -1,
        None,
        False,
    )
    assert (unit.batches, unit.open_tokens, unit.open_entropy) == ([], 0, 0)
    assert predictor.leht == predictor.lceht == [0] * 8


def test_clear_resets_training_tables_and_counters() -> None:
    unit = stopped()
    unit.configure(replace(unit.config, npu_preset=1, draft_preset=2, preverify_preset=3))
    assert unit.clear().decisions == []
    assert unit.predictor.pht == [2] * 512
    assert [table.entries for table in (unit.nvct, unit.pdct, unit.pvct)] == [[1] * 4, [2] * 4, [3] * 4]
    assert [table.oldest for table in (unit.nvct, unit.pdct, unit.pvct)] == [0, 0, 0]
    assert set(unit.counters.values()) == {0}
    # The tables are loaded already: another preset needs another clear.
    unit.configure(replace(unit.config, npu_preset=9))
    unit.start(0)
    assert unit.nvct.entries == [1] * 4


def test_clear_before_the_first_start_loads_the_presets() -> None:
    unit = ControlUnit()
    unit.configure(ControlConfig(npu_preset=5))
    unit.clear()
    unit.configure(ControlConfig(npu_preset=6))
    unit.start(0)
    assert unit.nvct.entries == [5] * 4


def test_first_start_loads_the_presets() -> None:
    assert started(npu_preset=5, draft_preset=6, preverify_preset=7).pvct.entries == [7] * 4


# Limits.


def test_widest_positions() -> None:
    """Context and sequence at their limits: positions need their full 17 bits, KV lengths fit 24 x 32."""
    unit = started(context=32767, edc=False, max_draft=16, verify_all=True)
    now = 0
    while not unit.sequence_full:
        for count in range(16):
            play(unit, Token(count, 0, count == 15), now=now)
        outcome = play(unit, Feedback(16, 16), now=now + (1 << 24))
        now = (now + (1 << 24)) % (1 << 32)
        if outcome.decisions[1:] and isinstance(outcome.decisions[1], Abort):
            play(unit, Aborted(), now=now)
    assert 32000 <= unit.head < 32000 + 17
    assert max(d.position for d in unit.step(Token(0, 0, True), now).decisions) >= 64766
    assert unit.nvct.predict(unit.verify_kv) <= (1 << 24) - 1


@pytest.mark.parametrize(("committed", "full"), [(31999, False), (32000, True)])
def test_sequence_full_from_the_limit_on(committed: int, full: bool) -> None:
    unit = started()
    unit.head = committed
    assert unit.sequence_full is full
    unit.running = False
    assert unit.sequence_full is False


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("max_draft", 0, "max_draft: 0 must be an integer from 1 to 16"),
        ("max_draft", 17, "from 1 to 16"),
        ("verify_max", 33, "from 1 to 32"),
        ("preverify_max", 9, "from 1 to 8"),
        ("context", 0, "from 1 to 32767"),
        ("context", 32768, "from 1 to 32767"),
        ("context", True, "True must be an integer"),
        ("prompt_token", 1 << 18, "from 0 to 262143"),
        ("npu_preset", 1 << 32, "from 0 to 4294967295"),
        ("npu_preset", 1.0, "must be an integer"),
        ("edc", 1, "edc: 1 must be true or false"),
        ("suppress", "stop", "suppress: 'stop' must be 'wait' or 'preverify'"),
    ],
)
def test_configuration_out_of_range(key: str, value: object, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        ControlConfig(**{key: value})


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ({"queue_depth": 64}, r"queue_depth: 64 must be at least 2\^llr_bits x max_draft = 128"),
        ({"queue_depth": 130}, "power of two"),
        ({"llr_bits": 4}, "queue_depth: 128 must be at least .* = 256"),
        ({"cycle_entries": 3}, "cycle_entries: 3 must be a power of two"),
        ({"history": 6}, "history"),
        ({"history": 1}, "history"),
    ],
)
def test_sizes_that_cannot_work(sizes: dict[str, int], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        UnitParams(**sizes)

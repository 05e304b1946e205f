"""Rules of rollouts: recorded steps, repetition after a miss, chaining, and what counts as wrong."""

from __future__ import annotations

import numpy as np
import pytest

from ahasd.models.errors import TraceError
from ahasd.models.rollout import DraftRollout, quantise_entropy
from ahasd.models.traces import Trace, list_traces, load_trace

ROWS, STEPS = 6, 4


def hand_made(y: list[int], draft: list[list[int]], lookahead: list[int] | None = None) -> Trace:
    """A trace of 6 rows and 4 steps; entropies are row + step/10."""
    seen = lookahead or [STEPS] * ROWS
    match = []
    for i, row in enumerate(draft):
        n = 0
        while n < seen[i] and row[n] == y[i + n]:
            n += 1
        match.append(n)
    entropy = np.arange(ROWS)[:, None] + np.arange(STEPS) / 10
    ones = np.full((ROWS, STEPS), 0.5)
    return Trace(
        name="hand/00",
        y=np.array(y),
        draft=np.array(draft),
        entropy=entropy,
        top1=ones,
        accept_pred=ones,
        match_len=np.array(match),
        lookahead=np.array(seen),
        turn=np.ones(ROWS, dtype=int),
        target_entropy=np.zeros(ROWS),
        prompt=np.array([3, 5]),
        h_max=8.0,
        vocab_draft=100,
        pieces={},
        provenance={},
    )


Y = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
WRONG = [90, 91, 92, 93]


def leading(rollout: DraftRollout, y: list[int], base: int) -> int:
    n = 0
    while base + n < len(y) and rollout.token(base, n).id == y[base + n]:
        n += 1
    return n


def test_recorded_steps_come_back_as_recorded() -> None:
    rollout = DraftRollout(hand_made(Y, [[10, 90, 91, 92]] + [WRONG] * 5))
    assert [rollout.token(0, k).id for k in range(4)] == [10, 90, 91, 92]
    assert rollout.token(0, 2) == (91, pytest.approx(0.2), 0.5, 0.5)
    assert rollout.right(0) == 1


def test_a_missed_rollout_repeats_its_last_column() -> None:
    rollout = DraftRollout(hand_made(Y, [[10, 90, 91, 12]] + [WRONG] * 5))
    assert [rollout.token(0, k).id for k in (3, 4, 9)] == [12, 12, 12]
    assert rollout.token(0, 99).entropy == pytest.approx(0.3)


def test_a_rollout_that_has_not_missed_goes_on_at_the_true_position() -> None:
    draft = [Y[0:4], WRONG, WRONG, WRONG, [14, 77, 78, 79], WRONG]
    rollout = DraftRollout(hand_made(Y, draft))
    assert [rollout.token(0, k).id for k in range(3, 10)] == [13, 14, 77, 78, 79, 79, 79]
    assert rollout.token(0, 5).entropy == pytest.approx(4.1)
    assert rollout.right(0) == 5


def test_past_lookahead_the_first_token_is_wrong_even_if_recorded_right() -> None:
    draft = [[10, 11, 12, 13]] + [WRONG] * 5
    rollout = DraftRollout(hand_made(Y, draft, lookahead=[2, 1, 4, 4, 4, 4]))
    assert [rollout.token(0, k).id for k in range(4)] == [10, 11, 3, 13]
    assert rollout.right(0) == 2
    assert rollout.token(1, 0).id == 90


def test_past_lookahead_a_wrong_token_stays_as_recorded() -> None:
    rollout = DraftRollout(hand_made(Y, [[10, 11, 55, 13]] + [WRONG] * 5, lookahead=[2, 1, 4, 4, 4, 4]))
    assert rollout.token(0, 2).id == 55


def test_the_first_position_without_a_row_is_wrong() -> None:
    draft = [WRONG, WRONG, Y[2:6], Y[3:7], WRONG, WRONG]
    rollout = DraftRollout(hand_made(Y, draft))
    assert rollout.token(3, 3).id == 3  # y[6] recorded, no row 6
    assert rollout.right(3) == 3
    assert rollout.token(2, 4).id == 93  # chained to position 6: the last row's last column
    assert rollout.right(2) == 4


def test_a_base_without_a_row_repeats_a_wrong_token() -> None:
    draft = [WRONG] * 5 + [[90, 91, 92, 16]]
    rollout = DraftRollout(hand_made(Y, draft))
    assert rollout.token(6, 0).id == 3  # 16 is y[6]
    assert rollout.token(7, 0).id == 16
    assert rollout.token(6, 5).id == 16
    assert rollout.token(50, 0).id == 16  # past y
    assert rollout.right(6) == 0


def test_a_substitute_differs_when_y_is_the_smallest_id() -> None:
    y = [10, 3, 12, 13, 14, 15, 16, 17, 18, 19]
    rollout = DraftRollout(hand_made(y, [[10, 3, 12, 13]] + [WRONG] * 5, lookahead=[1, 4, 4, 4, 4, 4]))
    assert rollout.token(0, 1).id == 5


def test_negative_positions_are_refused() -> None:
    rollout = DraftRollout(hand_made(Y, [WRONG] * 6))
    for base, step in ((-1, 0), (0, -1)):
        with pytest.raises(IndexError, match="both count from 0"):
            rollout.token(base, step)


def test_a_trace_of_one_id_cannot_be_refuted() -> None:
    trace = hand_made([3] * 10, [[3] * 4] * 6)
    object.__setattr__(trace, "prompt", np.array([3]))
    with pytest.raises(TraceError, match="one id only"):
        DraftRollout(trace)


@pytest.mark.parametrize("name", [n for n in list_traces() if n.endswith(("01", "03", "04", "05"))])
def test_bundled_traces_agree_with_match_len(name: str) -> None:
    trace = load_trace(name)
    rollout, y = DraftRollout(trace), trace.y.tolist()
    for base in range(trace.rows):
        want, at = 0, base
        while at < trace.rows and trace.match_len[at] == trace.steps:
            want, at = want + trace.steps, at + trace.steps
        want += int(trace.match_len[at]) if at < trace.rows else 0
        want = min(want, trace.rows - base)
        assert leading(rollout, y, base) == rollout.right(base) == want, base
        reach = int(trace.lookahead[base])
        if reach < trace.steps:
            assert want <= reach


def test_the_set_has_censored_and_complete_rollouts() -> None:
    dialogue, facts = load_trace("smollm2-sampled/05"), load_trace("smollm2-sampled/01")
    assert (dialogue.match_len == 64).any()
    assert ((facts.match_len == facts.lookahead) & (facts.lookahead < 64)).any()


@pytest.mark.parametrize(
    ("nats", "quantum"), [(0.0, 0), (0.0273, 0), (0.0274, 1), (3.5, 128), (6.98, 255), (7.0, 255), (9.0, 255)]
)
def test_entropy_is_quantised_by_floor(nats: float, quantum: int) -> None:
    assert quantise_entropy(nats, 7.0) == quantum

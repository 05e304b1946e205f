"""The adaptive drafting policies against what their papers and codes say (docs/policies.md)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import pytest

from ahasd.models.errors import ConfigError
from ahasd.models.policies import Cutter, Features, Policy, list_policies, make_policy
from ahasd.models.policies.adaedl import AdaEdl
from ahasd.models.policies.bandit_exp3 import Exp3Spec
from ahasd.models.policies.bandit_ucb import UcbSpec
from ahasd.models.policies.rounds import Rounds
from ahasd.models.rollout import DraftRollout
from ahasd.models.traces import load_trace

BANDITS = ["banditspec:ucb", "banditspec:code", "banditspec:exp3"]
SECOND = 10**12


def length(policy: Policy, tokens: Iterable[Features], max_draft: int = 64) -> int:
    """Tokens of the next batch of a policy that is shown ``tokens``."""
    cutter: Cutter[None] = Cutter(policy, max_draft)
    cutter.begin(0)
    sent = 0
    for features in tokens:
        sent += len(cutter.push(None, features))
        if cutter.done:
            return sent
    raise AssertionError("the batch does not end")


def entropies(*nats: float) -> list[Features]:
    return [Features(h, 0.5, 0.5) for h in nats]


def predictions(*p: float) -> list[Features]:
    return [Features(0.0, 1.0, x) for x in p]


def in_turn(policy: Policy, trace: str, tokens: int = 1024, max_draft: int = 16) -> list[tuple[int, int]]:
    """(issued, accepted) of each round of drafting and verifying in turn; 10 s and 1 s a pass."""
    rollout = DraftRollout(load_trace(trace))
    cutter: Cutter[None] = Cutter(policy, max_draft)
    policy.begin_sequence()
    rounds, base, now = [], 0, 0
    while base < tokens:
        cutter.drop()
        cutter.begin(base)
        issued = passes = 0
        while not cutter.done:
            issued += len(cutter.push(None, rollout.token(base, passes).features))
            passes += 1
        accepted = min(issued, rollout.right(base))
        now += (10 + passes) * SECOND
        policy.verdict(issued, accepted, base, now)
        rounds.append((issued, accepted))
        base += accepted + 1
    return rounds


# SpecDec++.


def test_specdecpp_of_the_paper_counts_the_newest_token() -> None:
    # 0.7 x 0.6 x 0.7 = 0.294: a rejection is likelier than 0.7 with the third token.
    assert length(make_policy("specdec++:paper"), predictions(0.7, 0.6, 0.7, 1, 1)) == 3


def test_specdecpp_of_the_code_is_one_token_late() -> None:
    assert length(make_policy("specdec++:code"), predictions(0.7, 0.6, 0.7, 1, 1)) == 4
    # Nothing is known of the first token while it is the newest.
    assert length(make_policy("specdec++:code", min_length=1), predictions(0.0, 1, 1)) == 2


@pytest.mark.parametrize(("spec", "least"), [("specdec++:code", 2), ("specdec++:paper", 1)])
def test_specdecpp_within_its_bounds(spec: str, least: int) -> None:
    assert length(make_policy(spec), predictions(*[0.0] * 30)) == least
    assert length(make_policy(spec), predictions(*[1.0] * 30)) == 20


def test_specdecpp_stops_above_the_threshold_not_at_it() -> None:
    policy = make_policy("specdec++:paper", threshold=0.5)
    assert length(policy, predictions(0.5, 1.0, 0.9)) == 3


def test_specdecpp_refuses_bounds_that_cross() -> None:
    with pytest.raises(ConfigError, match=r"policy\.min_length: 5 must be at most max_length, 4"):
        make_policy("specdec++", min_length=5, max_length=4)


# AdaEDL.


def test_adaedl_at_its_default_stops_for_an_entropy_above_045() -> None:
    assert length(make_policy("adaedl"), entropies(0, 0.449, 0.451)) == 2


def test_adaedl_always_drafts_the_first_token_and_at_most_l() -> None:
    assert length(make_policy("adaedl"), entropies(9, 9)) == 1
    assert length(make_policy("adaedl"), entropies(*[0.1] * 20)) == 7
    assert length(make_policy("adaedl:code"), entropies(*[0.1] * 20)) == 8


@pytest.mark.parametrize("longest", [3, 7, 16])
def test_adaedl_at_the_extremes_of_lambda(longest: int) -> None:
    never = make_policy("adaedl", threshold=0, step=0, max_length=longest)
    assert length(never, entropies(*[12.4] * 20)) == longest
    always = make_policy("adaedl", threshold=1, step=0, max_length=longest)
    assert length(always, entropies(*[0.001] * 20)) == 1


def adaedl(**params: float) -> AdaEdl:
    policy = make_policy("adaedl", **params)
    assert isinstance(policy, AdaEdl)
    return policy


def test_adaedl_updates_lambda_as_algorithm_1_says() -> None:
    policy = adaedl()
    policy.verdict(4, 1)  # rate 0.5 x 0.9 + 0.5 x 0.25 = 0.575 < 0.9: stricter
    assert policy.threshold == pytest.approx(0.701)
    policy.begin_sequence()
    policy.verdict(6, 6)  # good, but not of full length: looser
    assert policy.threshold == pytest.approx(0.699)
    policy.begin_sequence()
    policy.verdict(7, 7)  # good and of full length: as it is (the third branch)
    assert policy.threshold == pytest.approx(0.7)


def test_adaedl_moves_by_a_thousandth_a_round_and_stays_a_probability() -> None:
    policy = adaedl(threshold=0.9995)
    for _ in range(3):
        policy.verdict(4, 0)
    assert policy.threshold == 1
    policy = adaedl(threshold=0.0005)
    for _ in range(3):
        policy.verdict(6, 6)
    assert policy.threshold == 0


def test_adaedl_treats_merged_batches_as_of_full_length() -> None:
    policy = adaedl()
    policy.verdict(12, 12)
    assert policy.threshold == pytest.approx(0.7)


def test_adaedl_drafts_more_of_easy_text() -> None:
    def mean(trace: str) -> float:
        rounds = in_turn(make_policy("adaedl"), trace)
        return sum(issued for issued, _ in rounds) / len(rounds)

    assert mean("smollm2-greedy/00") > 1.3 * mean("smollm2-sampled/00")


# BanditSpec.


def ucb(**params: float) -> UcbSpec:
    policy = make_policy("banditspec:ucb", **params)
    assert isinstance(policy, UcbSpec)
    return policy


def play(
    policy: Policy, emitted: dict[int, int], rounds: int, seconds: dict[int, int] | None = None
) -> list[int]:
    """Lengths that a policy plays where a draft of length n emits ``emitted[n]`` tokens, in turn."""
    policy.begin_sequence()
    lengths, now = [], 0
    for _ in range(rounds):
        n = length(policy, entropies(*[0.0] * 64))
        now += (seconds or {}).get(n, 1) * SECOND
        policy.verdict(n, emitted[n] - 1, 0, now)
        lengths.append(n)
    return lengths


@pytest.mark.parametrize(("pulls", "t", "bonus"), [(1, 5, 9.9), (25, 100, 2.1), (100, 400, 1.17)])
def test_size_of_the_papers_bonus(pulls: int, t: int, bonus: float) -> None:
    assert ucb().bonus(pulls, t) == pytest.approx(bonus, rel=0.01)


def test_ucb_plays_each_arm_once_and_then_explores_for_long() -> None:
    equal = play(ucb(), {1: 2, 2: 2, 3: 2, 4: 2}, 300)
    assert equal[:4] == [1, 2, 3, 4]
    assert all(70 <= count <= 80 for count in Counter(equal).values())
    best = Counter(play(ucb(), {1: 1, 2: 1, 3: 1, 4: 5}, 300))
    assert best[4] > 250


def test_a_smaller_bonus_settles_earlier() -> None:
    rewards = {1: 1, 2: 2, 3: 1, 4: 1}
    full, tenth = (Counter(play(ucb(bonus_scale=scale), rewards, 300))[2] for scale in (1, 0.1))
    assert tenth > 280 > full


def test_the_code_warms_up_for_seven_rounds_and_then_takes_the_best_throughput() -> None:
    policy = make_policy("banditspec:code")
    # Length 3 emits most tokens, length 2 most tokens a second.
    lengths = play(policy, {1: 2, 2: 3, 3: 4, 4: 4}, 40, seconds={1: 3, 2: 2, 3: 4, 4: 5})
    assert lengths[:7] == [1, 2, 3, 4, 1, 2, 3]
    assert set(lengths[7:]) == {2}


def test_the_codes_bonus_decides_nothing() -> None:
    def rounds(bonus: float) -> list[tuple[int, int]]:
        return in_turn(make_policy("banditspec:code", bonus=bonus), "smollm2-sampled/01")

    assert rounds(6) == rounds(0)


def test_the_code_needs_a_time_that_passes() -> None:
    policy = make_policy("banditspec:code")
    policy.begin_batch(0)
    with pytest.raises(RuntimeError, match="expected a time that passes"):
        policy.verdict(1, 1, 0)


def exp3(seed: int = 0) -> Exp3Spec:
    policy = make_policy("banditspec:exp3", seed=seed)
    assert isinstance(policy, Exp3Spec)
    return policy


def test_learning_rate_of_exp3() -> None:
    assert exp3().eta(5) == pytest.approx(0.263, abs=0.001)
    assert exp3().eta(300) == pytest.approx(0.034, abs=0.001)


def test_exp3_weighs_a_loss_by_the_chance_of_its_arm() -> None:
    policy = exp3()
    issued = length(policy, entropies(*[0.0] * 4))
    policy.verdict(issued, 0, 0)  # loss (4 + 1 - 1) / 4 = 1, drawn with 1/4: counts 4
    eta = math.sqrt(math.log(4) / (2 * 4))
    weights = [math.exp(-eta * (4 if arm == issued - 1 else 0)) for arm in range(4)]
    assert policy.chances() == pytest.approx([w / sum(weights) for w in weights])


def test_exp3_draws_by_its_seed_alone() -> None:
    rewards = {1: 2, 2: 3, 3: 3, 4: 3}
    assert play(exp3(1), rewards, 50) == play(exp3(1), rewards, 50)
    assert play(exp3(1), rewards, 50) != play(exp3(2), rewards, 50)


def test_exp3_learns_the_better_arm() -> None:
    late = Counter(play(exp3(3), {1: 1, 2: 5, 3: 1, 4: 1}, 1000)[500:])
    assert late[2] > 400


@pytest.mark.parametrize("spec", ["banditspec:ucb", "banditspec:exp3"])
def test_more_tokens_than_an_arm_can_emit_count_as_the_most_it_can(spec: str) -> None:
    policy = make_policy(spec)
    policy.begin_batch(0)
    policy.verdict(30, 30, 0)
    if isinstance(policy, Exp3Spec):
        assert policy.chances() == [0.25] * 4
    else:
        assert isinstance(policy, UcbSpec)
        assert policy.means.mean[0] == 5


def test_a_verdict_finds_its_batch_however_far_ahead_drafting_is() -> None:
    rounds: Rounds[str] = Rounds()
    assert rounds.judged(0) is None
    rounds.opened(0, "0 to 2")
    rounds.opened(3, "3")
    rounds.opened(4, "4 and 5")
    assert rounds.judged(0) == "0 to 2"
    assert rounds.judged(1) == "0 to 2"  # the rest of a batch verified in parts
    assert rounds.judged(4) == "4 and 5"  # the target's own token took place 3
    rounds.opened(6, "dropped")
    rounds.opened(5, "5 to 8, drafted anew")
    rounds.opened(9, "9")
    assert rounds.judged(6) == "5 to 8, drafted anew"
    assert rounds.judged(None) == "9"


@pytest.mark.parametrize("spec", BANDITS)
def test_an_arm_whose_batches_were_dropped_is_tried_again(spec: str) -> None:
    policy = make_policy(spec)
    for _ in range(9):
        policy.begin_batch(7)  # drafted and dropped nine times
    assert 1 <= length(policy, entropies(*[0.0] * 9)) <= 4
    policy.verdict(1, 0, 0, SECOND)
    assert 1 <= length(policy, entropies(*[0.0] * 9)) <= 4


# All of them.


@pytest.mark.parametrize("spec", list_policies())
def test_a_verification_of_nothing_teaches_nothing(spec: str) -> None:
    taught, fresh = make_policy(spec), make_policy(spec)
    for policy in (taught, fresh):
        policy.begin_sequence()
        policy.begin_batch(0)
    taught.verdict(0, 0, 0, SECOND)
    tokens = entropies(*[0.3] * 64)
    assert [length(taught, tokens) for _ in range(3)] == [length(fresh, tokens) for _ in range(3)]


@pytest.mark.parametrize("spec", list_policies())
def test_a_sequence_begins_as_if_it_were_the_first(spec: str) -> None:
    used = make_policy(spec, seed=5)
    in_turn(used, "smollm2-sampled/02", 300)
    assert in_turn(used, "smollm2-sampled/01", 300) == in_turn(
        make_policy(spec, seed=5), "smollm2-sampled/01", 300
    )


@pytest.mark.parametrize("spec", list_policies())
@pytest.mark.parametrize("max_draft", [1, 3, 16])
def test_every_round_drafts_something_within_the_cap(spec: str, max_draft: int) -> None:
    rounds = in_turn(make_policy(spec), "smollm2-sampled/03", 400, max_draft)
    assert all(1 <= issued <= max_draft for issued, _ in rounds)

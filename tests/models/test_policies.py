"""Drafting policies and the cutter that applies them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ahasd.models.errors import ConfigError
from ahasd.models.policies import Cutter, Features, Policy, Verdict, list_policies, make_policy
from ahasd.models.rollout import DraftRollout
from ahasd.models.traces import load_trace


def token(entropy: float) -> Features:
    return Features(entropy, 0.5, 0.5)


def lengths(policy: Policy, entropies: list[float], max_draft: int = 16) -> list[int]:
    """Lengths of the batches that a stream of tokens is cut into; the last may be open."""
    cutter: Cutter[int] = Cutter(policy, max_draft)
    policy.begin_sequence()
    out, order = [0], list[int]()
    for i, entropy in enumerate(entropies):
        released = cutter.begin() if cutter.done else []
        for item, last in [*released, *cutter.push(i, token(entropy))]:
            order.append(item)
            out[-1] += 1
            if last:
                out.append(0)
    assert order == list(range(len(order)))  # nothing is lost or reordered
    assert len(order) + cutter.held == len(entropies)
    return out


@pytest.mark.parametrize(("spec", "k"), [("fixed-K", 5), ("fixed-4", 4), ("fixed-1", 1), ("fixed-40", 16)])
def test_fixed_k(spec: str, k: int) -> None:
    assert lengths(make_policy(spec), [9.0] * (2 * k)) == [k, k, 0]


def test_fixed_k_from_overrides() -> None:
    assert make_policy("fixed-K", k=3).name == "fixed-3"
    assert make_policy("fixed-9", **{"policy.k": "2"}).name == "fixed-2"


@pytest.mark.parametrize(
    ("spec", "go_on", "stop"),
    [("svip", 0.5999, 0.6001), ("svip:code", 0.5999, 0.6001), ("svip:paper", 0.0899, 0.0901)],
)
def test_svip_thresholds(spec: str, go_on: float, stop: float) -> None:
    assert lengths(make_policy(spec), [0.0, go_on, stop, go_on, stop]) == [3, 2, 0]


def test_svip_at_the_extremes() -> None:
    assert lengths(make_policy("svip", threshold="0"), [0.0, 1e-9, 1e-9]) == [2, 1, 0]
    assert lengths(make_policy("svip", threshold=10), [12.4] * 32) == [16, 16, 0]
    assert lengths(make_policy("svip", threshold=10), [12.4] * 80, max_draft=64) == [40, 40, 0]
    assert lengths(make_policy("svip", max_length=1), [0.0] * 3) == [1, 1, 1, 0]


def test_svip_on_a_trace_stops_early_enough_to_be_accepted_more_often() -> None:
    rollout = DraftRollout(load_trace("smollm2-sampled/00"))

    def accepted(spec: str) -> float:
        policy, right, drafted = make_policy(spec), 0, 0
        for base in range(0, 1000, 7):
            cutter: Cutter[int] = Cutter(policy, 16)
            cutter.begin()
            n = 0
            while not cutter.done:
                drawn = rollout.token(base, n)
                cutter.push(drawn.id, drawn.features)
                n += 1
            drafted += n
            right += min(n, rollout.right(base))
        return right / drafted

    assert accepted("svip") > accepted("fixed-5") > accepted("fixed-16")


@pytest.mark.parametrize(
    ("spec", "params", "message"),
    [
        ("svpi", {}, "policy 'svpi': unknown; near: svip"),
        ("fixed-", {}, "unknown; near: fixed-K"),
        ("fixed-0", {}, r"policy\.k: '0' must be an integer in 1\.\.64 \(tokens\)"),
        ("svip", {"treshold": 1}, r"policy\.treshold: unknown key; near: policy\.threshold"),
        ("svip", {"threshold": "-1"}, r"policy\.threshold: '-1' must be a number in 0\.\.10"),
    ],
)
def test_bad_policies(spec: str, params: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_policy(spec, **params)


def test_names_can_be_made_again() -> None:
    for spec in list_policies():
        policy = make_policy(spec)
        assert make_policy(policy.name).params == policy.params


@dataclass(frozen=True)
class NoParams:
    """A toy needs none."""


class StopBefore(Policy):
    """Toy of AdaEDL's kind: a doubtful token is not sent; it opens the next batch. At most ``cap`` tokens."""

    holds_back = True

    def __init__(self, cap: int = 99) -> None:
        self.cap, self.count = cap, 0

    @property
    def name(self) -> str:
        return "stop-before"

    @property
    def params(self) -> NoParams:
        return NoParams()

    def begin_batch(self, position: int | None = None) -> None:
        self.count = 0

    def after(self, token: Features) -> Verdict:
        self.count += 1
        if token.entropy > 1 and self.count > 1:
            return Verdict.LAST_BEFORE
        return Verdict.LAST if self.count == self.cap else Verdict.GO_ON


@pytest.mark.parametrize(
    ("entropies", "cap", "max_draft", "want"),
    [
        ([0, 0, 9, 0, 9], 99, 16, [2, 2, 0]),  # the last 9 is held
        ([9, 9, 9], 99, 16, [1, 1, 0]),
        ([0, 0, 9, 0, 0], 3, 16, [2, 3, 0]),  # LAST of a policy that holds back leaves at once
        ([0, 0, 0, 0, 9, 0], 99, 2, [2, 2, 2, 0]),  # the cap of the control unit too
        ([9, 9, 9], 99, 1, [1, 1, 1, 0]),
    ],
)
def test_holding_back(entropies: list[float], cap: int, max_draft: int, want: list[int]) -> None:
    assert lengths(StopBefore(cap), entropies, max_draft) == want


def test_a_dropped_token_does_not_come_back() -> None:
    cutter: Cutter[str] = Cutter(StopBefore(), 16)
    assert cutter.begin() == []
    assert cutter.push("a", token(0)) == []
    assert cutter.push("b", token(9)) == [("a", True)]
    assert (cutter.held, cutter.done) == (1, True)
    assert cutter.drop() == 1
    assert cutter.begin() == []
    assert cutter.drop() == 0
    with pytest.raises(RuntimeError, match="without an open batch"):
        cutter.push("c", token(0))


def test_a_policy_may_not_end_a_batch_before_it_begins() -> None:
    class Broken(StopBefore):
        def after(self, token: Features) -> Verdict:
            return Verdict.LAST_BEFORE

    cutter: Cutter[str] = Cutter(Broken(), 16)
    cutter.begin()
    with pytest.raises(RuntimeError, match="no token before"):
        cutter.push("a", token(0))

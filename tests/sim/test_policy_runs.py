"""Every drafting policy in every schedule: KV caches, what policies are told, conservation, extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ahasd.models.cost import make_cost
from ahasd.models.language_files import pair
from ahasd.models.platform import load_platform
from ahasd.models.policies import make_policy
from ahasd.models.policies.registry import canonical_policies
from ahasd.models.traces import load_trace
from ahasd.sim.caches import TargetCache
from ahasd.sim.config import RunConfig
from ahasd.sim.drafter import Drafter
from ahasd.sim.result import Result
from ahasd.sim.run import simulate

POLICIES = [name.replace("fixed-K", "fixed-4") for name in canonical_policies()]
SYSTEMS = ["npu-pim-sync", "async", "ahasd"]
TOKENS = 200


def run(system: str, policy: str, tokens: int = TOKENS, seed: int = 0, **changes: Any) -> Result:
    settings = {key: changes.pop(key) for key in list(changes) if "." in key}
    engine = None if system == "npu-pim-sync" else "golden"
    return simulate(
        RunConfig(
            system=system, policy=policy, tokens=tokens, seed=seed, engine=engine, set=settings, **changes
        )
    )


def check_lossless(result: Result) -> None:
    for part in result.runs:
        assert part.tally.tokens >= result.config.tokens
        if part.trace is not None:
            assert part.committed == part.trace.y[: len(part.committed)].tolist()


@pytest.fixture
def wrap(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Calls a function with what a method was called with and what it gave back, after each call."""

    def after(owner: type, name: str, look: Callable[..., None]) -> None:
        method = getattr(owner, name)

        def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = method(self, *args, **kwargs)
            look(self, result, *args)
            return result

        monkeypatch.setattr(owner, name, wrapped)

    return after


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_both_caches_are_as_long_as_what_stands(system: str, policy: str, wrap: Callable[..., None]) -> None:
    """After every verdict: all but the newest token. With the draft model's next pass: what was asked for."""
    trace = "smollm2-greedy/00"
    context = load_trace(trace).context
    committed = 0
    draft_rows: list[tuple[int, int]] = []

    def commit(cache: TargetCache, _: None, tokens: tuple[int, ...]) -> None:
        nonlocal committed
        committed += len(tokens)
        wanted = context - 1 + committed
        # Pre-verified tokens behind the verdict have rows too.
        assert cache.rows == wanted or (system == "ahasd" and cache.rows > wanted)

    def resume(drafter: Drafter, at_hand: bool, position: int, tokens: tuple[int, ...], *_: Any) -> None:
        if not at_hand:
            draft_rows.append((drafter.rows + drafter.feeding, position + len(tokens)))

    wrap(TargetCache, "commit", commit)
    wrap(Drafter, "resume", resume)
    result = run(system, policy, trace=trace)
    check_lossless(result)
    assert draft_rows
    assert all(rows == wanted for rows, wanted in draft_rows)
    spans = [span for span in result.runs[0].npu_spans if span.end is not None]
    assert all(span.tokens >= 1 for span in spans), "there is no round without a draft"
    assert any(span.good == 0 for span in spans), "rejected at the first"
    assert any(span.good == span.tokens for span in spans), "all accepted"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_policy_is_told_what_was_verified(
    system: str, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int, int, int]] = []
    kind = type(make_policy(policy))
    method = kind.verdict

    def verdict(self: Any, issued: int, accepted: int, position: int, now: int) -> None:
        told.append((issued, accepted, position, now))
        method(self, issued, accepted, position, now)

    monkeypatch.setattr(kind, "verdict", verdict)
    (part,) = run(system, policy).runs
    assert told
    spans = part.npu_spans[: len(told)]
    assert [(issued, accepted) for issued, accepted, _, _ in told] == [(s.tokens, s.good) for s in spans]
    place = 0
    for (_, accepted, position, now), span in zip(told, spans, strict=True):
        assert position == place
        assert span.end is not None
        assert now >= span.end
        place += accepted + 1


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_traces_in_a_row_are_each_as_if_alone(system: str, policy: str) -> None:
    names = ["factbook-templated/03", "smollm2-sampled/02", "factbook-templated/03"]
    together = run(system, policy, 80, seed=9, trace=",".join(names)).runs
    for name, part in zip(names, together, strict=True):
        assert part.tally == run(system, policy, 80, seed=9, trace=name).runs[0].tally


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("system", ["async", "ahasd"])
def test_every_draft_is_accounted_for(system: str, policy: str) -> None:
    """Drafted = committed + dropped + stale + held back and thrown away."""
    result = run(system, policy, 400)
    d = result.to_dict()
    assert d["lossless"]
    counters = d["counters"]
    kept = d["committed_drafts"] + counters["dropped"] + counters["stale"]
    if make_policy(policy).holds_back:
        assert d["drafted"] > kept
    else:
        assert d["drafted"] == kept


def test_the_seed_is_of_the_policies_that_draw() -> None:
    def figures(policy: str, seed: int) -> dict[str, Any]:
        d = run("ahasd", policy, seed=seed).to_dict()
        del d["wall"], d["config"]
        return d

    assert figures("banditspec:exp3", 1) == figures("banditspec:exp3", 1)
    assert figures("banditspec:exp3", 1) != figures("banditspec:exp3", 2)
    assert figures("banditspec:ucb", 1) == figures("banditspec:ucb", 2)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("system", ["npu-pim-sync", "ahasd"])
def test_at_the_end_of_trace_and_context(system: str, policy: str) -> None:
    """The last token of a trace, at the last position that the models take: drafts run beyond both."""
    longest = min(model.max_context for model in pair("llama2-7b/13b"))
    result = run(system, policy, 1024, **{"control.context": longest - 1024})
    check_lossless(result)
    assert result.tally.tokens >= 1024


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("settings", "device"),
    [({"platform.npu.clock_ps": 20_000}, "pim"), ({"platform.pim.draft_ranks": 2}, "npu")],
    ids=["queue full", "queue empty"],
)
def test_a_full_or_an_empty_queue_stops_nothing(policy: str, settings: dict[str, Any], device: str) -> None:
    result = run("async", policy, **settings)
    check_lossless(result)
    assert result.to_dict()[device]["idle_ps"] > 0


@pytest.mark.parametrize(
    ("policy", "settings", "issued"),
    [
        ("adaedl", {"policy.threshold": 0, "policy.step": 0}, 7),
        ("adaedl", {"policy.threshold": 1, "policy.step": 0}, 1),
        ("specdec++", {"policy.threshold": 1}, 16),
        ("specdec++", {"policy.threshold": 0}, 2),
        ("svip", {"policy.threshold": 10}, 16),
        ("svip", {"policy.threshold": 0}, 1),
    ],
)
@pytest.mark.parametrize("system", SYSTEMS)
def test_extreme_thresholds_end(system: str, policy: str, settings: dict[str, Any], issued: int) -> None:
    result = run(system, policy, trace="factbook-sampled/00", **settings)
    check_lossless(result)
    if system == "npu-pim-sync":
        lengths = [span.tokens for span in result.runs[0].npu_spans]
        assert sorted(lengths)[len(lengths) // 2] == issued


def plain_ps(trace: str, tokens: int) -> int:
    """Time of decoding without drafts: a verification of nothing for each token."""
    draft, target = pair("llama2-7b/13b")
    costs = make_cost(load_platform("ahasd"), draft, target, aau=False)
    context = load_trace(trace).context
    return sum(costs.verify_ps(context + i, 1) for i in range(tokens))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("system", ["npu-pim-sync", "ahasd"])
def test_adaptive_drafting_is_no_slower_than_none(system: str, policy: str) -> None:
    """On the set with the lowest acceptance."""
    trace = "factbook-sampled/00"
    result = run(system, policy, 1024, trace=trace)
    gain = plain_ps(trace, 1024) / 1024 / (result.tally.time_ps / result.tally.tokens)
    assert gain > 1 or policy.startswith("fixed")


@pytest.mark.parametrize("policy", POLICIES)
def test_drafting_ahead_wastes_drafts(policy: str) -> None:
    """Where AMUSD's and AHASD's drop of acceptance lies: among drafts made, not among drafts verified."""
    sync, ahead = (run(system, policy, 1024).to_dict() for system in ("npu-pim-sync", "async"))
    assert ahead["useful"] < 0.85 * sync["useful"]


@pytest.mark.parametrize("policy", ["fixed-4", "specdec++", "svip", "adaedl"])
def test_drafting_ahead_does_not_raise_acceptance(policy: str) -> None:
    """Not so of bandits, which settle at other lengths. Of fixed lengths it is the same within 0.01."""
    sync, ahead = (run(system, policy, 1024).to_dict() for system in ("npu-pim-sync", "async"))
    assert ahead["acceptance"] < sync["acceptance"] + 0.01

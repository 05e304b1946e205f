"""Energy of runs: what was counted is what was done, and joules follow from it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from ahasd.models.energy import COMPONENTS, Activity, Coefficients
from ahasd.sim.compiled.build import compiler
from ahasd.sim.config import RunConfig
from ahasd.sim.meter import Meter
from ahasd.sim.result import Result
from ahasd.sim.run import Plan, prepare, simulate
from ahasd.sim.spans import Span
from ahasd.sim.systems import list_systems

TOKENS = 60


def energy(config: RunConfig) -> dict[str, Any]:
    found: dict[str, Any] = simulate(config).to_dict()["energy"]
    return found


@pytest.mark.parametrize("system", list_systems())
def test_components_add_up(system: str) -> None:
    result = simulate(RunConfig(system=system, tokens=TOKENS))
    found = result.to_dict()["energy"]
    places = [found["low"], found, found["high"]]
    for place in places:
        assert set(place["components"]) == set(COMPONENTS)
        assert sum(place["components"].values()) == pytest.approx(place["total_j"], rel=1e-12)
        assert place["per_token_j"] == pytest.approx(place["total_j"] / result.tally.tokens, rel=1e-12)
    for key in ("total_j", "per_token_j", "prefill_j"):
        low, default, high = (place[key] for place in places)
        assert 0 < low < default < high


@pytest.mark.parametrize("system", ["ahasd", "async", "npu-pim-sync"])
def test_twice_the_tokens_cost_about_twice_as_much(system: str) -> None:
    once, twice = (energy(RunConfig(system=system, tokens=n, policy="fixed-3")) for n in (150, 300))
    assert 1.7 < twice["total_j"] / once["total_j"] < 2.3
    assert twice["prefill_j"] == once["prefill_j"]


def test_a_set_is_the_sum_of_its_traces() -> None:
    d = simulate(RunConfig(trace="factbook-templated", tokens=30)).to_dict()
    parts = [part["energy"] for part in d["runs"]]
    for key in ("total_j", "prefill_j"):
        assert d["energy"][key] == pytest.approx(sum(part[key] for part in parts), rel=1e-9)
    for name in COMPONENTS:
        joules = d["energy"]["components"][name]
        assert joules == pytest.approx(sum(part["components"][name] for part in parts), rel=1e-9)


@pytest.mark.parametrize("engine", ["rtl", "compiled"])
def test_the_engine_changes_nothing(engine: str) -> None:
    if engine == "compiled" and not compiler():
        pytest.skip("no C++ compiler")
    config = RunConfig(tokens=25, trace="smollm2-sampled/03")
    assert energy(replace(config, engine=engine)) == energy(replace(config, engine="golden"))


def test_a_coefficient_counts_where_it_should() -> None:
    config = RunConfig(tokens=TOKENS)
    run = simulate(config)
    base = run.to_dict()["energy"]["components"]
    for key, component, factor in (
        ("host_w", "host", 2.0),
        ("bus_bit", "dram", None),
        ("npu_idle_w", "npu_idle", 2.0),
    ):
        value = 2 * getattr(Coefficients(), key)
        changed = energy(replace(config, set={f"platform.energy.{key}": value}))["components"]
        assert {name for name in COMPONENTS if changed[name] != base[name]} == {component}
        if factor:
            assert changed[component] == pytest.approx(factor * base[component])


# By hand.


def passes_of(spans: list[Span], plan: Plan, start: int, now: int) -> tuple[list[Activity], Activity]:
    """Whole draft passes and the part of the one that runs, from the spans of a run without corrections."""
    whole, part = [], Activity()
    kv_len = start
    for span in spans:
        begin = span.begin
        for _ in range(span.tokens):
            whole.append(plan.costs.draft_activity(kv_len, 1))
            begin += plan.costs.draft_ps(kv_len, 1)
            kv_len += 1
        if span.end is None and begin < now:
            length = plan.costs.draft_ps(kv_len, 1)
            part = plan.costs.draft_activity(kv_len, 1).times(now - begin, length)
    return whole, part


def joules_by_hand(work: Activity, time_ps: int, *, control_unit: bool) -> dict[str, float]:
    """The default coefficients written out: 16 ranks, rows of 16384 bits."""
    row_bit = 1100 / 16384
    seconds = time_ps * 1e-12
    bus_rows = work.row_activations - work.pim_activations
    return {
        "dram": 1e-12 * (8 * work.bus_bytes * (7 - row_bit) + 1100 * bus_rows),
        "dram_background": 16 * 0.037 * seconds,
        "pim": 1e-12
        * (8 * work.pim_bytes * (0.95 - row_bit) + 1100 * work.pim_activations + 0.64 * work.pim_macs),
        "aau": 1e-12 * 3.1 * work.aau_elements,
        "npu": 1e-12 * (work.npu_macs + 6 * work.scratchpad_bytes + 3.3 * work.vector_elements),
        "npu_idle": 0.3 * seconds,
        "host": 0.5 * seconds,
        "gpu": 0.0,
        "link": 0.0,
        "control": 0.001 * seconds if control_unit else 0.0,
    }


def first_verdict(system: str) -> tuple[Result, Plan]:
    """A run that ends with the first verdict, of two drafted tokens."""
    config = RunConfig(system=system, policy="fixed-2", tokens=1)
    return simulate(config), prepare(config)


def test_lock_step_by_hand() -> None:
    """Two draft passes, one verification of two drafts, and the time of all three."""
    result, plan = first_verdict("npu-pim-sync")
    (run,) = result.runs
    costs, context = plan.costs, run.context
    time_ps = costs.draft_ps(context, 1) + costs.draft_ps(context + 1, 1) + costs.verify_ps(context + 2, 3)
    assert run.tally.time_ps == time_ps
    assert result.to_dict()["ttft_ps"] == costs.prefill_ps(context) + time_ps
    work = costs.draft_activity(context, 1) + costs.draft_activity(context + 1, 1)
    work += costs.verify_activity(context + 2, 3)
    assert run.tally.work == work
    found = result.to_dict()["energy"]["components"]
    assert found == pytest.approx(joules_by_hand(work, time_ps, control_unit=False), rel=1e-9)


def test_asynchronous_by_hand() -> None:
    """The same verification, and all drafts that ran ahead meanwhile, the last one in part."""
    result, plan = first_verdict("async")
    (run,) = result.runs
    costs, context, now = plan.costs, run.context, run.tally.time_ps
    (verification,) = run.npu_spans
    whole, part = passes_of(run.pim_spans, plan, context, now)
    assert verification.end is not None
    assert len(whole) > 2
    assert verification.begin < now - costs.verify_ps(context + 2, 3)
    assert part.pim_bytes > 0
    work = Activity.total((each, 1) for each in whole) + part + costs.verify_activity(context + 2, 3)
    assert run.tally.work == work
    found = result.to_dict()["energy"]["components"]
    assert found == pytest.approx(joules_by_hand(work, now, control_unit=True), rel=1e-9)


@pytest.mark.parametrize("system", ["ahasd", "async+aau", "npu-pim-sync"])
def test_drafts_and_verdicts_are_what_was_counted(system: str) -> None:
    """MACs count tokens: each drafted token is fed once, each verification feeds one more than it judges."""
    result = simulate(RunConfig(system=system, tokens=100, policy="fixed-3"))
    (run,) = result.runs
    plan = prepare(result.config)
    context = run.context
    each = plan.costs.verify_activity(context, 1).npu_macs
    fed = sum(span.tokens + 1 for span in run.npu_spans)
    assert run.tally.work.npu_macs >= fed * each
    assert run.tally.work.npu_macs <= fed * plan.costs.verify_activity(context + 130, 1).npu_macs
    drafts = [span.tokens for span in run.pim_spans if span.what == "draft"]
    least = plan.costs.draft_activity(context, 1).pim_macs
    assert run.tally.work.pim_macs >= sum(drafts) * least


# The meter.


def counted(kv_len: int, tokens: int) -> Activity:
    return Activity(pim_bytes=1000 * tokens, pim_macs=kv_len)


def test_a_pass_counts_by_the_part_done() -> None:
    clock = itertools.count(0, 30)  # ps
    meter = Meter()
    meter.begin(counted, 100, 2, lambda: next(clock), 100)
    assert [meter.total.pim_bytes for _ in range(3)] == [0, 600, 1200]
    assert meter.total.pim_bytes == 1800
    meter.end()
    assert meter.total == Activity(pim_bytes=2000, pim_macs=100)
    meter.end()
    assert meter.total == Activity(pim_bytes=2000, pim_macs=100)


def test_a_pass_that_is_broken_off_counts_by_the_part_done() -> None:
    meter = Meter()
    for _ in range(2):
        meter.begin(counted, 100, 1, lambda: 25, 100)
        meter.end()
    assert meter.total == Activity(pim_bytes=500, pim_macs=50)


def test_a_device_makes_one_pass_at_a_time() -> None:
    meter = Meter()
    meter.begin(counted, 1, 1, lambda: 0, 1)
    with pytest.raises(RuntimeError, match="one pass"):
        meter.begin(counted, 1, 1, lambda: 0, 1)

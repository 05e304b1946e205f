"""Whole runs: lossless, conserving, repeatable, recordable."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ahasd.models.policies.registry import canonical_policies
from ahasd.models.replay import GoldenUnit, first_difference, read_replay, replay, write_replay
from ahasd.models.traces import load_trace
from ahasd.sim.config import RunConfig
from ahasd.sim.result import Result
from ahasd.sim.run import simulate
from ahasd.sim.systems import list_systems
from ahasd.sim.views import Kind, segments, summary, timeline

POLICIES = [name.replace("fixed-K", "fixed-3") for name in canonical_policies()]
TRACES = ["smollm2-sampled/03", "smollm2-greedy/00", "factbook-sampled/02", "factbook-templated/05"]
TOKENS = 150


def check(result: Result) -> None:
    """What must hold of every run."""
    (run,) = result.runs
    d = result.to_dict()
    y = load_trace(run.name).y.tolist()
    assert run.committed == y[: len(run.committed)]
    assert d["lossless"] is True
    assert d["tokens"] == len(run.committed) >= result.config.tokens
    devices = [d[device] for device in ("npu", "pim", "gpu") if d[device] is not None]
    assert devices
    assert all(sum(times.values()) == d["time_ps"] for times in devices)
    assert all(value >= 0 for times in devices for value in times.values())
    assert d["committed_drafts"] <= d["drafted"]
    assert d["accepted"] <= d["verified"]
    assert d["useful"] == (d["committed_drafts"] / d["drafted"] if d["drafted"] else None)
    if d["counters"] is None:
        assert d["verified"] <= d["drafted"]
    else:
        c = d["counters"]
        assert d["tvc"] is None or d["tvc"]["preverified"] == c["preverified"]
        # Every draft token whose fate is known was committed, dropped or stale (none is held back by these).
        queued_then_dropped = sum(len(drop.tokens) for drop in run.dropped)
        assert queued_then_dropped == c["dropped"]
        assert d["drafted"] >= d["committed_drafts"] + c["dropped"] + c["stale"]
    spans = sorted(run.pim_spans, key=lambda span: span.begin)
    assert all(a.end is not None and a.end <= b.begin for a, b in itertools.pairwise(spans))
    assert all(a.end <= b.begin for a, b in itertools.pairwise(run.npu_spans) if a.end)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("system", list_systems())
def test_every_system_and_policy_is_lossless(system: str, policy: str) -> None:
    check(simulate(RunConfig(system=system, policy=policy, tokens=TOKENS)))


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("contention", ["block", "yield", "none"])
@pytest.mark.parametrize("system", ["ahasd", "async+edc"])
def test_every_trace_set_and_contention_is_lossless(system: str, contention: str, trace: str) -> None:
    check(
        simulate(
            RunConfig(system=system, trace=trace, tokens=TOKENS, set={"platform.contention": contention})
        )
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"control.max_draft": 1},
        {"control.verify_all": False},
        {"control.verify_max": 1},
        {"control.preverify_max": 1},
        {"control.tvc": False, "control.suppress": "preverify"},
        {"control.predictor": "always-go"},
        {"control.npu_preset": 0, "control.draft_preset": 0, "control.preverify_preset": 0},
        {"control.tick_cycles": 1},
        {"control.context": 900},
        {"control.h_max": 1.0},
        {"platform.pim.switch_ps": 1_000_000},
        {"platform.npu.clock_ps": 20_000},
        {"platform.pim.draft_ranks": 3},
    ],
    ids=str,
)
def test_unusual_settings_are_lossless(settings: dict[str, object]) -> None:
    check(simulate(RunConfig(tokens=TOKENS, set=settings)))


def test_a_whole_trace() -> None:
    result = simulate(RunConfig(trace="smollm2-greedy/04"))
    check(result)
    assert result.tally.tokens in range(1024, 1026)


@pytest.mark.parametrize("tokens", [1, 2, 17])
def test_a_run_ends_with_the_verdict_that_reaches_the_tokens(tokens: int) -> None:
    (run,) = simulate(RunConfig(tokens=tokens)).runs
    last = run.npu_spans[-1]
    assert last.end is not None
    assert len(run.committed) - last.good - 1 < tokens <= len(run.committed)
    assert 0 < run.tally.time_ps - last.end < 200_000  # ps: the control unit's latency


def test_names_are_canonical() -> None:
    left = simulate(RunConfig(system="async+tvc+aau+edc", tokens=20)).to_dict()
    right = simulate(RunConfig(system="ahasd", tokens=20)).to_dict()
    assert left["system"] == "async+aau+edc+tvc"
    assert left["time_ps"] == right["time_ps"]


def test_a_system_may_differ_by_settings_only() -> None:
    left = simulate(RunConfig(system="async", tokens=40, set={"control.edc": True, "system.aau": True}))
    right = simulate(RunConfig(system="async+aau+edc", tokens=40))
    assert left.tally == right.tally


def test_a_set_is_each_of_its_traces() -> None:
    result = simulate(RunConfig(trace="factbook-templated", tokens=30))
    d = result.to_dict()
    assert len(d["runs"]) == len(d["trace"]["names"]) == 6
    for key in ("tokens", "time_ps", "drafted", "accepted"):
        assert d[key] == sum(part[key] for part in d["runs"])
    assert d["counters"]["tokens"] == sum(part["counters"]["tokens"] for part in d["runs"])
    alone = simulate(RunConfig(trace="factbook-templated/03", tokens=30)).to_dict()
    part = d["runs"][3]
    for document in (alone, part):
        del document["wall"]
    assert part == alone


def test_same_bytes_whatever_the_hash_seed() -> None:
    code = (
        "import json; from ahasd.sim.run import simulate; from ahasd.sim.config import RunConfig\n"
        "d = simulate(RunConfig(tokens=60)).to_dict(); del d['wall']; print(json.dumps(d))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("system", ["ahasd", "async", "async+edc"])
def test_a_recording_replays(system: str, tmp_path: Path) -> None:
    (run,) = simulate(RunConfig(system=system, tokens=200)).runs
    assert run.recording is not None
    path = tmp_path / "run.jsonl"
    write_replay(path, run.recording)
    recording = read_replay(path)
    assert recording.counters == run.tally.counters
    assert first_difference(recording, replay(recording, GoldenUnit())) is None


def test_committed_text_is_the_trace_text() -> None:
    (run,) = simulate(RunConfig(tokens=300)).runs
    pieces = list(segments(run))
    committed = "".join(text for kind, text in pieces if kind is Kind.COMMITTED)
    assert committed == run.trace.text(run.committed)
    assert any(kind is Kind.REFUTED for kind, _ in pieces)


def test_views() -> None:
    result = simulate(RunConfig(tokens=50))
    names = [row.name for row in summary(result)]
    assert {"tokens/s", "accepted", "busy", "accuracy", "cycles"} <= set(names)
    lines = timeline(result.runs[0], 5)
    assert len(lines) == 6
    assert "draft" in lines[1]


def test_the_document_can_be_written_and_names_what_it_ran() -> None:
    config = RunConfig(tokens=20, policy="svip", set={"control.max_draft": "4"})
    d = json.loads(json.dumps(simulate(config).to_dict()))
    again = RunConfig(**{key: d["config"][key] for key in RunConfig().to_dict()})
    repeated = simulate(again).to_dict()
    assert repeated["time_ps"] == d["time_ps"]
    assert d["config"]["settings"]["control.max_draft"] == 4
    assert d["config"]["policy"] == "svip:code"


def test_first_token_time_counts_the_prefill() -> None:
    short, long = (
        simulate(RunConfig(tokens=5, set={"control.context": context})).to_dict()["ttft_ps"]
        for context in (10, 1000)
    )
    assert long > 2 * short

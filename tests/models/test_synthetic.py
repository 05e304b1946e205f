"""Synthetic traces have the figures that were asked for, and contradict themselves nowhere."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ahasd.models.errors import ConfigError, TraceError
from ahasd.models.synthetic import name_of, parse, synthesise
from ahasd.models.trace_files import write_set
from ahasd.models.traces import Trace, find_traces, load_trace, resolve

SPECS = [
    "synth:",
    "synth:acceptance=0",
    "synth:acceptance=1",
    "synth:acceptance=0.635,entropy=1.2,passages=0.5",
    "synth:link=1,correlation=0,passages=0",
    "synth:link=0,h_max=0.5",
    "synth:vocabulary=2,h_max=0.6,entropy=0.1,context=2",
    "synth:vocabulary=262144,h_max=12.4,entropy=5,correlation=0.99",
    "synth:rows=1,seed=3",
    "synth:passages=1",
]


def right(trace: Trace) -> np.ndarray:
    return trace.match_len > 0


def ranks(values: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")


@pytest.mark.parametrize("spec", SPECS)
def test_rollouts_with_the_same_prefix_say_the_same(spec: str) -> None:
    """A rollout that is right up to a position has the draft context of that position's own rollout."""
    trace = load_trace(spec)
    for row in range(0, trace.rows, 7):
        good = int(trace.match_len[row])
        for step in range(1, min(good + 1, trace.steps, trace.rows - row)):
            rest = trace.steps - step
            for name in ("draft", "entropy", "top1", "accept_pred"):
                values = getattr(trace, name)
                assert (values[row, step:] == values[row + step, :rest]).all(), (name, row, step)
            assert trace.match_len[row] == min(trace.steps, step + trace.match_len[row + step])


@pytest.mark.parametrize("acceptance", [0, 0.3, 0.825, 0.97, 1])
@pytest.mark.parametrize("more", ["", ",correlation=0.95", ",passages=1", ",seed=11"])
def test_acceptance_is_what_was_asked_for(acceptance: float, more: str) -> None:
    measured = right(load_trace(f"synth:acceptance={acceptance}{more}")).mean()
    assert measured == pytest.approx(acceptance, abs=0.02)  # over 1088 positions; 1024 are measured
    if acceptance in (0, 1):
        assert measured == acceptance


def test_the_first_token_and_the_last_of_a_perfect_draft() -> None:
    assert (load_trace("synth:acceptance=1").match_len == 64).all()
    assert (load_trace("synth:acceptance=0").match_len == 0).all()


@pytest.mark.parametrize("entropy", [0.1, 0.556, 1.2])
def test_mean_entropy_is_what_was_asked_for(entropy: float) -> None:
    first = np.concatenate([load_trace(f"synth:entropy={entropy},seed={s}").entropy[:, 0] for s in range(4)])
    assert first.mean() == pytest.approx(entropy, rel=0.1)


def test_link_of_entropy_and_acceptance() -> None:
    def spearman(link: float) -> float:
        traces = [load_trace(f"synth:link={link},seed={s}") for s in range(4)]
        entropy = np.concatenate([trace.entropy[:, 0] for trace in traces])
        good = np.concatenate([right(trace) for trace in traces])
        return float(np.corrcoef(ranks(entropy), good)[0, 1])

    none, weak, strong, all_ = (spearman(link) for link in (0, 0.25, 0.7, 1))
    assert abs(none) < 0.05
    assert -0.25 < weak < -0.1  # arXiv 2604.14682: -0.20 to -0.15
    assert all_ < strong < weak - 0.1


def test_entropy_tells_all_at_a_link_of_one() -> None:
    trace = load_trace("synth:link=1")
    entropy, good = trace.entropy[:, 0], right(trace)
    assert entropy[good].max() <= entropy[~good].min()


def test_default_acceptance_by_entropy_is_that_of_the_source() -> None:
    """nithinj25/mini_project, per bin of entropy; the default acceptance is 0.825 where theirs is 0.853."""
    traces = [load_trace(f"synth:acceptance=0.853,seed={s}") for s in range(8)]
    entropy = np.concatenate([trace.entropy[:, 0] for trace in traces])
    good = np.concatenate([right(trace) for trace in traces])
    edges, measured = [0, 0.25, 0.5, 1, 2, 4], [0.988, 0.897, 0.677, 0.563, 0.355]
    for (low, high), want in zip(pairwise(edges), measured, strict=True):
        assert good[(entropy >= low) & (entropy < high)].mean() == pytest.approx(want, abs=0.12)


def test_predictions_are_calibrated() -> None:
    traces = [load_trace(f"synth:seed={s}") for s in range(8)]
    predicted = np.concatenate([trace.accept_pred[:, 0] for trace in traces])
    good = np.concatenate([right(trace) for trace in traces])
    for low in (0.2, 0.4, 0.6, 0.8):
        inside = (predicted >= low) & (predicted < low + 0.2)
        assert good[inside].mean() == pytest.approx(predicted[inside].mean(), abs=0.06)


def test_correlation_along_the_text() -> None:
    def neighbours(rho: float) -> float:
        trace = load_trace(f"synth:correlation={rho},passages=0,acceptance=0.5")
        return float(np.corrcoef(ranks(trace.entropy[:-1, 0]), ranks(trace.entropy[1:, 0]))[0, 1])

    assert abs(neighbours(0)) < 0.1
    assert neighbours(0.5) == pytest.approx(0.48, abs=0.1)
    assert neighbours(0.9) > 0.8


def by_depth(trace: Trace, depth: int) -> float:
    """Acceptance of the token at ``depth``, given that all before it were right."""
    return float((trace.match_len > depth).sum() / (trace.match_len >= depth).sum())


def test_acceptance_rises_with_depth_only_through_passages_and_correlation() -> None:
    flat = load_trace("synth:acceptance=0.7,correlation=0,passages=0")
    assert by_depth(flat, 6) == pytest.approx(0.7, abs=0.08)
    real = load_trace("synth:acceptance=0.635,passages=0.3")
    assert by_depth(real, 0) < by_depth(real, 1) < by_depth(real, 6)
    assert by_depth(real, 6) > 0.8


def test_entropy_after_a_miss_falls() -> None:
    trace = load_trace("synth:acceptance=0.5,entropy_after_miss=2,entropy_decay=48")
    rows, misses = np.arange(trace.rows), trace.match_len

    def mean(since: int) -> float:
        seen = misses + since < trace.steps
        return float(trace.entropy[rows[seen], misses[seen] + since].mean())

    assert mean(1) == pytest.approx(2, rel=0.15)
    assert mean(33) == pytest.approx(2 * math.exp(-32 / 48), rel=0.2)


def test_same_settings_same_bytes(tmp_path: Path) -> None:
    a, b = (synthesise(parse(text)) for text in ("acceptance=0.8,seed=7", "seed=7,acceptance=.80"))
    (one,) = write_set(tmp_path / "a", {"x.npz": a.arrays}, a.pieces, a.provenance)
    (two,) = write_set(tmp_path / "b", {"x.npz": b.arrays}, b.pieces, b.provenance)
    for name in ("x.npz", "pieces.json", "provenance.json"):
        assert one.with_name(name).read_bytes() == two.with_name(name).read_bytes()
    other = synthesise(parse("acceptance=0.8,seed=8"))
    assert (other.arrays["y"] != a.arrays["y"]).any()


@pytest.mark.parametrize("spec", SPECS)
def test_a_written_set_is_the_same_trace(spec: str, tmp_path: Path) -> None:
    raw = synthesise(parse(spec))
    (path,) = write_set(tmp_path / "set", {"00_synth.npz": raw.arrays}, raw.pieces, raw.provenance)
    made, loaded = load_trace(spec), load_trace(path)
    for name in ("y", "draft", "entropy", "top1", "accept_pred", "match_len", "lookahead", "turn", "prompt"):
        assert (getattr(made, name) == getattr(loaded, name)).all()
    assert (made.h_max, made.vocab_draft, made.pieces) == (loaded.h_max, loaded.vocab_draft, loaded.pieces)


def test_a_set_is_not_written_over_another(tmp_path: Path) -> None:
    raw = synthesise(parse("rows=4"))
    write_set(tmp_path, {"x.npz": raw.arrays}, raw.pieces, raw.provenance)
    with pytest.raises(TraceError, match="holds traces already, expected a new folder"):
        write_set(tmp_path, {"x.npz": raw.arrays}, raw.pieces, raw.provenance)


def test_names() -> None:
    assert name_of(parse("seed=7,acceptance=.80,link=0.7")) == "synth:acceptance=0.8,seed=7"
    assert load_trace("synth:seed=7,acceptance=.80").name == "synth:acceptance=0.8,seed=7"
    assert name_of(parse("synth:")) == "synth:"


def test_several_traces_with_commas() -> None:
    spec = "synth:acceptance=0.8, seed=1,smollm2-greedy/00,synth:,synth:seed=2"
    names = ["synth:acceptance=0.8,seed=1", "smollm2-greedy/00", "synth:", "synth:seed=2"]
    assert [source.name for source in find_traces(spec)] == names
    first, again = resolve("synth:rows=5,synth:rows=5")
    assert first is again


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("synth:acceptence=1", r"synth\.acceptence: unknown key; near: synth\.acceptance"),
        ("synth:acceptance=1.1", r"synth\.acceptance: '1\.1' must be a number in 0\.\.1"),
        ("synth:acceptance", "expected key=value"),
        ("synth:vocabulary=100", r"synth\.h_max: 7 must be at most ln\(vocabulary\) = 4\.605 nats"),
        ("synth:rows=1025", r"synth\.rows: '1025' must be an integer in 1\.\.1024"),
    ],
)
def test_bad_settings(spec: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_trace(spec)

"""Random protocol-abiding streams: the RTL decides as the golden unit does, which keeps its word."""

from __future__ import annotations

import os
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahasd.models.control.coverage import BINS, CoveredUnit, coverage, missed
from ahasd.models.control.environment import ContractError, Environment, random_config
from ahasd.models.control.events import Decision, Draft, Verify
from ahasd.models.control.params import ControlConfig
from ahasd.models.replay import (
    GoldenUnit,
    Replay,
    ReplayUnit,
    first_difference,
    read_replay,
    replay,
    vectors,
    write_replay,
)
from ahasd.sim.compiled.build import compiler
from ahasd.sim.compiled.engine import CompiledReplayUnit
from ahasd.sim.rtl_engine import RtlReplayUnit

SEEDS = range(50)
compiled = pytest.mark.skipif(compiler() is None, reason="no C++ compiler")
seeds = st.integers(0, (1 << 32) - 1)


def check(recording: Replay, unit: ReplayUnit, name: str) -> None:
    difference = first_difference(recording, replay(recording, unit, name))
    assert difference is None, f"{name}: {difference}"


@pytest.fixture(scope="module")
def recordings() -> list[tuple[Replay, Counter[str]]]:
    """Every default seed's run on the golden unit, with what it covers."""
    runs = []
    for seed in SEEDS:
        unit = CoveredUnit()
        runs.append((Environment(seed).run(unit), unit.bins))
    return runs


@compiled
@pytest.mark.parametrize("seed", SEEDS)
def test_compiled_rtl(recordings: list[tuple[Replay, Counter[str]]], seed: int) -> None:
    check(recordings[seed][0], CompiledReplayUnit(), f"seed {seed}")


def test_default_seeds_cover_every_bin(recordings: list[tuple[Replay, Counter[str]]]) -> None:
    bins = sum((found for _, found in recordings), Counter())
    assert missed(bins) == []
    assert set(bins) == set(BINS)


def test_vectors_cover_every_bin() -> None:
    assert missed(coverage(read_replay(path) for path in vectors())) == []


@compiled
@settings(max_examples=60, deadline=None)
@given(seed=seeds, events=st.integers(1, 400))
def test_any_seed_on_compiled_rtl(seed: int, events: int) -> None:
    check(Environment(seed).run(GoldenUnit(), events), CompiledReplayUnit(), f"seed {seed}")


@settings(max_examples=5, deadline=None, derandomize=True)
@given(seed=seeds, events=st.integers(1, 120))
def test_any_seed_on_rtl(seed: int, events: int) -> None:
    check(Environment(seed).run(GoldenUnit(), events), RtlReplayUnit(), f"seed {seed}")


@compiled
@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_rtl_keeps_the_contract(seed: int) -> None:
    """Driven live, with the environment's own checks of requests against the sequence and the KV cache."""
    environment = Environment(seed)
    driven = environment.run(CompiledReplayUnit(), 200)
    assert first_difference(environment.run(GoldenUnit(), 200), driven) is None


@settings(max_examples=50, deadline=None)
@given(seed=seeds)
def test_configurations_and_recordings_are_legal(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    config = random_config(Random(seed))
    recording = Environment(seed, config).run(GoldenUnit(), 50)
    assert recording.config == config
    path = tmp_path_factory.mktemp("recording") / "run.jsonl"
    write_replay(path, recording)
    assert first_difference(recording, replay(read_replay(path), GoldenUnit())) is None


def test_same_seed_same_run() -> None:
    runs = [Environment(4).run(GoldenUnit(), 100) for _ in range(2)]
    assert first_difference(*runs) is None
    assert first_difference(runs[0], Environment(5).run(GoldenUnit(), 100)) is not None


class Spoilt(GoldenUnit):
    """A unit whose decisions are changed before anyone sees them."""

    def __init__(self, kind: type[Decision], tokens: int = 0, position: int = 0, twice: bool = False) -> None:
        super().__init__()
        self.kind, self.tokens, self.position, self.twice = kind, tokens, position, twice

    def _decisions(self, outcome: object) -> list[Decision]:  # type: ignore[override]
        decisions: list[Decision] = []
        for decision in outcome.decisions:  # type: ignore[attr-defined]
            if isinstance(decision, self.kind):
                if self.tokens:
                    altered = tuple((token + self.tokens) % (1 << 18) for token in decision.tokens)
                    decision = type(decision)(decision.position, altered)
                decision = type(decision)(decision.position + self.position, decision.tokens)
                decisions += [decision] * self.twice
            decisions.append(decision)
        return decisions


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (Spoilt(Verify, tokens=1), "verify: wrong tokens"),
        (Spoilt(Verify, position=1), "verify: wrong position"),
        (Spoilt(Verify, twice=True), "a second verification"),
        (Spoilt(Draft, tokens=1), "draft: the KV cache does not hold the sequence"),
        (Spoilt(Draft, position=1), "draft: keeps more than the KV cache has"),
        (Spoilt(Draft, twice=True), "a second task"),
    ],
)
def test_environment_notices_a_broken_unit(unit: Spoilt, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        Environment(1, ControlConfig(edc=False)).run(unit)


@pytest.mark.slow
@compiled
def test_a_million_events() -> None:
    """`pytest -m slow tests/models/test_random.py`; AHASD_EVENTS sets another number."""
    left, seed = int(os.environ.get("AHASD_EVENTS", "1000000")), 1 << 32
    bins: Counter[str] = Counter()
    while left > 0:
        unit = CoveredUnit()
        recording = Environment(seed).run(unit, 4000)
        check(recording, CompiledReplayUnit(), f"seed {seed}")
        bins += unit.bins
        left -= len(recording.steps)
        seed += 1
    for name in BINS:
        print(f"{bins[name]:8}  {name}")
    assert missed(bins) == []

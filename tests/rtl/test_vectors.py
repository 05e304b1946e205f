"""The RTL decides as the conformance vectors say, in Amaranth's simulator and compiled."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ahasd.models.control.params import UnitParams
from ahasd.models.control.predictor import AlwaysGoOn
from ahasd.models.control.unit import ControlUnit as GoldenControlUnit
from ahasd.models.replay import first_difference, read_replay, replay, vectors
from ahasd.rtl.control_unit import ControlUnit
from ahasd.sim.compiled.build import compiler, library
from ahasd.sim.compiled.engine import CompiledReplayUnit
from ahasd.sim.rtl_engine import RtlReplayUnit

from .streams import random_config, record

needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C++ compiler")

IN_SIMULATOR = [path for path in vectors() if path.stem in ("v0008", "v0017", "v0039")]
"""With fixes, contradictions, long and short batches; the whole set takes minutes in this simulator."""


def stem(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", IN_SIMULATOR, ids=stem)
def test_rtl_in_simulator(path: Path) -> None:
    expected = read_replay(path)
    assert first_difference(expected, replay(expected, RtlReplayUnit(), str(path))) is None


@needs_compiler
@pytest.mark.parametrize("path", vectors(), ids=stem)
def test_rtl_compiled(path: Path) -> None:
    expected = read_replay(path)
    assert first_difference(expected, replay(expected, CompiledReplayUnit(), str(path))) is None


def test_a_longer_ring_changes_no_decision() -> None:
    expected = record(random_config(random.Random(2), edc=True), 2, 120)
    unit = RtlReplayUnit(lambda: ControlUnit(UnitParams(queue_depth=256)))
    assert first_difference(expected, replay(expected, unit)) is None


@needs_compiler
@pytest.mark.parametrize("seed", range(2))
def test_the_other_predictor(seed: int) -> None:
    expected = record(
        random_config(random.Random(seed), edc=True),
        seed,
        1000,
        lambda: GoldenControlUnit(predictor=AlwaysGoOn),
    )
    assert expected.counters["predictions"] > 0
    assert expected.counters["suppressed"] == 0
    folder = library(predictor="always-go")
    assert first_difference(expected, replay(expected, CompiledReplayUnit(folder))) is None

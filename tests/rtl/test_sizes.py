"""The control unit in other sizes than the default: RTL and golden model agree, decisions and cycles."""

from __future__ import annotations

import pytest

from ahasd.models.control.environment import Environment
from ahasd.models.control.latency import latency
from ahasd.models.control.params import ControlConfig, UnitParams
from ahasd.models.control.unit import ControlUnit as GoldenControlUnit
from ahasd.models.control.work import TaskPath
from ahasd.models.replay import GoldenUnit
from ahasd.rtl.control_unit import ControlUnit
from ahasd.sim.compiled.build import compiler, library
from ahasd.sim.compiled.engine import CompiledReplayUnit
from ahasd.sim.rtl_engine import RtlReplayUnit
from ahasd.synth.sweep import VARIANTS

from .pair import Pair
from .test_latency import works

EXTREMES = [
    {"bucket_bits": 1, "llr_bits": 2, "history": 2, "cycle_entries": 1, "queue_depth": 64, "token_bits": 12},
    {"bucket_bits": 4, "llr_bits": 4, "history": 32, "cycle_entries": 8, "queue_depth": 512},
]
"""The smallest and the largest that a user may choose."""
SIZES = [sizes for sizes in VARIANTS.values() if sizes] + EXTREMES


def name_of(sizes: dict[str, int]) -> str:
    return ",".join(f"{key}={value}" for key, value in sizes.items())


def test_the_extremes_are_the_ends_of_the_ranges() -> None:
    for key, (low, high) in UnitParams.RANGES.items():
        assert EXTREMES[0][key] == low
        assert EXTREMES[1].get(key, getattr(UnitParams(), key)) == high


@pytest.mark.parametrize("sizes", SIZES, ids=name_of)
def test_simulated_rtl(sizes: dict[str, int]) -> None:
    """Each in two random streams: with the timer, and with pre-verification whenever EDC says stop."""
    params = UnitParams(**sizes)
    unit = RtlReplayUnit(lambda: ControlUnit(params))
    config = ControlConfig(max_draft=3, verify_max=8, context=40, draft_preset=100, preverify_preset=50)
    recording = Environment(5, config, params=params).run(GoldenUnit(lambda: GoldenControlUnit(params)), 80)
    done = list(works(recording, unit, params))
    assert {work.kind for work in done} >= {"start", "token", "feedback"}


@pytest.mark.slow
@pytest.mark.skipif(compiler() is None, reason="no C++ compiler")
@pytest.mark.parametrize("sizes", SIZES, ids=name_of)
def test_compiled_rtl(sizes: dict[str, int]) -> None:
    """40 random streams of 300 events; every way to a task is taken."""
    params = UnitParams(**sizes)
    folder = library(params)
    paths = set()
    for seed in range(40):
        golden = GoldenUnit(lambda: GoldenControlUnit(params))
        recording = Environment(seed, params=params).run(golden, 300)
        paths |= {work.path for work in works(recording, CompiledReplayUnit(folder), params)}
    assert paths == set(TaskPath)


@pytest.mark.parametrize("sizes", EXTREMES, ids=name_of)
def test_clear_and_start_take_as_long(sizes: dict[str, int]) -> None:
    """``clear``: tables or predictor, whichever takes longer."""
    params = UnitParams(**sizes)
    pair = Pair(params=params)
    pair.configure(ControlConfig())
    for command in ("clear", "start"):
        taken = pair.unit.edge + 2  # seen in the cycle after the strobe
        outcome = getattr(pair, command)()
        assert pair.unit.edge + 1 - taken == latency(outcome.work, params).free, command

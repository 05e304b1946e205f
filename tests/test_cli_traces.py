"""`ahasd trace synth` and `record`, and runs on what they make, as a user calls them."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from ahasd.cli import main
from ahasd.models.traces import load_trace


def call(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(line))
    out, err = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, out, err


def report(capsys: pytest.CaptureFixture[str], line: str) -> dict[str, Any]:
    code, out, err = call(capsys, line)
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def test_a_synthetic_set_runs_like_its_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = report(capsys, f"trace synth acceptance=0.7 rows=50 seed=3 --count 2 -o {tmp_path}/set --json")
    paths = made["traces"]
    assert [Path(path).name for path in paths] == ["00_synth.npz", "01_synth.npz"]
    assert load_trace(paths[1]).y.tolist() == load_trace("synth:acceptance=0.7,rows=50,seed=4").y.tolist()
    runs = [
        report(capsys, f"run --engine golden --tokens 50 --trace {trace} --json")
        for trace in (paths[0], "synth:acceptance=0.7,rows=50,seed=3")
    ]
    for run in runs:
        del run["config"], run["wall"], run["trace"]["name"]
    assert runs[0] == runs[1]


def test_a_short_trace_gives_what_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "run --trace synth:rows=50")
    assert code == 2
    assert "--tokens: 1024 must be from 1 to 50, what synth:rows=50 has" in err


def test_parameters_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    listed = report(capsys, "trace synth acceptance=0.7 --json")["settings"]
    assert {"acceptance", "link", "correlation", "seed"} <= {row["key"].split(".")[1] for row in listed}
    assert listed[0]["value"] == 0.7
    assert all(row["allowed"] for row in listed)


def test_a_set_is_not_overwritten(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert call(capsys, f"trace synth rows=2 -o {tmp_path}")[0] == 0
    code, _, err = call(capsys, f"trace synth rows=3 -o {tmp_path}")
    assert code == 2
    assert "holds traces already" in err


def test_recording_without_torch_says_what_to_install(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    code, out, err = call(capsys, f"trace record --target a --draft b --prompt x -o {tmp_path}/set")
    assert (code, out) == (2, "")
    assert "recording needs torch" in err
    assert err.endswith("pip install 'ahasd[record]'\n")
    assert not (tmp_path / "set").exists()

"""`ahasd kernel matmul`, and pairs and timing given to `ahasd run`, as a user calls them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from ahasd.cli import kernel_matmul, main


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AHASD_CACHE", str(tmp_path / "cache"))


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


def test_formula(capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "kernel matmul --array 128x128 -n 1 -k 4096 -m 4096 --no-memory --json")
    assert sorted(found) == ["bandwidth_gbps", "commands", "config", "cycles", "ps"]
    assert (found["cycles"], found["ps"]) == (131457, 131457000)


def test_with_memory(capsys: pytest.CaptureFixture[str]) -> None:
    """The platform's own array, bound by its bus."""
    found = report(capsys, "kernel matmul -n 8 -k 4096 -m 4096 --arrays 2 --json")
    assert found["config"]["array"] == "64x64"
    assert 44 < found["bandwidth_gbps"] < 46
    slow = report(
        capsys, "kernel matmul -n 8 -k 4096 -m 4096 --arrays 2 --set platform.dram.data_rate=3200 --json"
    )
    assert slow["cycles"] > 1.8 * found["cycles"]


def test_example_and_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert kernel_matmul.EXAMPLE.startswith("Example: ahasd ")
    line = kernel_matmul.EXAMPLE.removeprefix("Example: ahasd ")
    assert report(capsys, line)["cycles"] == 131581
    code, out, _ = call(capsys, line.removesuffix("--json"))
    assert code == 0
    assert "131581" in out
    assert "GB/s" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--array 64", "--array: '64' must be ROWSxCOLUMNS"),
        ("--array 0x64", "array: 0x64 must be at least 1x1"),
        ("-n 0", "-n: 0 must be at least 1"),
        ("--arrays 0", "--arrays: 0 must be at least 1"),
        ("--element-bytes 9", "--element-bytes: 9 must be from 1 to 4"),
        ("--set platform.npu.rows=1", "platform.npu.rows: '1' must be an integer in 4..1024"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], options: str, message: str) -> None:
    code, out, err = call(capsys, f"kernel matmul -n 1 -k 64 -m 64 {options}")
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_run_with_a_model_file_and_commands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = tmp_path / "mine.toml"
    model.write_text(
        "layers = 4\nhidden = 512\nheads = 8\nkv_heads = 8\nhead_dim = 64\nffn = 2048\nvocab = 32000\n"
    )
    line = (
        f"run --pair {model},sheared-1.3b --tokens 32 --engine golden --set platform.timing=commands --json"
    )
    found = report(capsys, line)
    assert found["config"]["pair"] == f"{model},sheared-1.3b"
    assert report(capsys, line)["time_ps"] == found["time_ps"]
    code, _, err = call(capsys, f"run --pair {tmp_path}/none.toml,sheared-1.3b --tokens 32")
    assert code == 2
    assert "none.toml: cannot be read" in err

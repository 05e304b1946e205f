"""Figures of peer simulators as tests, and the commands that print them."""

from __future__ import annotations

import json

import pytest

from ahasd.cli import main
from ahasd.models import validation
from ahasd.models.validation import Figure, Verdict, compare, figures

FIGURES = [figure for figure in figures() if figure.section in (1, 2)]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_peer(figure: Figure) -> None:
    (verdict,) = compare([figure])
    assert verdict.ok, f"{verdict.ours} against {figure.value}: {verdict.difference:+.2%}"


def test_figures_are_the_issue_s_bar() -> None:
    """Equal without refresh, 1 % with; PIM 2 % and 3 %; commands equal."""
    for figure in FIGURES:
        if figure.section == 1:
            assert figure.tolerance == (0.01 if figure.args.get("refresh", "none") != "none" else 0)
        elif figure.quantity in ("RD", "WR", "ACT", "PRE", "REF"):
            assert figure.tolerance == 0
        else:
            refresh = figure.args.get("refresh", False)
            assert figure.tolerance == (0.02 if refresh is False else 0.03)


def _cli(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out, out.err


def _one(value: float, tolerance: float) -> Figure:
    args = {"preset": "lpddr5-6400", "pattern": "same-row", "count": 1}
    return Figure(1, "one", "stream", args, "cycles", value, tolerance, "ramulator")


def test_verdict() -> None:
    assert Verdict(_one(100, 0.01), 101).ok
    assert not Verdict(_one(100, 0.01), 102).ok
    assert not Verdict(_one(100, 0), 100.01).ok
    assert Verdict(_one(50, 0), 50).to_dict()["difference"] == 0


def test_validate_command(capsys, monkeypatch) -> None:
    monkeypatch.setattr(validation, "figures", lambda: [_one(35, 0)])
    code, out, _ = _cli(capsys, "validate", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["ok"]
    assert found["figures"][0]["ours"] == found["figures"][0]["theirs"] == 35
    monkeypatch.setattr(validation, "figures", lambda: [_one(35, 0), _one(36, 0.01)])
    code, out, _ = _cli(capsys, "validate")
    assert code == 1
    assert "OUT" in out
    assert "1 of 2 within" in out
    code, out, _ = _cli(capsys, "validate", "--section", "2", "--json")
    assert json.loads(out) == {"figures": [], "ok": True}


def test_kernel_stream_command(capsys, tmp_path) -> None:
    trace = str(tmp_path / "trace")
    code, out, _ = _cli(
        capsys, "kernel", "stream", "--preset", "lpddr5-6400", "--pattern", "conflict", "--count", "2",
        "--trace", trace, "--json",
    )  # fmt: skip
    found = json.loads(out)
    assert code == 0
    assert found["cycles"] == 84
    assert found["ps"] == 84 * 1250
    assert found["commands"] == {"ACT1": 2, "ACT2": 2, "PREpb": 1, "RD": 2}
    assert found["bandwidth_gbps"] == pytest.approx(64 / 105)
    assert found["config"]["pattern"] == "conflict"
    assert len((tmp_path / "trace").read_text().splitlines()) == 8
    code, out, _ = _cli(capsys, "kernel", "stream", "--write", "--count", "64", "--scheduler", "in-order")
    assert code == 0
    assert "bandwidth" in out
    code, _, err = _cli(capsys, "kernel", "stream", "--scheduler", "best")
    assert (code, err) == (2, "ahasd: --scheduler: 'best' must be one of fr-fcfs, in-order\n")
    assert _cli(capsys, "kernel", "stream", "--preset", "ddr6")[0] == 2


def test_kernel_gemv_command(capsys, tmp_path) -> None:
    arguments = ["kernel", "gemv", "--preset", "hbm2-pim", "--rows", "64", "--cols", "256", "--no-refresh"]
    code, out, _ = _cli(capsys, *arguments, "--trace", str(tmp_path / "trace"), "--json")
    found = json.loads(out)
    assert code == 0
    assert set(found) >= {"cycles", "ps", "commands", "bandwidth_gbps", "config"}
    assert found["commands"]["RD"] == 160
    assert len((tmp_path / "trace").read_text().splitlines()) == 1 + sum(found["commands"].values())
    code, out, _ = _cli(capsys, "kernel", "gemv", "--rows", "64", "--cols", "64", "--vectors", "2")
    assert code == 0
    assert "broadcast" in out
    code, _, err = _cli(capsys, "kernel", "gemv", "--rows", "64", "--cols", "64", "--ranks", "99")
    assert code == 2
    assert "ranks: 99 must be at most the 16" in err

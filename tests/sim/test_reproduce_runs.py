"""`ahasd reproduce`: goes on where it was stopped, gives the same bytes again; a page that stands alone."""

from __future__ import annotations

import dataclasses
import filecmp
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ahasd.models.errors import AhasdError, ConfigError, TraceError
from ahasd.sim.reproduce import cells, scope
from ahasd.sim.reproduce.assumptions import ASSUMPTIONS, Assumption
from ahasd.sim.reproduce.cells import Cell, Outcome, code_digest
from ahasd.sim.reproduce.claims import load_claims
from ahasd.sim.reproduce.engines import engines_table
from ahasd.sim.reproduce.run import Report, chosen, reproduce
from ahasd.sim.reproduce.scope import FULL, QUICK, SYSTEMS, Grid, Scope, map_cells
from ahasd.sim.reproduce.store import Store
from ahasd.sim.reproduce.work import run_cells

TRACE = "smollm2-sampled/00"
ONE = Grid(pairs=("llama2-7b/13b",), policies=("svip",), traces=(TRACE,), tokens=12)
SOME = dataclasses.replace(ONE, systems=("npu-pim-sync", "async", "async+aau", "async+aau+edc"))
TINY = Scope(
    name="tiny",
    main=SOME,
    sensitivity=dataclasses.replace(SOME, systems=("npu-pim-sync",)),
    assumptions=tuple(a for a in ASSUMPTIONS if a.id in ("pim-A", "draft-ranks-4")),
    map_tokens=0,
    engines=dataclasses.replace(ONE, systems=()),
)


class Watched(Store):
    """Notes what was simulated."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.simulated: list[Cell] = []

    def put(self, cell: Cell, outcome: Outcome) -> None:
        self.simulated.append(cell)
        super().put(cell, outcome)


def whole(folder: Path, store: Store) -> Report:
    report = reproduce(TINY, load_claims(), store)
    report.write(folder)
    return report


def same_files(a: Path, b: Path) -> bool:
    names = sorted(path.name for path in a.iterdir())
    assert names == sorted(path.name for path in b.iterdir())
    return filecmp.cmpfiles(a, b, names, shallow=False) == (names, [], [])


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = [{folder!r}]
from test_reproduce_runs import TINY
from ahasd.sim.reproduce.claims import load_claims
from ahasd.sim.reproduce.run import reproduce
from ahasd.sim.reproduce.store import Store

def stop(done, wanted):
    if done == 3:
        os.kill(os.getpid(), signal.SIGKILL)

reproduce(TINY, load_claims(), Store(Path({cache!r})), progress=stop)
"""


def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    script = KILLED.format(folder=str(Path(__file__).parent), cache=str(cache))
    assert subprocess.run([sys.executable, "-c", script]).returncode == -9
    kept = len(list(cache.rglob("*.json")))
    assert kept == 3
    again, fresh = Watched(cache), Watched(tmp_path / "fresh")
    report = whole(tmp_path / "resumed", again)
    whole(tmp_path / "at-once", fresh)
    assert len(again.simulated) == report.cells - kept
    assert len(fresh.simulated) == report.cells
    assert same_files(tmp_path / "resumed", tmp_path / "at-once")


def test_nothing_is_simulated_twice_and_bytes_stay(tmp_path: Path) -> None:
    first, second = Watched(tmp_path / "cache"), Watched(tmp_path / "cache")
    whole(tmp_path / "a", first)
    whole(tmp_path / "b", second)
    assert first.simulated
    assert not second.simulated
    assert same_files(tmp_path / "a", tmp_path / "b")


def test_processes_change_nothing(tmp_path: Path) -> None:
    wanted = list(SOME.cells().values())[:2]
    alone = run_cells(wanted, Store(tmp_path / "one"))
    assert run_cells(wanted, Store(tmp_path / "two"), jobs=2) == alone
    assert len(list((tmp_path / "two").rglob("*.json"))) == 2


def test_a_damaged_result_is_simulated_again(tmp_path: Path) -> None:
    store = Watched(tmp_path)
    (cell,) = list(SOME.cells().values())[:1]
    expected = run_cells([cell], store)
    (path,) = tmp_path.rglob("*.json")
    path.write_bytes(path.read_bytes()[:-20])
    assert run_cells([cell], store) == expected
    assert store.simulated == [cell, cell]


def test_a_cell_depends_on_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    (cell,) = list(SOME.cells().values())[:1]
    before = cell.key()
    assert dataclasses.replace(cell, settings=(("platform.pim.lanes", 4),)).key() != before
    monkeypatch.setattr(cells, "code_digest", lambda: code_digest()[::-1])
    assert cell.key() != before


def test_a_model_that_does_not_fit_is_an_outcome(tmp_path: Path) -> None:
    (cell,) = list(SOME.cells().values())[:1]
    small = dataclasses.replace(cell, settings=(("platform.dram.rank_mib", 64),))
    outcome = run_cells([small], Store(tmp_path))[small]
    assert outcome.figures is None
    assert "GB" in outcome.reason
    assert not outcome.defect
    assert Store(tmp_path).get(small) == outcome


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_trace_that_cannot_be_read_is_no_result(jobs: int, tmp_path: Path) -> None:
    """It may be there the next time, so it is not kept."""
    missing = [dataclasses.replace(cell, trace="none/00") for cell in SOME.cells().values()]
    with pytest.raises(TraceError, match="none/00: no such trace"):
        run_cells(missing, Store(tmp_path), jobs=jobs)
    assert not list(tmp_path.rglob("*.json"))


def test_a_result_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (cell,) = list(SOME.cells().values())[:1]
    store = Store(tmp_path)
    (tmp_path / cell.key()[:2] / f"{cell.key()}.json").mkdir(parents=True)
    with pytest.raises(AhasdError, match="cannot be written"):
        store.put(cell, Outcome(reason="does not fit"))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_rounds_of_a_run_in_lock_step(tmp_path: Path) -> None:
    """The share of the whole run lies between those of its rounds; without lock-step there are none."""
    (cell,) = dataclasses.replace(ONE, systems=("npu-pim-sync",), tokens=60).cells().values()
    figures = run_cells([cell], Store(tmp_path))[cell].figures
    assert figures is not None
    pim = figures["pim"]
    share = 1 - pim["idle_ps"] / figures["time_ps"]
    assert figures["rounds"]["pim_share_least"] <= share <= figures["rounds"]["pim_share_most"]
    (cell,) = dataclasses.replace(ONE, systems=("async",), tokens=60).cells().values()
    figures = run_cells([cell], Store(tmp_path))[cell].figures
    assert figures is not None
    assert figures["rounds"] is None


# Scopes.


def test_scopes_have_everything() -> None:
    for size in (QUICK, FULL):
        assert size.main.systems == SYSTEMS
        assert len(size.main.pairs) == 3
        assert len(size.main.policies) == 4
        assert size.main.tokens == 1024
        assert len(map_cells(size.map_tokens)) == 6 * 6 * len(scope.MAP_SYSTEMS)
    assert len(FULL.main.traces) == 6


@pytest.mark.parametrize("assumption", [a for a in ASSUMPTIONS if a.leaves], ids=lambda a: a.id)
def test_an_assumption_leaves_alone_what_it_says(assumption: Assumption, tmp_path: Path) -> None:
    """Run again with its settings, these systems do the same, to the picosecond and the joule."""
    grid = dataclasses.replace(ONE, systems=tuple(sorted(assumption.leaves)), tokens=8)
    changed = grid.cells(dataclasses.replace(assumption, leaves=frozenset()))
    outcomes = run_cells([*changed.values(), *grid.cells().values()], Store(tmp_path))
    for point, cell in grid.cells().items():
        same, plain = outcomes[changed[point]].figures, outcomes[cell].figures
        assert same is not None
        assert plain is not None
        for figures in (same, plain):
            del figures["config"]
        assert same == plain, point


def test_only_some_claims() -> None:
    assert [claim.id for claim in chosen(["C1", "A1"])] == ["A1", "C1"]
    with pytest.raises(ConfigError, match=r"--only A9: unknown claim; near: .*A1"):
        chosen(["A9"])


def test_engines_agree() -> None:
    grid = dataclasses.replace(ONE, systems=("ahasd",), tokens=6)
    table = engines_table(grid)
    assert [row[5] for row in table.rows] == ["golden", "compiled", "rtl"]
    assert all(row[7] == "yes" or str(row[7]).startswith("not run") for row in table.rows)
    assert table.rows[0][7] == table.rows[2][7] == "yes"


# Command.


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    folder = tmp_path_factory.mktemp("reproduce")
    command = [sys.executable, "-m", "ahasd", "reproduce", "--quick", "--only", "C1,S1", "--tokens", "2"]
    done = subprocess.run(
        [*command, "--out", str(folder / "out"), "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, "AHASD_CACHE": str(folder / "cache")},
    )
    assert (done.returncode, done.stderr) == (0, "")
    document: dict[str, object] = json.loads(done.stdout)
    return folder / "out", document


def test_the_command_writes_everything(made: tuple[Path, dict[str, object]]) -> None:
    out, document = made
    ledger = document["ledger"]
    assert isinstance(ledger, list)
    assert [row["id"] for row in ledger] == ["C1", "S1"]
    names = {path.name for path in out.iterdir()}
    assert {"index.html", "ledger.csv", "sensitivity.csv", "failures.csv", "area.svg", "area.png"} <= names


def test_the_page_stands_alone(made: tuple[Path, dict[str, object]]) -> None:
    """No script, style, font, image or link from elsewhere; names of XML dialects are not fetched."""
    text = (made[0] / "index.html").read_text(encoding="utf-8")
    assert "<svg" in text
    assert "<script" not in text
    assert "<link" not in text
    assert "@import" not in text
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)[^"']*""", text)
    assert not re.findall(r"""url\(\s*["']?(?!#)[^)]*\)""", text)
    addresses = set(re.findall(r"""["'](https?://[^"']+)["']""", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--only X1", "--only X1: unknown claim"),
        ("--only=", "unknown claim"),
        ("--engine rtl", "must be golden"),
        ("--tokens 0", "from 1 to 1024"),
        ("--jobs 0", "--jobs"),
    ],
)
def test_bad_input_is_one_line(line: str, expected: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ahasd", "reproduce", *line.split(), "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert expected in done.stderr
    assert not (tmp_path / "out").exists()

"""Result folders: made once, whole or not at all, also by several at a time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from ahasd.models.errors import ToolError
from ahasd.synth.results import cache_root, content_key, result_folder


def test_made_once(tmp_path: Path) -> None:
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "a").write_text("1")

    first = result_folder("k", make, tmp_path)
    second = result_folder("k", make, tmp_path)
    assert first == (tmp_path / "k", False)
    assert second == (tmp_path / "k", True)
    assert len(made) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["k"]


def test_failure_leaves_no_result(tmp_path: Path) -> None:
    def make(folder: Path) -> None:
        (folder / "yosys.log").write_text("why")
        raise ToolError("no")

    for _ in range(2):
        with pytest.raises(ToolError, match="no"):
            result_folder("k", make, tmp_path)
    assert (tmp_path / "failed" / "k" / "yosys.log").read_text() == "why"
    assert [path.name for path in tmp_path.iterdir()] == ["failed"]


def test_two_at_a_time(tmp_path: Path) -> None:
    barrier = threading.Barrier(2)

    def make(folder: Path) -> None:
        (folder / "a").write_text("1")
        barrier.wait(timeout=10)

    found: list[tuple[Path, bool]] = []
    threads = [
        threading.Thread(target=lambda: found.append(result_folder("k", make, tmp_path))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(tmp_path / "k", False)] * 2
    assert [path.name for path in tmp_path.iterdir()] == ["k"]


def test_unusable_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ToolError, match="AHASD_CACHE"):
        result_folder("k", lambda folder: None, tmp_path / "file")


def test_key_depends_on_the_split() -> None:
    assert content_key("ab", "c") != content_key("a", "bc")


def test_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AHASD_CACHE", "/x")
    assert cache_root() == Path("/x/synth")
    monkeypatch.delenv("AHASD_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/y")
    assert cache_root() == Path("/y/ahasd/synth")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert cache_root() == Path("/h/.cache/ahasd/synth")

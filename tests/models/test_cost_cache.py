"""The cost cache: once a process, once between processes, whatever happens to its files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ahasd.models import cost_cache
from ahasd.models.cache_root import cache_root
from ahasd.models.cost_cache import CostCache
from ahasd.models.model_version import CODE, PACKAGES, code_digest


def never() -> int:
    raise AssertionError("computed again")


def test_each_cost_is_computed_once(tmp_path: Path) -> None:
    first = CostCache({"a": 1}, tmp_path)
    assert first.time(("gemv", 4, 8), lambda: 17) == 17
    assert first.time(("gemv", 4, 8), never) == 17
    assert first.get(("table",), lambda: [1, 2]) == [1, 2]
    assert first.simulated == 2
    again = CostCache({"a": 1}, tmp_path)
    assert again.time(("gemv", 4, 8), never) == 17
    assert again.get(("table",), never) == [1, 2]
    assert again.simulated == 0


def test_scope_and_version_are_in_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CostCache({"tccd": 4}, tmp_path).time(("k", 1), lambda: 1)
    assert CostCache({"tccd": 5}, tmp_path).time(("k", 1), lambda: 2) == 2
    assert CostCache({"tccd": 4}, tmp_path).time(("k", 2), lambda: 3) == 3
    monkeypatch.setattr(cost_cache, "MODEL_VERSION", -1)
    assert CostCache({"tccd": 4}, tmp_path).time(("k", 1), lambda: 4) == 4


def test_damage_is_simulated_again(tmp_path: Path) -> None:
    cache = CostCache({}, tmp_path)
    for n in range(20):
        cache.time(("k", n), lambda n=n: 100 + n)  # type: ignore[misc]
    whole = cache.path.read_bytes()
    for at in range(0, len(whole), 7):
        for broken in (whole[:at], whole[:at] + b"\xff" + whole[at + 1 :], whole[:at] + whole[at + 1 :]):
            cache.path.write_bytes(broken)
            again = CostCache({}, tmp_path)
            assert [again.time(("k", n), lambda n=n: 100 + n) for n in range(20)] == list(range(100, 120))  # type: ignore[misc]
            again.close()
            mended = CostCache({}, tmp_path)
            assert [mended.time(("k", n), never) for n in range(20)] == list(range(100, 120))
    cache.path.write_bytes(os.urandom(4096))
    assert CostCache({}, tmp_path).time(("k", 1), lambda: 101) == 101


def test_a_table_where_a_time_should_be(tmp_path: Path) -> None:
    CostCache({}, tmp_path).get(("k",), lambda: [1])
    assert CostCache({}, tmp_path).time(("k",), lambda: 5) == 5


@pytest.mark.parametrize("place", ["file", "below a file", "a folder in its place"])
def test_unwritable_is_not_fatal(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "f"
    if place == "a folder in its place":
        CostCache({}, folder).path.mkdir(parents=True)
    else:
        folder.write_text("")
    cache = CostCache({}, folder / "g" if place == "below a file" else folder)
    assert cache.time(("k",), lambda: 3) == 3
    assert cache.time(("k",), never) == 3


WORK = """
import sys
from pathlib import Path
from ahasd.models.cost_cache import CostCache
cache = CostCache({}, Path(sys.argv[1]))
for i in range(300):
    n = (i * 7 + int(sys.argv[2]) * 31) % 300
    assert cache.time(("kernel", n), lambda: 1000 + n) == 1000 + n
"""


def test_concurrent_runs(tmp_path: Path) -> None:
    jobs = [subprocess.Popen([sys.executable, "-c", WORK, str(tmp_path), str(seed)]) for seed in range(4)]
    assert [job.wait() for job in jobs] == [0] * 4
    cache = CostCache({}, tmp_path)
    assert [cache.time(("kernel", n), never) for n in range(300)] == list(range(1000, 1300))


def test_cache_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AHASD_CACHE", str(tmp_path))
    assert cache_root() == tmp_path
    assert CostCache({}).path.parent == tmp_path / "costs"
    monkeypatch.delenv("AHASD_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_root() == Path("/x/ahasd")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert cache_root() == Path("/h/.cache/ahasd")


def test_version_is_that_of_the_code() -> None:
    """Fails when code of memory, PIM or NPU has changed: costs from before may be stale."""
    assert code_digest() == CODE, (
        f"code or tables of {', '.join(PACKAGES)} have changed: if a cost may differ, raise MODEL_VERSION in "
        f'models/model_version.py; in any case set CODE there to "{code_digest()}"'
    )


def test_digest_sees_code_only(tmp_path: Path) -> None:
    package = tmp_path / "dram"
    package.mkdir()
    file = package / "a.py"

    def digest(text: str) -> str:
        file.write_text(text)
        return code_digest(tmp_path)

    before = digest('"""Doc."""\nX = 1\n')
    assert digest('"""Other."""\n\n# remark\nX = 1\n') == before
    assert digest('"""Doc."""\nX = 2\n') != before
    file.rename(package / "b.py")
    assert code_digest(tmp_path) != before

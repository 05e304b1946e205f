"""What is installed: every package and data file, imports in one direction, files of readable size."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from setuptools import find_packages

ROOT = Path(__file__).parents[1]
FOLDERS = ("models", "rtl", "sim", "synth", "src", "tests")
MODELS = ("control.unit", "cost", "policies", "replay", "rollout", "traces", "platform.notes")
LONGEST = 450
"""Lines of a source file."""


def setuptools_table() -> dict[str, object]:
    with open(ROOT / "pyproject.toml", "rb") as file:
        table: dict[str, object] = tomllib.load(file)["tool"]["setuptools"]
    return table


def test_every_package_is_listed() -> None:
    table = setuptools_table()
    folders = table["package-dir"]
    assert isinstance(folders, dict)
    found = set()
    for name, folder in folders.items():
        found |= {name} | {f"{name}.{sub}" for sub in find_packages(str(ROOT / folder))}
    assert found == set(table["packages"])  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("imported", "forbidden"),
    [
        ("ahasd", {"numpy", "amaranth", "simpy", "typer"}),
        ("ahasd.cli", {"numpy", "amaranth", "simpy", "rich"}),
        (
            f"ahasd.models.{', ahasd.models.'.join(MODELS)}",
            {"amaranth", "simpy", "ahasd.rtl", "ahasd.sim"},
        ),
        ("ahasd.sim.run", {"amaranth", "ahasd.rtl", "ahasd.synth"}),
        ("ahasd.rtl.control_unit", {"simpy", "ahasd.sim", "ahasd.synth"}),
    ],
)
def test_imports_go_one_way(imported: str, forbidden: set[str]) -> None:
    code = f"import sys, {imported}; print(sorted({forbidden!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_no_file_is_too_long() -> None:
    sizes = {
        path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines())
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
    }
    assert not {path: lines for path, lines in sizes.items() if lines > LONGEST}


def test_typing_links_reach_every_folder() -> None:
    for name in ("models", "rtl", "sim", "synth", "cli"):
        assert (ROOT / ".typing" / "ahasd" / name / "__init__.py").exists()


@pytest.mark.hdl
def test_a_wheel_has_code_and_data(tmp_path: Path) -> None:
    """Slow (an isolated build of a copy), so among the tests that `make test` leaves out."""
    source = tmp_path / "source"
    for folder in ("models", "rtl", "sim", "synth", "src"):
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / file, source)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path), str(source)]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for path in (
        "ahasd/py.typed",
        "ahasd/cli/run.py",
        "ahasd/models/data/traces/smollm2-sampled/00_essay.npz",
        "ahasd/models/data/traces/smollm2-sampled/pieces.json",
        "ahasd/models/data/vectors/v0001.jsonl",
        "ahasd/models/data/platforms/ahasd.toml",
        "ahasd/models/data/language_models.toml",
        "ahasd/sim/systems/registry.py",
        "ahasd/sim/compiled/glue.cc",
        "ahasd/synth/lint.vlt",
    ):
        assert path in names

"""The README tells the truth: its commands run, its output is what comes out, its links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    block.strip().splitlines() for block in re.findall(r"<!-- run -->\n```sh\n(.*?)```", README, re.DOTALL)
]
SHOWN = re.search(r"<!-- output of: (ahasd run --engine rtl) -->\n```text\n(.*?)```", README, re.DOTALL)


def run(line: str, folder: Path) -> str:
    """Run a shell line with this environment's ``ahasd``."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{line}: {done.stderr}"
    return done.stdout


def test_there_are_commands_to_run() -> None:
    assert len(COMMANDS) == 3
    assert SHOWN is not None


@pytest.mark.parametrize("lines", COMMANDS, ids=lambda lines: lines[0])
def test_commands_run(lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    for line in lines:
        run(line, tmp_path)


def same_for_all_engines(text: str) -> list[str]:
    """Without what depends on the engine or the machine."""
    return [
        " ".join(line.split())
        for line in text.splitlines()
        if not line.startswith(("run     engine", "unit    cycles")) and "simulated in" not in line
    ]


def test_the_result_shown_is_the_result(tmp_path: Path) -> None:
    """If this fails after a change to a model, paste the new output."""
    assert SHOWN is not None
    assert same_for_all_engines(SHOWN[2]) == same_for_all_engines(run("ahasd run", tmp_path))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_python_example_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

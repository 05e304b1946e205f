"""Verilator ``-Wall`` over Verilog files."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ahasd.models.errors import ToolError
from ahasd.synth.emit import HEADER, WAIVERS
from ahasd.synth.tools import find_verilator

__all__ = ["LintWarning", "lint"]

_MESSAGE = re.compile(r"%(Warning|Error)(?:-(\w+))?: ([^\s:]+):(\d+):(\d+): (.*)")


@dataclass(frozen=True)
class LintWarning:
    """One complaint of Verilator's; ``rule`` is ``ERROR`` for a syntax or elaboration error."""

    rule: str
    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.message}"


def lint(path: str | os.PathLike[str], top: str | None = None) -> list[LintWarning]:
    """Warnings and errors of ``verilator --lint-only -Wall`` on ``path``, in its order; empty if clean.

    The waivers of ``lint.vlt`` apply to files that ``emit_verilog`` wrote and to no other.

    Raises
    ------
    ToolError
        If Verilator or the file is missing, or Verilator fails without saying where.
    """
    source = Path(path).resolve()
    try:
        with source.open(encoding="utf-8") as file:
            generated = file.readline().rstrip("\n") == HEADER
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}") from None
    tool = find_verilator()
    waivers = [str(WAIVERS)] if generated else []
    tops = ["--top-module", top] if top else []
    done = subprocess.run(
        [*tool.command, "--lint-only", "-Wall", *tops, *waivers, str(source)],
        env=tool.environment(),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    found = [
        LintWarning(rule or "ERROR", Path(file).name, int(line), message)
        for _, rule, file, line, _, message in (m.groups() for m in _MESSAGE.finditer(done.stderr))
    ]
    if done.returncode and not found:
        raise ToolError(f"verilator on {path}: {' '.join(done.stderr.split())[-300:]}")
    return found

"""Version of the simulated costs: to be raised when code changes what memory, PIM or NPU cost.

Cached costs of other versions are not used. ``CODE`` ties the version to the code: a test compares it with
``code_digest()``, which ``python -m ahasd.models.model_version`` prints.
"""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

__all__ = ["CODE", "MODEL_VERSION", "PACKAGES", "code_digest"]

MODEL_VERSION = 1
CODE = "b3f0f856300d655d"
PACKAGES = ("command_cost", "data/dram", "data/pim", "dram", "npu", "pim")
"""Folders of ``ahasd.models`` that costs come from: code and tables."""


def code_digest(root: Path | None = None) -> str:
    """Of the packages' code; comments, docstrings and blank lines do not count."""
    root = root or Path(__file__).parent
    digest = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.suffix == ".py":
                digest.update(path.relative_to(root).as_posix().encode() + b"\0")
                digest.update(_code(path.read_text(encoding="utf-8")).encode() + b"\0")
            elif path.suffix == ".toml":
                digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _code(text: str) -> str:
    """The lines of a module that are neither blank nor comment nor docstring."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))


if __name__ == "__main__":
    print(code_digest())

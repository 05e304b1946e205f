"""Costs of kernels, each simulated once in a process and once between processes.

A scope is everything that a cost depends on beside the shape: the platform's parameters, the version of the
models of memory, PIM and NPU (``MODEL_VERSION``), ranks. Each scope has a file of lines under
``cache_root()/costs``; a line is a check sum, a shape and its cost. Lines are only ever appended, each in one
write, so concurrent runs do no harm; a line that is torn or damaged is skipped, and simulated again.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ahasd.models.cache_root import cache_root
from ahasd.models.model_version import MODEL_VERSION

__all__ = ["CostCache"]

Cost = int | list[int]
"""A time, or a table of them."""


class CostCache:
    """Costs of one scope.

    Parameters
    ----------
    scope : Mapping
        What costs depend on beside their key; values are as in JSON.
    folder : Path, optional
        Where files are; under the user's cache without one. None of it need exist, or be writable: then costs
        are kept in this process alone.
    """

    _file: int | None = None

    def __init__(self, scope: Mapping[str, Any], folder: Path | None = None) -> None:
        text = json.dumps({"version": MODEL_VERSION, **scope}, sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()[:24]
        self.path = (folder or cache_root() / "costs") / f"{name}.lines"
        self.simulated = 0
        """Costs that were computed here, not found."""
        self._costs: dict[str, Cost] | None = None
        self._used: dict[tuple[str | int, ...], Cost] = {}
        self._writable = True

    def get(self, key: tuple[str | int, ...], compute: Callable[[], Cost]) -> Cost:
        """The cost of ``key``: kernel and shape."""
        known = self._used.get(key)
        if known is not None:
            return known
        if self._costs is None:
            self._costs = _read(self.path)
        text = json.dumps(key, separators=(",", ":"))
        found = self._costs.get(text)
        if found is None:
            found = self._costs[text] = compute()
            self.simulated += 1
            self._append(text, found)
        self._used[key] = found
        return found

    def time(self, key: tuple[str | int, ...], compute: Callable[[], int]) -> int:
        """A cost that is one time; a file that holds something else there counts as damaged."""
        found = self.get(key, compute)
        if not isinstance(found, int):
            assert self._costs is not None
            del self._used[key], self._costs[json.dumps(key, separators=(",", ":"))]
            return self.time(key, compute)
        return found

    def close(self) -> None:
        """Close the file; the cache can go on being used."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __del__(self) -> None:
        self.close()

    def _append(self, key: str, cost: Cost) -> None:
        if not self._writable:
            return
        body = json.dumps([key, cost], separators=(",", ":"))
        line = f"\n{zlib.crc32(body.encode()):08x} {body}\n".encode()
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            os.write(self._file, line)
        except OSError:
            self._writable = False


def _read(path: Path) -> dict[str, Cost]:
    """All whole lines of a file; none if it is not there or cannot be read."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return {}
    costs: dict[str, Cost] = {}
    for line in lines:
        check, _, body = line.partition(b" ")
        if body and check == b"%08x" % zlib.crc32(body):
            key, cost = json.loads(body)
            costs[key] = cost
    return costs

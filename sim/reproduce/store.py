"""Results of cells on disk, a file each, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

from ahasd.models.cache_root import cache_root
from ahasd.models.errors import AhasdError
from ahasd.sim.files import make_folder
from ahasd.sim.reproduce.cells import Cell, Outcome

__all__ = ["Store"]


class Store:
    """Outcomes by :meth:`Cell.key`.

    Parameters
    ----------
    folder : Path, optional
        ``cache_root()/cells`` without one. Concurrent use does no harm: a file appears whole or not at all.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_root() / "cells"

    def get(self, cell: Cell) -> Outcome | None:
        """The outcome, if it is there and whole."""
        try:
            return Outcome(**json.loads(self._path(cell).read_text(encoding="utf-8"))["outcome"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, cell: Cell, outcome: Outcome) -> None:
        """Keep the outcome, unless it is a defect.

        Raises
        ------
        AhasdError
            If it cannot be written.
        """
        if outcome.defect:
            return
        path = self._path(cell)
        make_folder(path.parent)
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        document = {"cell": dataclasses.asdict(cell), "outcome": dataclasses.asdict(outcome)}
        try:
            partial.write_text(json.dumps(document), encoding="utf-8")
            partial.replace(path)
        except OSError as error:
            raise AhasdError(f"{path}: cannot be written ({error.strerror})") from None
        finally:
            partial.unlink(missing_ok=True)

    def _path(self, cell: Cell) -> Path:
        key = cell.key()
        return self.folder / key[:2] / f"{key}.json"

"""The control unit as golden model, compiled RTL and RTL in Amaranth's simulator: the same runs?"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ahasd.models.errors import AhasdError
from ahasd.sim.ports import ModelError
from ahasd.sim.reproduce.cells import Cell
from ahasd.sim.reproduce.scope import Grid
from ahasd.sim.reproduce.table import Field, Table
from ahasd.sim.reproduce.work import Progress
from ahasd.sim.run import simulate

__all__ = ["ENGINES", "engines_table"]

ENGINES = ("golden", "compiled", "rtl")


def engines_table(grid: Grid, progress: Progress | None = None) -> Table:
    """Run each cell of ``grid`` on every engine and compare all that a run reports, byte for byte."""
    cells = list(grid.cells().values())
    rows: list[list[Field]] = []
    for number, cell in enumerate(cells):
        digests = {engine: _digest(cell, engine) for engine in ENGINES}
        expected = digests["golden"]
        rows += [
            [
                *(cell.system, cell.pair, cell.policy, cell.trace, cell.tokens, engine),
                *([None, digest[1]] if digest[0] is None else [digest[0], _verdict(digest[0], expected[0])]),
            ]
            for engine, digest in digests.items()
        ]
        if progress is not None:
            progress(number + 1, len(cells))
    return Table(
        name="engines",
        title="Golden model and RTL",
        header=["system", "pair", "policy", "trace", "tokens", "engine", "digest of the result", "identical"],
        rows=rows,
        note="The digest covers everything in `ahasd run --json` but `engine` and `wall`.",
    )


def _verdict(digest: str, expected: str | None) -> str:
    return "yes" if digest == expected else "no"


def _digest(cell: Cell, engine: str) -> tuple[str | None, str]:
    """Digest of the result, or why there is none."""
    try:
        document: dict[str, Any] = simulate(cell.config(engine), details=False).to_dict()
    except (AhasdError, ModelError) as error:
        return None, f"not run: {error}"
    del document["engine"], document["wall"]
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16], ""

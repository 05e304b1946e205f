"""The paper's figures, as `claims.csv` lists them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from ahasd import models

__all__ = ["Claim", "load_claims"]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One figure of arXiv 2604.25326."""

    id: str
    source: str
    """Where in the paper; ``seed``: from its first announcement."""
    claim: str
    value: float


def load_claims() -> list[Claim]:
    """All claims in the order of the file."""
    path = Path(models.__file__).parent / "data" / "claims.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Claim(id=row["id"], source=row["source"], claim=row["claim"], value=float(row["value"]))
            for row in csv.DictReader(file)
        ]

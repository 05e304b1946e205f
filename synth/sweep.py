"""What each bit of the control unit buys: area and clock of variants, one parameter changed at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ahasd.models.control.params import UnitParams
from ahasd.models.errors import AhasdError
from ahasd.synth.area import area
from ahasd.synth.timing import timing

__all__ = ["VARIANTS", "Point", "sweep"]

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "PHT 128 x 2 (2-bit buckets)": {"bucket_bits": 2},
    "PHT 2048 x 2 (4-bit buckets)": {"bucket_bits": 4},
    "history 4": {"history": 4},
    "history 16": {"history": 16},
    "LLR 2 bits (3 batches)": {"llr_bits": 2, "batches": 3},
    "tables of 2": {"cycle_entries": 2},
    "tables of 8": {"cycle_entries": 8},
    "ring 256": {"queue_depth": 256},
    "tokens 16 bits": {"token_bits": 16},
}
"""Name -> fields of UnitParams that differ from the default."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One variant; ``problem`` instead of figures if it cannot be built."""

    name: str
    um2: float = 0.0
    storage_um2: float = 0.0
    flops: float = 0
    period_ns: float = 0.0
    problem: str = ""


def sweep(
    names: list[str] | None = None,
    *,
    liberty: str | os.PathLike[str] = "nangate45",
    yosys: str = "yowasp",
    engine: str = "auto",
    cache: Path | None = None,
) -> Iterator[Point]:
    """The variants' points, as they are ready: a minute each the first time."""
    from ahasd.rtl.control_unit import ControlUnit

    for name in names or list(VARIANTS):
        try:
            params = replace(UnitParams(), **VARIANTS[name])
            report = area(ControlUnit(params), "control_unit", liberty=liberty, yosys=yosys, cache=cache)
            times = timing(
                ControlUnit(params), "control_unit", liberty=liberty, yosys=yosys, engine=engine, cache=cache
            )
        except (AhasdError, ValueError, IndexError, TypeError) as error:
            yield Point(name=name, problem=str(error))
            continue
        total = report.total
        yield Point(
            name=name,
            um2=total["um2"],
            storage_um2=total["storage_um2"],
            flops=total["flops"],
            period_ns=times.blocks[0].period_ns,
        )

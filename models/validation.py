"""Our figures against those of peer simulators: ``data/peers.toml``, one runner for each kind of work."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["RUNNERS", "Figure", "Verdict", "compare", "figures"]

Quantities = Mapping[str, float]
_TABLE = Path(__file__).parent / "data" / "peers.toml"


@dataclass(frozen=True)
class Figure:
    """What a peer found."""

    section: int
    """1 plain DRAM, 2 PIM kernels, 3 systolic array."""
    name: str
    run: str
    args: Mapping[str, Any]
    quantity: str
    value: float
    tolerance: float
    """Relative; 0: equal."""
    source: str


@dataclass(frozen=True)
class Verdict:
    """What we find."""

    figure: Figure
    ours: float

    @property
    def difference(self) -> float:
        """Relative to the peer's value."""
        return self.ours / self.figure.value - 1

    @property
    def ok(self) -> bool:
        return abs(self.ours - self.figure.value) <= self.figure.tolerance * self.figure.value

    def to_dict(self) -> dict[str, Any]:
        figure = self.figure
        return {
            "section": figure.section,
            "name": figure.name,
            "quantity": figure.quantity,
            "ours": self.ours,
            "theirs": figure.value,
            "difference": self.difference,
            "tolerance": figure.tolerance,
            "ok": self.ok,
            "source": figure.source,
        }


def figures() -> list[Figure]:
    """All of the table."""
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    found = [Figure(**entry) for entry in table["figure"]]
    for figure in found:
        assert figure.run in RUNNERS, f"{figure.name}: no runner {figure.run}"
        assert figure.source in table["source"], f"{figure.name}: no source {figure.source}"
    return found


def compare(chosen: list[Figure]) -> Iterator[Verdict]:
    """Run what each figure asks for; the same work once."""
    done: dict[str, Quantities] = {}
    for figure in chosen:
        key = json.dumps([figure.run, figure.args], sort_keys=True)
        if key not in done:
            done[key] = RUNNERS[figure.run](**figure.args)
        yield Verdict(figure, done[key][figure.quantity])


def _stream(preset: str, pattern: str, count: int, write: bool = False, refresh: str = "none") -> Quantities:
    """``cycles``, number of each command, ``first`` and ``last`` clock of each."""
    from ahasd.models.dram import load_dram, stream
    from ahasd.models.dram.controller import Command

    trace: list[Command] = []
    found = stream(load_dram(preset), pattern, count, write=write, refresh=refresh, trace=trace)
    last = {f"last {command.name}": command.clock for command in trace}
    first = {f"first {command.name}": command.clock for command in reversed(trace)}
    return {"cycles": found.cycles, **found.commands, **first, **last}


def _distance(preset: str, scope: str, earlier: str, later: str) -> Quantities:
    """``clocks`` that the table of constraints asks for."""
    from ahasd.models.dram import load_dram

    return {"clocks": load_dram(preset).between(scope, earlier, later)}


def _gemv(preset: str, rows: int, cols: int, refresh: bool, ranks: int = 1) -> Quantities:
    """``cycles`` and number of each command."""
    from ahasd.models.pim import gemv

    found = gemv(preset, rows, cols, ranks=ranks, refresh=refresh)
    return {"cycles": found.cycles, **found.commands}


def _slope(preset: str) -> Quantities:
    """``clocks`` that a further pair of input tiles costs."""
    from ahasd.models.pim import gemv, load_pim

    spec = load_pim(preset)
    two, one = (gemv(spec, spec.outputs, pairs * 2 * spec.inputs, refresh=False).cycles for pairs in (8, 7))
    return {"clocks": two - one}


def _elementwise(preset: str, operation: str, elements: int, refresh: bool) -> Quantities:
    """``cycles`` and number of each command."""
    from ahasd.models.pim import elementwise

    found = elementwise(preset, operation, elements, refresh)
    return {"cycles": found.cycles, **found.commands}


def _matmul(
    array: tuple[int, int],
    n: int,
    k: int,
    m: int,
    gbps: float | None = None,
    latency_ns: int = 0,
    element_bytes: int = 1,
    scratchpad_kib: int = 8192,
) -> Quantities:
    """``cycles`` of one array at 1 GHz, with a memory of a fixed rate or none."""
    from ahasd.models.npu import FixedDma, SystolicArray, matmul

    dma = None if gbps is None else FixedDma(gbps, 1000 * latency_ns)
    found = matmul(
        SystolicArray(*array),
        n,
        k,
        m,
        dma=dma,
        element_bytes=element_bytes,
        scratchpad_bytes=scratchpad_kib << 10,
    )
    return {"cycles": found.cycles}


RUNNERS: dict[str, Callable[..., Quantities]] = {
    "stream": _stream,
    "distance": _distance,
    "gemv": _gemv,
    "slope": _slope,
    "elementwise": _elementwise,
    "matmul": _matmul,
}
"""Kinds of work: keyword arguments to quantities."""

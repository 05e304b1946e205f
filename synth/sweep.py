"""What each bit of the control unit buys: area, clock, latency and the system's throughput, by its sizes.

One size is changed at a time, or two where the first needs the second. What was found is kept, by design,
library, tools and our sources: a sweep that was broken off goes on where it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache as remembered
from importlib.resources import files
from pathlib import Path
from typing import Any

from ahasd.models.control.latency import latency
from ahasd.models.control.params import UnitParams
from ahasd.models.control.work import TaskPath, Work
from ahasd.models.errors import AhasdError, ConfigError
from ahasd.models.settings import near
from ahasd.synth.area import area
from ahasd.synth.flow import Emit
from ahasd.synth.liberty import read_library
from ahasd.synth.opensta import find_sta
from ahasd.synth.results import content_key, result_folder
from ahasd.synth.timing import timing
from ahasd.synth.tools import find_liberty, find_yosys

__all__ = ["TOKENS", "TRACES", "VARIANTS", "Point", "cycles", "sweep", "throughput"]

VARIANTS: dict[str, dict[str, int]] = {
    "default": {},
    "PHT 32 (1-bit buckets)": {"bucket_bits": 1},
    "PHT 128 (2-bit buckets)": {"bucket_bits": 2},
    "PHT 2048 (4-bit buckets)": {"bucket_bits": 4},
    "history 2": {"history": 2},
    "history 4": {"history": 4},
    "history 16": {"history": 16},
    "LLR 2 bits": {"llr_bits": 2},
    "LLR 2 bits, ring 64": {"llr_bits": 2, "queue_depth": 64},
    "LLR 4 bits, ring 256": {"llr_bits": 4, "queue_depth": 256},
    "ring 256": {"queue_depth": 256},
    "tables of 1": {"cycle_entries": 1},
    "tables of 2": {"cycle_entries": 2},
    "tables of 8": {"cycle_entries": 8},
    "tokens 16 bits": {"token_bits": 16},
}
"""Name -> fields of UnitParams that differ from the default."""

TRACES = tuple(
    f"{name}/{number:02}"
    for name in ("smollm2-sampled", "smollm2-greedy", "factbook-sampled", "factbook-templated")
    for number in range(3)
)
"""Three traces of each bundled set."""

TOKENS = 512
"""Committed tokens of each run."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One variant; ``problem`` instead of figures if it cannot be built."""

    name: str
    sizes: dict[str, int]
    um2: float = 0.0
    storage_um2: float = 0.0
    flops: int = 0
    period_ns: float = 0.0
    cycles: dict[str, int] = field(default_factory=dict)
    """See :func:`cycles`."""
    tokens_per_s: dict[str, float] = field(default_factory=dict)
    """Trace -> tokens/s of system ``ahasd``."""
    problem: str = ""

    @property
    def mean_tokens_per_s(self) -> float:
        """Over the traces."""
        return sum(self.tokens_per_s.values()) / len(self.tokens_per_s)


def cycles(params: UnitParams) -> dict[str, int]:
    """Clock cycles from an event until the task that follows is offered.

    ``go on``: a batch's last token, EDC allows another draft; ``timer``: the same, TVC decides; ``fix``: a
    pre-verification that mends a token; ``clear``: predictor and tables as new.
    """

    def offered(kind: str, path: TaskPath, **more: bool) -> int:
        timing = latency(Work(kind=kind, path=path, recorded=True, task_tokens=2, **more), params)
        assert timing.task_offered is not None
        return timing.task_offered

    return {
        "go on": offered("token", TaskPath.GO_ON),
        "timer": offered("token", TaskPath.TIMER),
        "fix": offered("preverified", TaskPath.DIRECT, fixed=True),
        "clear": latency(Work(kind="clear"), params).free,
    }


@remembered
def _sources(*packages: str) -> str:
    """All sources of these packages, and whence the traces come, as one text."""
    texts = []
    for package in packages:
        folder = Path(str(files(package)))
        for path in sorted(
            [*folder.rglob("*.py"), *folder.rglob("*.toml"), *folder.rglob("provenance.json")]
        ):
            texts.append(f"{path.relative_to(folder)}\n{path.read_text(encoding='utf-8')}")
    return "\n".join(texts)


def throughput(
    sizes: dict[str, int], trace: str, *, tokens: int = TOKENS, cache: Path | None = None
) -> float:
    """Tokens a second of system ``ahasd`` on ``trace`` with a unit of these sizes; golden engine, defaults.

    Raises
    ------
    ConfigError
        If the sizes cannot be, or the trace's token ids do not fit.
    """
    from ahasd.sim.config import RunConfig
    from ahasd.sim.run import simulate

    changes = {f"control.unit.{key}": value for key, value in sizes.items()}
    config = RunConfig(trace=trace, tokens=tokens, engine="golden", set=changes)

    def make(folder: Path) -> None:
        result = simulate(config, details=False)
        text = json.dumps({**config.to_dict(), "tokens_per_s": result.tokens_per_s})
        (folder / "throughput.json").write_text(text + "\n", encoding="utf-8")

    key = content_key("throughput", _sources("ahasd.models", "ahasd.sim"), json.dumps(config.to_dict()))
    folder, _ = result_folder(key, make, cache)
    return float(json.loads((folder / "throughput.json").read_text(encoding="utf-8"))["tokens_per_s"])


def sweep(
    names: Iterable[str] = (),
    *,
    liberty: str | os.PathLike[str] = "nangate45",
    yosys: str = "yowasp",
    engine: str = "auto",
    traces: Iterable[str] = TRACES,
    tokens: int = TOKENS,
    cache: Path | None = None,
) -> Iterator[Point]:
    """Points of the variants ``names`` (all by default), as they are ready: some minutes each the first time.

    Raises
    ------
    ConfigError
        If there is no such variant.
    """
    chosen = list(names) or list(VARIANTS)
    for name in chosen:
        if name not in VARIANTS:
            raise ConfigError(f"variant {name!r}: unknown; near: {near(name, VARIANTS)}")
    for name in chosen:
        sizes = VARIANTS[name]
        try:
            yield _point(name, sizes, liberty, yosys, engine, list(traces), tokens, cache)
        except AhasdError as error:
            yield Point(name=name, sizes=sizes, problem=str(error))


def _point(
    name: str,
    sizes: dict[str, int],
    liberty: str | os.PathLike[str],
    yosys: str,
    engine: str,
    traces: list[str],
    tokens: int,
    cache: Path | None,
) -> Point:
    params = UnitParams(**sizes)
    speeds = {trace: throughput(sizes, trace, tokens=tokens, cache=cache) for trace in traces}
    gates = _gates(params, liberty, yosys, engine, cache)
    return Point(name=name, sizes=sizes, cycles=cycles(params), tokens_per_s=speeds, **gates)


def _gates(
    params: UnitParams, liberty: str | os.PathLike[str], yosys: str, engine: str, cache: Path | None
) -> dict[str, Any]:
    """Area and clock of a unit of these sizes: fields of :class:`Point`."""
    from ahasd.rtl.control_unit import ControlUnit

    chosen = engine if engine != "auto" else ("opensta" if find_sta() else "own")

    def make(folder: Path) -> None:
        total = area(ControlUnit(params), "control_unit", liberty=liberty, yosys=yosys, cache=cache).total
        times = timing(
            ControlUnit(params), "control_unit", liberty=liberty, yosys=yosys, engine=chosen, cache=cache
        )
        found = {key: total[key] for key in ("um2", "storage_um2", "flops")}
        text = json.dumps({**found, "period_ns": times.blocks[0].period_ns})
        (folder / "gates.json").write_text(text + "\n", encoding="utf-8")

    design = Emit(ControlUnit(params), "control_unit").run()
    tools = (read_library(find_liberty(liberty)).sha256, find_yosys(yosys).version, chosen)
    folder, _ = result_folder(
        content_key("gates", design.rtlil, *tools, _sources("ahasd.synth")), make, cache
    )
    found: dict[str, Any] = json.loads((folder / "gates.json").read_text(encoding="utf-8"))
    return found

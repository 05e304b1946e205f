"""What a run gives back: figures, recordings, timelines."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, field
from typing import Any

from ahasd.models.energy import Machine
from ahasd.models.replay import Replay
from ahasd.models.traces import Trace
from ahasd.sim.config import RunConfig
from ahasd.sim.observer import Dropped
from ahasd.sim.spans import Span
from ahasd.sim.tally import Tally, figures, latency_figures

__all__ = ["SCHEMA", "Result", "TraceResult"]

SCHEMA = 1
"""Version of the JSON document."""


@dataclass(frozen=True, kw_only=True)
class TraceResult:
    """One trace run through the system."""

    name: str
    h_max: float
    """Of the trace, nats."""
    context: int
    """Prompt tokens that the run assumed."""
    tally: Tally
    engine: dict[str, Any] | None
    """Name, cycles, versions; None without a control unit."""
    seconds: float
    # Details, kept on request.
    trace: Trace | None = None
    committed: list[int] = field(default_factory=list)
    npu_spans: list[Span] = field(default_factory=list)
    pim_spans: list[Span] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    """Drafts removed from the queue; empty without a control unit."""
    recording: Replay | None = None
    """Events and decisions of the control unit; None without one."""
    queued: list[int] = field(default_factory=list)
    """Tokens in the control unit's queue after each step of the recording."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """Result of :func:`ahasd.sim.run.simulate`: of one trace, or of all traces of a set."""

    config: RunConfig
    settings: dict[str, Any]
    """Every setting with its value, by dotted key."""
    policy: str
    """Canonical name of the drafting policy."""
    system: str
    machine: Machine
    """What the system is made of, for its energy."""
    version: str
    runs: list[TraceResult]

    @property
    def tally(self) -> Tally:
        """Sums over all traces."""
        return functools.reduce(operator.add, (run.tally for run in self.runs))

    @property
    def tokens_per_s(self) -> float:
        """Committed tokens a second, prefill left out."""
        sums = self.tally
        return sums.tokens * 1e12 / sums.time_ps

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of ``ahasd run --json``; with several traces, ``runs`` has one for each."""
        if len(self.runs) == 1:
            return self._document(self.runs)
        document = self._document(self.runs)
        document["runs"] = [self._document([run]) for run in self.runs]
        return document

    def _document(self, runs: list[TraceResult]) -> dict[str, Any]:
        sums = functools.reduce(operator.add, (run.tally for run in runs))
        single = runs[0].name if len(runs) == 1 else self.config.trace
        config = {
            **self.config.to_dict(),
            "trace": single,
            "policy": self.policy,
            "version": self.version,
            "settings": self.settings,
        }
        trace: dict[str, Any] = {"name": single, "h_max": runs[0].h_max}
        if len(runs) == 1:
            trace["context"] = runs[0].context
        else:
            trace["names"] = [run.name for run in runs]
        return {
            "schema": SCHEMA,
            "config": config,
            "trace": trace,
            "system": self.system,
            "engine": self._engine(runs, sums),
            **figures(sums, self.machine),
            "wall": {"seconds": round(sum(run.seconds for run in runs), 3)},
        }

    @staticmethod
    def _engine(runs: list[TraceResult], sums: Tally) -> dict[str, Any] | None:
        reports = [run.engine for run in runs if run.engine is not None]
        if not reports:
            return None
        return {
            "name": reports[0]["name"],
            "cycles": sum(report["cycles"] for report in reports),
            "latency_cycles": latency_figures(sums.latency),
            "versions": reports[0].get("versions", {}),
        }

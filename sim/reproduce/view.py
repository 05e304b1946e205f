"""Results read under one assumption: which run stands for which system, which figure for which quantity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ahasd.sim.paired import Ratio, paired_ratio
from ahasd.sim.reproduce.assumptions import DEFAULT, Assumption
from ahasd.sim.reproduce.cells import Outcome

__all__ = ["Figures", "Metric", "Point", "View", "power_w", "speed"]

Figures = Mapping[str, Any]
"""The document of a run."""

Metric = Callable[["View", Figures], float | None]
"""A positive figure of one run; None where the run has none."""


@dataclass(frozen=True, order=True)
class Point:
    """A run by what a reader sees of it."""

    system: str
    pair: str
    policy: str
    trace: str


class View:
    """Outcomes of one set of runs.

    Parameters
    ----------
    outcomes : Mapping
    assumption : Assumption
        Under which they are read; the runs themselves were made with its settings.
    """

    def __init__(self, outcomes: Mapping[Point, Outcome], assumption: Assumption = DEFAULT) -> None:
        self.outcomes = outcomes
        self.assumption = assumption
        self.pairs = _unique(point.pair for point in outcomes)
        self.policies = _unique(point.policy for point in outcomes)
        self.traces = _unique(point.trace for point in outcomes)
        self.systems = _unique(point.system for point in outcomes)

    def outcome(self, system: str, pair: str, policy: str, trace: str) -> Outcome:
        """The outcome of the run that stands for ``system``; one that was not asked for says so."""
        actual = self.assumption.systems.get(system, system)
        found = self.outcomes.get(Point(actual, pair, policy, trace))
        return found or Outcome(reason=f"{actual}: not among the runs")

    def figures(self, system: str, pair: str, policy: str) -> list[Figures | None]:
        """Of each trace, None where the run failed."""
        return [self.outcome(system, pair, policy, trace).figures for trace in self.traces]

    def ratio(self, metric: Metric, system: str, base: str, pair: str, policy: str) -> Ratio | None:
        """``system`` over ``base``, paired by trace; None if no trace has both."""
        ratios = []
        for ours, theirs in zip(
            self.figures(system, pair, policy), self.figures(base, pair, policy), strict=True
        ):
            if ours is None or theirs is None:
                continue
            above, below = metric(self, ours), metric(self, theirs)
            if above and below:
                ratios.append(above / below)
        return paired_ratio(ratios) if ratios else None

    def mean(self, metric: Metric, system: str, pair: str, policy: str) -> Ratio | None:
        """Mean over the traces."""
        values = [
            value
            for figures in self.figures(system, pair, policy)
            if figures is not None and (value := metric(self, figures))
        ]
        return paired_ratio(values) if values else None

    # Metrics that depend on the reading.

    def efficiency(self, figures: Figures) -> float | None:
        """Tokens a joule."""
        joules = self.joules(figures)
        return 1 / joules if joules else None

    def joules(self, figures: Figures) -> float | None:
        """A token."""
        energy = figures.get("energy")
        if not energy:
            return None
        place = energy if self.assumption.energy == "default" else energy[self.assumption.energy]
        value: float = place["per_token_j"]
        return value

    def acceptance(self, figures: Figures) -> float | None:
        """Accepted / verified, or committed / drafted in the reading that counts all drafts."""
        value: float | None = figures[self.assumption.acceptance]
        return value


def speed(_: View, figures: Figures) -> float | None:
    """Tokens a second."""
    value: float | None = figures["tokens_per_s"]
    return value


def power_w(view: View, figures: Figures, wanted: Callable[[str], bool]) -> float | None:
    """Mean power of the components whose name is ``wanted``."""
    energy = figures.get("energy")
    if not energy:
        return None
    place = energy if view.assumption.energy == "default" else energy[view.assumption.energy]
    joules = float(sum(value for name, value in place["components"].items() if wanted(name)))
    return 1e12 * joules / int(figures["time_ps"])


def _unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))

"""Which runs there are: the matrix, the same under each assumption, the map, the sample for the engines."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

from ahasd.models.errors import ConfigError
from ahasd.models.language_files import DEFAULT_PAIR
from ahasd.models.policies import DEFAULT_POLICY
from ahasd.models.traces import find_traces
from ahasd.sim.reproduce.assumptions import ASSUMPTIONS, DEFAULT, Assumption
from ahasd.sim.reproduce.cells import Cell
from ahasd.sim.reproduce.view import Point
from ahasd.sim.systems import find_system

__all__ = ["FULL", "MAP_SYSTEMS", "PAIRS", "POLICIES", "QUICK", "SYSTEMS", "Grid", "Scope", "map_cells"]

PAIRS = ("opt-1.3b/6.7b", "llama2-7b/13b", "palm-8b/30b")
POLICIES = ("specdec++", "svip", "adaedl", "banditspec")
SYSTEMS = (
    *("gpu-only", "gpu-mobile", "npu-only", "pim-only", "pim-sd", "specpim", "specpim-gpu"),
    *("npu-pim-sync", "async", "async+aau", "async+aau+edc", "ahasd", "oracle"),
)
MAP_SYSTEMS = ("npu-only", "pim-only", "pim-sd", "specpim", "npu-pim-sync", "async", "ahasd")
"""Those that a phone with PIM could run."""

MAP_ACCEPTANCE = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MAP_MEMORY = ((1, 24), (1, 12), (1, 6), (2, 6), (4, 6), (8, 6))
"""Banks that a PIM unit reads at once, and clocks between its reads: PIM bandwidth from 1/8 to 4 times the
default. MAC lanes go with it, so that a pass is bound by its reads as by default."""
LANES_PER_BANK = 32
MAP_POLICY = "svip"


@dataclass(frozen=True, kw_only=True)
class Grid:
    """All combinations of these."""

    pairs: tuple[str, ...] = PAIRS
    policies: tuple[str, ...] = POLICIES
    systems: tuple[str, ...] = SYSTEMS
    traces: tuple[str, ...] = ()
    tokens: int = 1024

    def cells(self, assumption: Assumption = DEFAULT) -> dict[Point, Cell]:
        """A cell for each combination, under ``assumption``; by default where it leaves a system alone."""
        cells = {}
        for pair, policy, system in itertools.product(self.pairs, self.policies, self.systems):
            change = DEFAULT if system in assumption.leaves else assumption
            chosen = DEFAULT_POLICY if _has_own_rule(system) else change.policies.get(policy, policy)
            for trace in assumption.traces or self.traces:
                cells[Point(system, pair, policy, trace)] = Cell(
                    system=system,
                    pair=pair,
                    policy=chosen,
                    trace=trace,
                    tokens=self.tokens,
                    platform=change.platform,
                    settings=tuple(sorted(change.settings.items())),
                )
        return cells


def _has_own_rule(system: str) -> bool:
    """It drafts in its own way, whatever the policy: one run stands for all policies."""
    try:
        return find_system(system).policy is not None
    except ConfigError:
        return False


def _names(*sets: str) -> tuple[str, ...]:
    return tuple(source.name for name in sets for source in find_traces(name))


@dataclass(frozen=True, kw_only=True)
class Scope:
    """How much is run."""

    name: str
    main: Grid
    sensitivity: Grid
    """Run under each assumption and, for comparison, under none."""
    assumptions: tuple[Assumption, ...] = ASSUMPTIONS
    map_tokens: int = 256
    """0: no map."""
    engines: Grid = field(default_factory=Grid)
    """Runs on which golden model and RTL are compared."""

    def limited(self, systems: Iterable[str], *, extras: bool) -> Scope:
        """With these systems only under assumptions; without ``extras`` everywhere, no map and no engines."""
        wanted = set(systems)

        def some(grid: Grid) -> Grid:
            return dataclasses.replace(grid, systems=tuple(s for s in grid.systems if s in wanted))

        changed = dataclasses.replace(self, sensitivity=some(self.sensitivity))
        if extras:
            return changed
        engines = dataclasses.replace(self.engines, systems=())
        return dataclasses.replace(changed, main=some(self.main), map_tokens=0, engines=engines)

    def with_tokens(self, tokens: int) -> Scope:
        """All runs with so many tokens."""
        grids = {
            name: dataclasses.replace(getattr(self, name), tokens=tokens)
            for name in ("main", "sensitivity", "engines")
        }
        return dataclasses.replace(self, **grids, map_tokens=tokens if self.map_tokens else 0)


QUICK = Scope(
    name="quick",
    main=Grid(traces=_names("smollm2-sampled/00")),
    sensitivity=Grid(policies=("svip", "adaedl"), traces=_names("smollm2-sampled/00"), tokens=256),
    engines=Grid(
        pairs=(DEFAULT_PAIR,), systems=("async", "ahasd"), traces=("smollm2-sampled/00",), tokens=32
    ),
)
FULL = Scope(
    name="full",
    main=Grid(traces=_names("smollm2-sampled")),
    sensitivity=Grid(traces=_names("smollm2-sampled/00"), tokens=256),
    engines=Grid(systems=("async", "async+aau+edc", "ahasd"), traces=("smollm2-sampled/00",), tokens=64),
)


def map_cells(tokens: int) -> dict[tuple[tuple[int, int], float, str], Cell]:
    """Cells of the map by memory (``MAP_MEMORY``), acceptance and system; none for 0 tokens."""
    if not tokens:
        return {}
    return {
        ((banks, clocks), acceptance, system): Cell(
            system=system,
            pair=DEFAULT_PAIR,
            policy=MAP_POLICY,
            trace=f"synth:acceptance={acceptance:g}",
            tokens=tokens,
            settings=map_settings(banks, clocks),
        )
        for banks, clocks in MAP_MEMORY
        for acceptance in MAP_ACCEPTANCE
        for system in MAP_SYSTEMS
    }


def map_settings(banks: int, clocks: int) -> tuple[tuple[str, int], ...]:
    """Settings of a memory of the map."""
    return (
        ("platform.dram.tccd_l", clocks),
        ("platform.pim.banks_at_once", banks),
        ("platform.pim.lanes", LANES_PER_BANK * banks),
    )

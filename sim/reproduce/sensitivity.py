"""Each claim under each assumption, one at a time, and under a reading together with a setting."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ahasd.sim.reproduce.assumptions import DEFAULT, READINGS, Assumption
from ahasd.sim.reproduce.cells import Cell, Outcome
from ahasd.sim.reproduce.claims import Claim
from ahasd.sim.reproduce.measures import MEASURES, Value
from ahasd.sim.reproduce.rules import follows
from ahasd.sim.reproduce.scope import Grid
from ahasd.sim.reproduce.table import Field, Table
from ahasd.sim.reproduce.view import View

__all__ = ["Trial", "sensitivity_table", "trials"]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One assumption, or two, and every claim's figure under it."""

    id: str
    text: str
    parts: tuple[Assumption, ...]
    values: Mapping[str, Value]
    """Without claims that no run gives."""

    @property
    def single(self) -> bool:
        """It departs from the defaults in one point."""
        return len(self.parts) == 1


def trials(
    grid: Grid, assumptions: Iterable[Assumption], outcomes: Mapping[Cell, Outcome], ids: Iterable[str]
) -> list[Trial]:
    """The default on the sensitivity grid first, then all others; single ones before pairs."""
    ids = [name for name in ids if name in MEASURES]
    singles: list[Trial] = []
    pairs: list[Trial] = []
    for assumption in (DEFAULT, *assumptions):
        results = {point: outcomes[cell] for point, cell in grid.cells(assumption).items()}
        singles.append(_trial(View(results, assumption), (assumption,), ids))
        for reading in READINGS:
            both = _together(assumption, reading)
            if assumption is DEFAULT:
                singles.append(_trial(View(results, both), (reading,), ids))
            else:
                pairs.append(_trial(View(results, both), (assumption, reading), ids))
    singles[0] = dataclasses.replace(singles[0], text=_runs(grid))
    return singles + pairs


def _runs(grid: Grid) -> str:
    """What the default trial has that the ledger's runs have not, in words."""
    return f"{', '.join(grid.policies)} with {grid.tokens} tokens of {', '.join(grid.traces)} alone"


def _together(setting: Assumption, reading: Assumption) -> Assumption:
    return dataclasses.replace(
        setting,
        systems=reading.systems,
        energy=reading.energy,
        acceptance=reading.acceptance,
        share=reading.share,
    )


def _trial(view: View, parts: tuple[Assumption, ...], ids: list[str]) -> Trial:
    values = {name: value for name in ids if (value := MEASURES[name].value(view)) is not None}
    return Trial(
        id=" + ".join(part.id for part in parts),
        text=" and ".join(part.text for part in parts),
        parts=parts,
        values=values,
    )


def sensitivity_table(claims: Iterable[Claim], found: Iterable[Trial]) -> Table:
    """A row for each claim and single assumption."""
    rows: list[list[Field]] = []
    claims = list(claims)
    for trial in found:
        if not trial.single:
            continue
        for claim in claims:
            value = trial.values.get(claim.id)
            if value is None:
                continue
            holds = "yes" if follows(MEASURES[claim.id].rule, claim.value, value.ours) else "no"
            rows.append(
                [
                    *(trial.id, trial.text, claim.id, claim.claim, claim.value, value.ours, holds),
                    *(value.count, value.without),
                ]
            )
    return Table(
        name="sensitivity",
        title="Every claim under every assumption",
        header=[
            *("assumption", "in words", "id", "claim", "paper", "ours", "follows"),
            *("pairs x policies", "without result"),
        ],
        rows=rows,
        note="On runs of their own, fewer than those of the ledger: compare with their own default.",
    )

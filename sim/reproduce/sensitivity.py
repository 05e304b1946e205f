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
    plain: Mapping[str, Value]
    """The same with the defaults."""

    @property
    def single(self) -> bool:
        """It departs from the defaults in one point."""
        return len(self.parts) == 1


def trials(
    main: View,
    grid: Grid,
    assumptions: Iterable[Assumption],
    outcomes: Mapping[Cell, Outcome],
    ids: Iterable[str],
) -> list[Trial]:
    """The default on the sensitivity grid first, then all others; single ones before pairs.

    Readings alone are of the ledger's own runs, ``main``; with a setting, of those made under it.
    """
    ids = [name for name in ids if name in MEASURES]
    default = View({point: outcomes[cell] for point, cell in grid.cells().items()})
    plain = _values(default, ids)
    singles = [Trial(id=DEFAULT.id, text=_runs(grid), parts=(DEFAULT,), values=plain, plain=plain)]
    pairs: list[Trial] = []
    ours = _values(main, ids)
    for reading in READINGS:
        view = View(main.outcomes, _together(DEFAULT, reading))
        singles.append(_trial(view, (reading,), ids, ours))
    for assumption in assumptions:
        results = {point: outcomes[cell] for point, cell in grid.cells(assumption).items()}
        singles.append(_trial(View(results, assumption), (assumption,), ids, plain))
        for reading in READINGS:
            view = View(results, _together(assumption, reading))
            pairs.append(_trial(view, (assumption, reading), ids, plain))
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


def _values(view: View, ids: list[str]) -> dict[str, Value]:
    return {name: value for name in ids if (value := MEASURES[name].value(view)) is not None}


def _trial(view: View, parts: tuple[Assumption, ...], ids: list[str], plain: Mapping[str, Value]) -> Trial:
    return Trial(
        id=" + ".join(part.id for part in parts),
        text=" and ".join(part.text for part in parts),
        parts=parts,
        values=_values(view, ids),
        plain=plain,
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
        note="Settings are on runs of their own, fewer than those of the ledger: compare with their default. "
        "Readings are of the ledger's runs.",
    )

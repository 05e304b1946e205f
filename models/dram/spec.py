"""A memory as data: its standard's commands and constraints, organisation, timing.

A standard is a table in ``data/dram/standards``; a new one needs no code. Times are in clocks of ``tck_ps``.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ahasd.models.dram.expression import evaluate
from ahasd.models.errors import ConfigError
from ahasd.models.settings import near

__all__ = ["SCOPES", "Constraint", "DramSpec", "Organisation", "Standard", "load_standard", "standard_of"]

SCOPES = ("channel", "rank", "other-ranks", "group", "bank")
"""What the earlier and the later command share; ``other-ranks``: the channel, but not the rank."""
_HOME = Path(__file__).parents[1] / "data" / "dram" / "standards"


@dataclass(frozen=True)
class Constraint:
    """The later command comes at least ``clocks`` after the earlier one, or after the ``window``-th last."""

    scope: str
    earlier: str
    later: str
    clocks: str
    window: int = 1


@dataclass(frozen=True)
class Standard:
    """Commands and constraints."""

    name: str
    activate: tuple[str, ...]
    """One command, or two that follow each other."""
    precharge: str
    precharge_all: str
    parameters: tuple[str, ...]
    constraints: tuple[Constraint, ...]

    @property
    def commands(self) -> tuple[str, ...]:
        return (*self.activate, "RD", "WR", self.precharge, self.precharge_all, "REFab", "REFpb")


@dataclass(frozen=True, kw_only=True)
class Organisation:
    """Of one channel."""

    ranks: int
    bank_groups: int
    banks_per_group: int
    rows: int
    columns: int
    """Accesses of a row."""
    access_bytes: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ConfigError(f"organisation.{name}: {value!r} must be a positive integer")

    @property
    def banks(self) -> int:
        """Banks of a rank."""
        return self.bank_groups * self.banks_per_group

    @property
    def row_bytes(self) -> int:
        return self.columns * self.access_bytes

    @property
    def rank_bytes(self) -> int:
        return self.banks * self.rows * self.row_bytes


@dataclass(frozen=True, kw_only=True)
class DramSpec:
    """A memory channel.

    Raises
    ------
    ConfigError
        If a timing parameter is missing, unknown or no integer of 0 or more.
    """

    name: str
    standard: Standard
    organisation: Organisation
    tck_ps: int
    timing: tuple[tuple[str, int], ...]
    description: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        known = self.standard.parameters
        given = dict(self.timing)
        for name, value in self.timing:
            if name not in known:
                raise ConfigError(
                    f"timing.{name}: unknown to {self.standard.name}; near: {near(name, known)}"
                )
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ConfigError(f"timing.{name}: {value!r} must be an integer of 0 or more (clocks)")
        missing = [name for name in known if name not in given]
        if missing:
            raise ConfigError(f"timing: {self.name} lacks {', '.join(missing)}")

    def __getitem__(self, parameter: str) -> int:
        """A timing parameter, in clocks."""
        return dict(self.timing)[parameter]

    def clocks(self, constraint: Constraint) -> int:
        """The constraint's distance, at least 0."""
        return max(0, evaluate(constraint.clocks, dict(self.timing)))

    def between(self, scope: str, earlier: str, later: str) -> int:
        """The largest distance from ``earlier`` to ``later`` that the table has for ``scope``; 0 if none."""
        wanted = (scope, earlier, later, 1)
        return max(
            (
                self.clocks(c)
                for c in self.standard.constraints
                if (c.scope, c.earlier, c.later, c.window) == wanted
            ),
            default=0,
        )

    def with_timing(self, **changes: int) -> DramSpec:
        """A copy with timing parameters changed."""
        return replace(self, timing=tuple({**dict(self.timing), **changes}.items()))


@lru_cache
def load_standard(name: str) -> Standard:
    """A standard of ``data/dram/standards``.

    Raises
    ------
    ConfigError
        If there is none of that name or its table is wrong.
    """
    names = sorted(path.stem for path in _HOME.glob("*.toml"))
    if name not in names:
        raise ConfigError(f"standard: {name!r} is unknown; near: {near(name, names)}")
    return standard_of(name, tomllib.loads((_HOME / f"{name}.toml").read_text(encoding="utf-8")))


def standard_of(name: str, table: dict[str, Any]) -> Standard:
    """A standard from its table; each of the earlier commands with each of the later ones is a constraint."""
    constraints = []
    for scope, earlier, later, clocks, *window in table["constraints"]:
        for first in earlier.split():
            for second in later.split():
                constraints.append(Constraint(scope, first, second, clocks, *window))
    standard = Standard(
        name=name,
        activate=tuple(table["activate"]),
        precharge=table["precharge"],
        precharge_all=table["precharge_all"],
        parameters=tuple(table["parameters"]),
        constraints=tuple(constraints),
    )
    for constraint in constraints:
        for command in (constraint.earlier, constraint.later):
            if command not in standard.commands:
                known = near(command, standard.commands)
                raise ConfigError(f"{name}: {command} is no command of it; near: {known}")
        if constraint.scope not in SCOPES:
            raise ConfigError(f"{name}: scope {constraint.scope!r} must be one of {', '.join(SCOPES)}")
        if constraint.window > 1 and constraint.scope != "rank":
            raise ConfigError(f"{name}: a window is for scope rank, not {constraint.scope}")
        evaluate(constraint.clocks, dict.fromkeys(standard.parameters, 1))
    return standard

"""`ahasd reproduce`: run what is missing, then write tables, figures, ledger and page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from ahasd.models.errors import AhasdError, ConfigError
from ahasd.models.settings import near
from ahasd.sim.files import make_folder, write_whole
from ahasd.sim.reproduce import charts
from ahasd.sim.reproduce.claims import Claim, load_claims
from ahasd.sim.reproduce.engines import engines_table
from ahasd.sim.reproduce.figures import figures
from ahasd.sim.reproduce.ledger import Row, ledger, ledger_table
from ahasd.sim.reproduce.measures import MEASURES
from ahasd.sim.reproduce.page import page
from ahasd.sim.reproduce.scope import SYSTEMS, Scope, map_cells
from ahasd.sim.reproduce.sensitivity import sensitivity_table, trials
from ahasd.sim.reproduce.store import Store
from ahasd.sim.reproduce.table import Table
from ahasd.sim.reproduce.tables import main_tables
from ahasd.sim.reproduce.view import View
from ahasd.sim.reproduce.winners import winners_table
from ahasd.sim.reproduce.work import Progress, run_cells

__all__ = ["Report", "chosen", "reproduce"]


_SHORT = ("ledger", "against", "ablation", "power", "pim_share", "area", "engines", "failures")
"""Tables of ``claims.md``."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """All that comes out."""

    scope: Scope
    claims: list[Claim]
    rows: list[Row]
    tables: list[Table]
    """The ledger's first."""
    cells: int
    defects: list[str] = field(default_factory=list)
    """Runs in which the simulator contradicted itself, and engines that differ."""

    def write(self, folder: Path) -> None:
        """CSV, SVG, PNG, ``index.html`` and ``claims.md``; each file whole or not at all.

        Raises
        ------
        AhasdError
            If a file cannot be written.
        """
        make_folder(folder)
        for table in self.tables:
            write_whole(folder / f"{table.name}.csv", table.csv())
        drawn = {}
        for name, title, figure in figures({table.name: table for table in self.tables}):
            svg = charts.image(figure, "svg")
            drawn[name] = (title, charts.inline_svg(svg))
            _write_bytes(folder / f"{name}.svg", svg)
            _write_bytes(folder / f"{name}.png", charts.image(figure, "png"))
        write_whole(folder / "index.html", page(self.facts(), self.tables, drawn))
        write_whole(folder / "claims.md", self.markdown())

    def markdown(self) -> str:
        """The ledger with the shorter tables, for a reader without a browser."""
        facts = "\n".join(f"- {name}: {value}" for name, value in self.facts())
        parts = [table.markdown() for table in self.tables if table.rows and table.name in _SHORT]
        command = "ahasd reproduce" + (" --quick" if self.scope.name == "quick" else "")
        return "\n".join([f"# Claims, as `{command}` finds them", "", facts, "", *parts])

    def facts(self) -> list[tuple[str, str]]:
        """What was run, in words."""
        main, other = self.scope.main, self.scope.sensitivity
        return [
            ("version", version("ahasd")),
            ("scope", self.scope.name),
            ("claims", ", ".join(claim.id for claim in self.claims)),
            ("pairs", ", ".join(main.pairs)),
            ("policies", ", ".join(main.policies)),
            ("traces", f"{', '.join(main.traces)}; {main.tokens} tokens each"),
            (
                "sensitivity",
                f"{', '.join(other.policies)} on {', '.join(other.traces)}, {other.tokens} tokens",
            ),
            ("runs", str(self.cells)),
        ]


def chosen(names: Iterable[str]) -> list[Claim]:
    """The claims with these ids, in the order of the file; all for none.

    Raises
    ------
    ConfigError
        If there is no such claim.
    """
    claims = load_claims()
    wanted = list(names)
    known = [claim.id for claim in claims]
    for name in wanted:
        if name not in known:
            raise ConfigError(f"--only {name}: unknown claim; near: {near(name, known)}")
    return [claim for claim in claims if not wanted or claim.id in wanted]


def reproduce(
    scope: Scope,
    claims: list[Claim],
    store: Store,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Report:
    """Run ``scope`` as far as ``claims`` need it, and set each beside what we found."""
    scope = scope.limited(_needed(claims), extras=len(claims) == len(load_claims()))
    main = scope.main.cells()
    places = map_cells(scope.map_tokens)
    wanted = {*main.values(), *places.values(), *scope.sensitivity.cells().values()}
    for assumption in scope.assumptions:
        wanted |= set(scope.sensitivity.cells(assumption).values())
    outcomes = run_cells(wanted, store, jobs=jobs, progress=progress)
    view = View({point: outcomes[cell] for point, cell in main.items()})
    ids = [claim.id for claim in claims]
    found = trials(view, scope.sensitivity, scope.assumptions, outcomes, ids)
    rows = ledger(claims, view, found)
    engines = engines_table(scope.engines, progress)
    tables = [
        ledger_table(rows),
        *main_tables(view, load_claims()),
        sensitivity_table(claims, found),
        winners_table(outcomes, scope.map_tokens),
        engines,
    ]
    defects = [f"{cell}: {outcome.reason}" for cell, outcome in outcomes.items() if outcome.defect]
    defects += [
        f"engine {row[5]} differs: {row[0]}, {row[1]}, {row[2]}" for row in engines.rows if row[7] == "no"
    ]
    return Report(scope=scope, claims=claims, rows=rows, tables=tables, cells=len(outcomes), defects=defects)


def _needed(claims: Iterable[Claim]) -> set[str]:
    """Systems whose runs ``claims`` and their reasons read."""
    systems: set[str] = set()
    for claim in claims:
        if claim.id in MEASURES:
            systems |= MEASURES[claim.id].systems
        elif claim.id == "S1":
            systems |= {"ahasd"}
    return systems & set(SYSTEMS)


def _write_bytes(path: Path, data: bytes) -> None:
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        raise AhasdError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        partial.unlink(missing_ok=True)

"""The figures, drawn from the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ahasd.sim.reproduce import charts
from ahasd.sim.reproduce.scope import MAP_SYSTEMS
from ahasd.sim.reproduce.table import Field, Table
from ahasd.sim.reproduce.tables import ABLATION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["figures"]

_BASE = "gpu-only"


def figures(tables: Mapping[str, Table]) -> Iterator[tuple[str, str, Figure]]:
    """Name, title and figure of each; those without a single value are left out."""
    for table, column, title in (
        ("throughput", f"over {_BASE}, mean", "Throughput over GPU-only"),
        ("energy", f"tokens/J over {_BASE}", "Energy efficiency over GPU-only"),
    ):
        if (figure := _systems(tables[table], column)) is not None:
            yield table, title, figure
    if (figure := _ablation(tables["ablation"])) is not None:
        yield "ablation", "Ablation, mean over pairs and policies", figure
    if (figure := _power(tables["power"])) is not None:
        yield "power", "Power and energy over NPU + LPDDR5", figure
    if (figure := _share(tables["pim_share"])) is not None:
        yield "pim_share", "Share of PIM time in synchronous runs", figure
    yield "area", "Area at 28 nm", _area(tables["area"])
    for column, name in (("fastest", "map"), ("fastest that verifies on the NPU", "map_npu")):
        if tables["map"].rows:
            yield name, f"Where each system wins: {column}", _map(tables["map"], column)


def _number(field: Field) -> float | None:
    return float(field) if isinstance(field, int | float) else None


def _systems(table: Table, column: str) -> Figure | None:
    """All systems: a panel for each pair, a group for each policy."""
    values = {
        (str(pair), str(policy), str(system)): _number(value)
        for pair, policy, system, value in table.columns("pair", "policy", "system", column)
    }
    if not any(values.values()):
        return None
    pairs, policies, systems = (list(dict.fromkeys(key[place] for key in values)) for place in range(3))
    panels = [
        charts.Panel(
            title=pair,
            groups=policies,
            series=[(system, [values[pair, policy, system] for policy in policies]) for system in systems],
        )
        for pair in pairs
    ]
    return charts.bars(*panels, unit=f"x {_BASE}", line=1, logarithmic=True)


def _ablation(table: Table) -> Figure | None:
    columns = ("tokens/s over gpu-only", "tokens/J over gpu-only", "acceptance", "useful")
    series = []
    for column in columns:
        means = []
        for system in ABLATION:
            found = [
                number
                for name, value in table.columns("system", column)
                if name == system and (number := _number(value)) is not None
            ]
            means.append(sum(found) / len(found) if found else None)
        series.append((column, means))
    if not any(value for _, means in series for value in means):
        return None
    return charts.bars(charts.Panel(groups=ABLATION, series=series), unit="", line=1, logarithmic=True)


def _power(table: Table) -> Figure | None:
    columns = [name for name in table.header if name.endswith("over npu-only")]
    names = [str(name) for (name,) in table.columns("system")]
    series = [
        (name, [_number(value) for value in row])
        for name, row in zip(names, table.columns(*columns), strict=True)
    ]
    if not any(value for _, row in series for value in row):
        return None
    groups = [name.removesuffix(" over npu-only") for name in columns]
    return charts.bars(charts.Panel(groups=groups, series=series), unit="x npu-only", line=1)


def _share(table: Table) -> Figure | None:
    """A panel for each pair."""
    rows = table.columns("pair", "policy", "whole run", "round, least", "round, most")
    if not any(_number(row[2]) for row in rows):
        return None
    panels = []
    for pair in dict.fromkeys(row[0] for row in rows):
        own = [row for row in rows if row[0] == pair]
        ends = [
            (float(row[3]), float(row[4]))
            if isinstance(row[3], float) and isinstance(row[4], float)
            else None
            for row in own
        ]
        series = [("PIM time / time", [_number(row[2]) for row in own])]
        groups = [str(row[1]) for row in own]
        panels.append(charts.Panel(title=str(pair), groups=groups, series=series, errors=[ends]))
    return charts.bars(*panels, unit="share; whiskers: rounds")


def _area(table: Table) -> Figure:
    names = list(table.header)[1:]
    series = [(name, [_number(value) for (value,) in table.columns(name)]) for name in names]
    panel = charts.Panel(groups=[str(part) for (part,) in table.columns("part")], series=series)
    return charts.bars(panel, unit="mm2 at 28 nm", logarithmic=True)


def _map(table: Table, column: str) -> Figure:
    """The name of the fastest, and what ahasd has of its speed."""
    rows = table.columns("PIM over bus", "acceptance", column, "ahasd", *MAP_SYSTEMS)
    ratios = list(dict.fromkeys(row[0] for row in rows))
    acceptances = list(dict.fromkeys(row[1] for row in rows))
    found: dict[tuple[Field, Field], str | None] = {}
    shares: dict[tuple[Field, Field], str] = {}
    for ratio, acceptance, name, ours, *speeds in rows:
        found[ratio, acceptance] = None if name is None else str(name)
        best = dict(zip(MAP_SYSTEMS, speeds, strict=True)).get(str(name))
        if isinstance(ours, float) and isinstance(best, float):
            shares[ratio, acceptance] = f"ahasd {ours / best:.2f}"
    return charts.winners(
        [f"{ratio:.2g}" for ratio in ratios],
        [f"{acceptance:g}" for acceptance in acceptances],
        [[found[ratio, acceptance] for acceptance in acceptances] for ratio in ratios],
        [[shares.get((ratio, acceptance), "") for acceptance in acceptances] for ratio in ratios],
        labels=("PIM bandwidth / bus bandwidth", "share of first draft tokens that are right"),
    )

"""The paper's figures and tables, and what else is stated, from the main runs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

from ahasd.sim.paired import geometric_mean
from ahasd.sim.reproduce.claims import Claim
from ahasd.sim.reproduce.hardware import area_readings
from ahasd.sim.reproduce.measures import memory_power, npu_power
from ahasd.sim.reproduce.table import Field, Table
from ahasd.sim.reproduce.view import Figures, Metric, View, speed

__all__ = ["ABLATION", "main_tables"]

ABLATION = ("async", "async+aau", "async+aau+edc", "ahasd")
"""Each has one part more than the one before."""


def main_tables(view: View, claims: list[Claim]) -> list[Table]:
    """All tables that the matrix of runs gives."""
    return [
        _throughput(view),
        _energy(view),
        _ablation(view),
        _power(view),
        _share(view),
        _against(view),
        _area(claims),
        _failures(view),
    ]


def _combos(view: View) -> Iterator[tuple[str, str]]:
    for pair in view.pairs:
        for policy in view.policies:
            yield pair, policy


def _mean(view: View, metric: Metric, system: str, pair: str, policy: str) -> float | None:
    found = view.mean(metric, system, pair, policy)
    return found and found.mean


def _ratio(view: View, metric: Metric, system: str, base: str, pair: str, policy: str) -> float | None:
    found = view.ratio(metric, system, base, pair, policy)
    return found and found.mean


def _key(name: str) -> Metric:
    def metric(_: View, figures: Figures) -> float | None:
        value: float | None = figures[name]
        return value

    return metric


def _throughput(view: View) -> Table:
    bases = ("gpu-only", "specpim-gpu", "npu-only")
    rows: list[list[Field]] = []
    for pair, policy in _combos(view):
        for system in view.systems:
            row: list[Field] = [pair, policy, system, _mean(view, speed, system, pair, policy)]
            for base in bases:
                ratio = view.ratio(speed, system, base, pair, policy)
                row += [ratio.mean, ratio.low, ratio.high] if ratio else [None] * 3
            row += [_mean(view, _key(name), system, pair, policy) for name in ("acceptance", "useful")]
            rows.append(row)
    ends = [f"{base}, {end}" for base in bases for end in ("mean", "low", "high")]
    return Table(
        name="throughput",
        title="Throughput of all systems",
        header=[
            "pair",
            "policy",
            "system",
            "tokens/s",
            *(f"over {end}" for end in ends),
            "acceptance",
            "useful",
        ],
        rows=rows,
        note="Geometric means over the traces; low and high are the 95 % interval of the paired ratio.",
    )


def _energy(view: View) -> Table:
    rows: list[list[Field]] = []
    for pair, policy in _combos(view):
        for system in view.systems:
            joules = _mean(view, View.joules, system, pair, policy)
            ends = [_mean(view, _joules_at(end), system, pair, policy) for end in ("low", "high")]
            ratios = [
                _ratio(view, View.efficiency, system, base, pair, policy)
                for base in ("gpu-only", "specpim-gpu", "npu-only")
            ]
            rows.append([pair, policy, system, joules, *ends, *ratios])
    return Table(
        name="energy",
        title="Energy of all systems",
        header=[
            *("pair", "policy", "system", "J/token", "J/token, low", "J/token, high"),
            *(f"tokens/J over {base}" for base in ("gpu-only", "specpim-gpu", "npu-only")),
        ],
        rows=rows,
        note="Low and high: all coefficients at that end of their ranges.",
    )


def _joules_at(end: str) -> Metric:
    def metric(_: View, figures: Figures) -> float | None:
        energy = figures.get("energy")
        return float(energy[end]["per_token_j"]) if energy else None

    return metric


def _ablation(view: View) -> Table:
    rows: list[list[Field]] = []
    for pair, policy in _combos(view):
        before: float | None = None
        for system in ABLATION:
            efficiency = _mean(view, View.efficiency, system, pair, policy)
            step = efficiency / before - 1 if efficiency and before else None
            rows.append(
                [
                    *(pair, policy, system),
                    _ratio(view, speed, system, "gpu-only", pair, policy),
                    _ratio(view, View.efficiency, system, "gpu-only", pair, policy),
                    _mean(view, View.joules, system, pair, policy),
                    step,
                    *(_component(view, system, pair, policy, name) for name in ("dram", "pim")),
                    _mean(view, View.acceptance, system, pair, policy),
                    _mean(view, _key("useful"), system, pair, policy),
                    _part(view, system, pair, policy, "npu", "blocked_ps"),
                    _part(view, system, pair, policy, "pim", "preverify_ps"),
                ]
            )
            before = efficiency
    table = Table(
        name="ablation",
        title="Ablation: one part more a row",
        header=[
            *("pair", "policy", "system", "tokens/s over gpu-only", "tokens/J over gpu-only", "J/token"),
            *("tokens/J against the row before", "bus J/token", "PIM J/token", "acceptance", "useful"),
            *("NPU blocked", "PIM pre-verifying"),
        ],
        rows=rows,
    )
    return dataclasses.replace(table, note=_monotone(table))


def _component(view: View, system: str, pair: str, policy: str, name: str) -> float | None:
    """J a token of one component, over all traces."""
    found = [f for f in view.figures(system, pair, policy) if f is not None and f["energy"]]
    tokens = sum(f["tokens"] for f in found)
    return sum(f["energy"]["components"][name] for f in found) / tokens if tokens else None


def _monotone(table: Table) -> str:
    """Which step loses energy, how often, and where it goes there."""
    columns = ("system", "tokens/J against the row before", "bus J/token", "PIM J/token")
    rows = table.columns(*columns)
    notes = []
    for system in ABLATION[1:]:
        steps: list[tuple[float, float, float]] = []
        for (_, _, bus, pim), (name, step, bus_after, pim_after) in itertools.pairwise(rows):
            if name != system or not isinstance(step, float):
                continue
            ends = [float(value) for value in (bus, bus_after, pim, pim_after) if isinstance(value, float)]
            steps.append((step, ends[1] - ends[0], ends[3] - ends[2]))
        if not steps:
            continue
        worse = [each for each in steps if each[0] < 0]
        mean = geometric_mean(1 + step for step, _, _ in steps) - 1
        line = f"{system}: {mean:+.1%} tokens a joule on average, worse in {len(worse)} of {len(steps)}"
        if worse:
            bus, pim = (1000 * sum(each[place] for each in worse) / len(worse) for place in (1, 2))
            line += f" (there {pim:+.0f} mJ a token in the PIM and {bus:+.0f} mJ over the bus)"
        notes.append(line)
    return "; ".join(notes) + "." if notes else "No energy in these runs."


def _part(view: View, system: str, pair: str, policy: str, device: str, key: str) -> float | None:
    """Share of time, summed over the traces."""
    found = [f for f in view.figures(system, pair, policy) if f is not None and f[device]]
    whole = sum(f["time_ps"] for f in found)
    return sum(f[device].get(key, 0) for f in found) / whole if whole else None


def _power(view: View) -> Table:
    columns: tuple[tuple[str, Metric], ...] = (
        ("tokens/s", speed),
        ("LPDDR5 W", memory_power),
        ("NPU W", npu_power),
        ("J/token", View.joules),
    )
    rows: list[list[Field]] = []
    for system in ("npu-only", "npu-pim-sync", "async", "ahasd"):
        row: list[Field] = [system]
        for _, metric in columns:
            means = [m for c in _combos(view) if (m := _mean(view, metric, system, *c))]
            ratios = [r for c in _combos(view) if (r := _ratio(view, metric, system, "npu-only", *c))]
            row += [geometric_mean(means) if means else None, geometric_mean(ratios) if ratios else None]
        rows.append(row)
    header = [text for name, _ in columns for text in (name, f"{name} over npu-only")]
    return Table(
        name="power",
        title="Power against NPU + LPDDR5",
        header=["system", *header],
        rows=rows,
        note="Geometric means over pairs, policies and traces.",
    )


def _share(view: View) -> Table:
    rows: list[list[Field]] = []
    for pair, policy in _combos(view):
        idle = _part(view, "npu-pim-sync", pair, policy, "pim", "idle_ps")
        rounds = [f["rounds"] for f in view.figures("npu-pim-sync", pair, policy) if f and f["rounds"]]
        rows.append(
            [
                pair,
                policy,
                None if idle is None else 1 - idle,
                min((r["pim_share_least"] for r in rounds), default=None),
                max((r["pim_share_most"] for r in rounds), default=None),
            ]
        )
    return Table(
        name="pim_share",
        title="Share of PIM time in synchronous runs",
        header=["pair", "policy", "whole run", "round, least", "round, most"],
        rows=rows,
        note="A round is a draft task and the verification after it.",
    )


def _against(view: View) -> Table:
    rows: list[list[Field]] = []
    bases = ("specpim", "specpim-gpu", "npu-only", "pim-only", "pim-sd", "oracle")
    for pair, policy in _combos(view):
        rows.append(
            [pair, policy, *(_ratio(view, speed, "ahasd", base, pair, policy) for base in bases)]
            + [_ratio(view, View.efficiency, "ahasd", base, pair, policy) for base in bases]
        )
    return Table(
        name="against",
        title="ahasd against the others",
        header=[
            *("pair", "policy"),
            *(f"tokens/s over {base}" for base in bases),
            *(f"tokens/J over {base}" for base in bases),
        ],
        rows=rows,
        note="Over oracle: the fraction of it that is reached.",
    )


def _area(claims: list[Claim]) -> Table:
    paper = {"edc": "H1", "tvc": "H2", "queues": "H3", "attention unit": "H4"}
    values = {claim.id: claim.value for claim in claims}
    readings = area_readings()
    rows: list[list[Field]] = [
        [part, *(area.mm2.get(part) for area in readings), values.get(paper.get(part, ""))]
        for part in ("edc", "tvc", "queues", "other", "attention unit")
    ]
    return Table(
        name="area",
        title="Area, mm2 at 28 nm",
        header=["part", *(area.text or "flip-flops, measured shrink" for area in readings), "paper"],
        rows=rows,
        note="From the synthesis report; other: the rest of the control unit, which the paper does not list.",
    )


def _failures(view: View) -> Table:
    rows: list[list[Field]] = [
        [point.pair, point.policy, point.system, point.trace, outcome.reason]
        for point, outcome in sorted(view.outcomes.items())
        if outcome.figures is None
    ]
    return Table(
        name="failures",
        title="Runs without a result",
        header=["pair", "policy", "system", "trace", "reason"],
        rows=rows,
        note="" if rows else "None.",
    )

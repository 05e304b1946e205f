"""The ledger: a row a claim, with a verdict and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ahasd.sim.reproduce import hardware
from ahasd.sim.reproduce.causes import cause
from ahasd.sim.reproduce.claims import Claim
from ahasd.sim.reproduce.measures import MEASURES, Measure, Value
from ahasd.sim.reproduce.rules import TOLERANCE, Rule, follows
from ahasd.sim.reproduce.sensitivity import Trial
from ahasd.sim.reproduce.table import Field, Table
from ahasd.sim.reproduce.view import View

__all__ = ["Row", "ledger", "ledger_table"]

SHOWN = 2
"""Assumptions that a verdict names; the sensitivity table has all."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One claim beside what we found."""

    claim: Claim
    ours: float | None
    verdict: str
    """``holds``, ``holds under: ...`` or ``does not follow: ...``."""
    reason: str


def ledger(claims: Sequence[Claim], view: View, found: Sequence[Trial]) -> list[Row]:
    """Rows in the order of ``claims``: ours from ``view``, assumptions from the trials ``found``."""
    return [_row(claim, view, found) for claim in claims]


def ledger_table(rows: Sequence[Row]) -> Table:
    """With the columns that users of ``ledger.csv`` rely on."""
    body: list[list[Field]] = []
    for row in rows:
        ratio = None if row.ours is None else row.ours / row.claim.value
        claim = row.claim
        body.append([claim.id, claim.claim, claim.value, row.ours, ratio, row.verdict, row.reason])
    return Table(
        name="ledger",
        title="Ledger of claims",
        header=["id", "claim", "paper", "ours", "ratio", "verdict", "reason"],
        rows=body,
    )


def _row(claim: Claim, view: View, found: Sequence[Trial]) -> Row:
    if claim.id in MEASURES:
        return _from_runs(claim, MEASURES[claim.id], view, found)
    if claim.id == "S1":
        return _switch(claim, view)
    if claim.id == "H5":
        return _share(claim)
    if claim.id in hardware.PARTS:
        return _area(claim)
    return Row(claim=claim, ours=None, verdict="does not follow: not measured", reason="No measure yet.")


def _from_runs(claim: Claim, measure: Measure, view: View, found: Sequence[Trial]) -> Row:
    value = measure.value(view)
    if value is None:
        return Row(
            claim=claim,
            ours=None,
            verdict="does not follow: not measured",
            reason=f"No run gives {measure.what}.",
        )
    spread = f"{measure.what}: {_over(measure.rule, value)}"
    why = cause(claim.id, view)
    reason = f"{spread}; {why}" if why else spread
    if follows(measure.rule, claim.value, value.ours):
        return Row(claim=claim, ours=value.ours, verdict="holds", reason=f"{reason}.")
    tried = _different(claim, found)
    holding = [t for t in tried if follows(measure.rule, claim.value, t.values[claim.id].ours)]
    if holding and holding[0].id == "default":
        # What holds on these runs by default says nothing about a setting; readings are of other runs.
        holding = [t for t in holding if t.id == "default" or t.parts[0].is_reading]
    if any(trial.single for trial in holding):
        holding = [trial for trial in holding if trial.single]
    if holding:
        named = [_named(trial, claim) for trial in holding[:SHOWN]]
        more = f"; {len(holding)} of {len(tried)} that make a difference" if len(tried) > 1 else ""
        return Row(
            claim=claim,
            ours=value.ours,
            verdict=f"holds under: {'; or '.join(named)}",
            reason=f"{reason}{more}.",
        )
    return Row(
        claim=claim,
        ours=value.ours,
        verdict=f"does not follow: {_how(measure.rule, claim.value, value.ours)}",
        reason=f"{reason}{_nearest(claim, tried)}.",
    )


def _different(claim: Claim, found: Sequence[Trial]) -> list[Trial]:
    """Trials in which the figure is not that of the defaults; the default trial itself counts if it holds.

    One in which some pair has no result, such as a model that does not fit, is about other work: left out.
    """
    tried = []
    for trial in found:
        value, plain = trial.values.get(claim.id), trial.plain.get(claim.id)
        if value is None or (plain is not None and value.without > plain.without):
            continue
        holds = follows(MEASURES[claim.id].rule, claim.value, value.ours)
        if plain is None or value.ours != plain.ours or (trial.id == "default" and holds):
            tried.append(trial)
    return tried


def _over(rule: Rule, value: Value) -> str:
    kind = {Rule.AVERAGE: "mean", Rule.LEAST: "least"}.get(rule, "most")
    if value.count == 1:
        text = f"one pair and policy, {value.where_most}"
    else:
        text = (
            f"{kind} of {value.count} pairs x policies, {value.least:.3g} ({value.where_least}) "
            f"to {value.most:.3g} ({value.where_most})"
        )
    return f"{text}, {value.without} without a result" if value.without else text


def _named(trial: Trial, claim: Claim) -> str:
    value = trial.values[claim.id]
    return f"{trial.text} ({value.ours:.3g})"


def _how(rule: Rule, paper: float, ours: float) -> str:
    """In which direction it fails."""
    if rule is Rule.GAIN_BELOW and ours <= 1:
        return "there is no gain"
    if rule in (Rule.BELOW, Rule.GAIN_BELOW):
        return "above the bound"
    if paper < 0 or ours < 0:
        if paper * ours < 0:
            return "the other direction"
        return f"the same direction, {'more' if ours / paper > 1 else 'less'}"
    if paper > 1 > ours:
        return "below 1, not above"
    return f"more than {TOLERANCE:g} times as much" if ours > paper else f"less than 1/{TOLERANCE:g} of it"


def _nearest(claim: Claim, tried: Sequence[Trial]) -> str:
    """The trial that comes nearest."""
    if not tried:
        return ""
    best = min(tried, key=lambda trial: _distance(trial.values[claim.id].ours, claim.value))
    count = f"nearest of {len(tried)} that make a difference"
    return f"; {count}: {best.values[claim.id].ours:.3g} with {best.text}"


def _distance(ours: float, paper: float) -> float:
    """Zero at the paper's figure; those with another sign are farthest."""
    ratio = ours / paper
    return max(ratio, 1 / ratio) if ratio > 0 else float("inf")


def _switch(claim: Claim, view: View) -> Row:
    ours = hardware.switch_us(view)
    if ours is None:
        return Row(
            claim=claim,
            ours=None,
            verdict="does not follow: not measured",
            reason="No run with a control unit.",
        )
    ranks = hardware.platform_of(view).pim.switch_ps * 1e-6
    return Row(
        claim=claim,
        ours=ours,
        verdict="holds" if follows(Rule.BELOW, claim.value, ours) else "does not follow: above the bound",
        reason=f"slowest decision of the control unit, rank gate and {ranks:.3g} us until the ranks are in "
        f"PIM mode, an assumption (platform.pim.switch_ps): the claim holds while that is below "
        f"{claim.value - ours + ranks:.3g} us.",
    )


def _area(claim: Claim) -> Row:
    """The default reading of the synthesis report, else another one that bears the claim out."""
    part = hardware.PARTS[claim.id]
    first, *others = hardware.area_readings()
    ours = first.mm2[part]
    reason = f"{part}, synthesized: arrays in flip-flops, 45 to 28 nm by NAND2 cells, logic process."
    if follows(Rule.AVERAGE, claim.value, ours):
        return Row(claim=claim, ours=ours, verdict="holds", reason=reason)
    holding = [area for area in others if follows(Rule.AVERAGE, claim.value, area.mm2[part])]
    if not holding:
        verdict = f"does not follow: {_how(Rule.AVERAGE, claim.value, ours)}"
        return Row(claim=claim, ours=ours, verdict=verdict, reason=reason)
    same = {f"{area.mm2[part]:.3g}": area.text for area in reversed(holding)}
    named = "; or ".join(f"{text} ({mm2})" for mm2, text in list(same.items())[::-1][:SHOWN])
    return Row(claim=claim, ours=ours, verdict=f"holds under: {named}", reason=reason)


def _share(claim: Claim) -> Row:
    """All added area, with one attention unit a die."""
    first, *others = hardware.area_readings()
    ours = hardware.added_share(first)
    dram = hardware.added_share(next(area for area in others if area.dram))
    reason = (
        "control unit and one attention unit as synthesized, 28 nm, on the die of 50 mm2 that the paper's "
        f"percentage implies; in a DRAM process, where the attention unit has to be, {dram:.1%}."
    )
    if not follows(Rule.BELOW, claim.value, ours):
        verdict = "does not follow: above the bound"
    elif follows(Rule.BELOW, claim.value, dram):
        verdict = "holds"
    else:
        verdict = f"holds under: a logic process ({ours:.3g})"
    return Row(claim=claim, ours=ours, verdict=verdict, reason=reason)

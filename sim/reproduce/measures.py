"""What each claim of the paper is, measured on our runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ahasd.sim.paired import geometric_mean
from ahasd.sim.reproduce.assumptions import READINGS
from ahasd.sim.reproduce.rules import Rule
from ahasd.sim.reproduce.view import Figures, Metric, View, power_w, speed

__all__ = ["LLAMA", "MEASURES", "OPT", "PALM", "Measure", "Value", "memory_power", "npu_power"]

OPT, LLAMA, PALM = "opt-1.3b/6.7b", "llama2-7b/13b", "palm-8b/30b"


@dataclass(frozen=True, kw_only=True)
class Value:
    """A claim's figure under one view."""

    ours: float
    count: int
    """Pairs x policies behind it."""
    least: float
    most: float
    where_least: str
    where_most: str
    without: int = 0
    """Pairs x policies that have no figure."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """How a claim is measured and when it holds."""

    rule: Rule
    value: Callable[[View], Value | None]
    """None where no run gives it."""
    what: str
    """In words: quantity, system, base."""
    systems: frozenset[str]
    """Whose runs it reads, those of readings and reasons included."""


Combo = tuple[str, str]
"""Pair and policy."""


def _combos(view: View, pairs: tuple[str, ...], policies: tuple[str, ...]) -> list[Combo]:
    return [
        (pair, policy)
        for pair in view.pairs
        if not pairs or pair in pairs
        for policy in view.policies
        if not policies or policy.partition(":")[0] in policies
    ]


def _over(
    rule: Rule,
    each: Callable[[View, str, str], float | None],
    what: str,
    systems: tuple[str, ...],
    *,
    pairs: tuple[str, ...] = (),
    policies: tuple[str, ...] = (),
    relative: bool = False,
) -> Measure:
    """A ratio for each pair and policy, brought together as the rule says: mean, largest or smallest.

    ``relative``: the claim is a change, that is, the mean ratio less 1.
    """

    def value(view: View) -> Value | None:
        found: dict[Combo, float] = {}
        combos = _combos(view, pairs, policies)
        for combo in combos:
            if (ratio := each(view, *combo)) is not None:
                found[combo] = ratio
        if not found:
            return None
        least, most = min(found, key=lambda c: found[c]), max(found, key=lambda c: found[c])
        shift = 1 if relative else 0
        ours = {Rule.AVERAGE: geometric_mean(found.values()), Rule.LEAST: found[least]}.get(rule, found[most])
        return Value(
            ours=ours - shift,
            count=len(found),
            least=found[least] - shift,
            most=found[most] - shift,
            where_least=" ".join(least),
            where_most=" ".join(most),
            without=len(combos) - len(found),
        )

    return Measure(rule=rule, value=value, what=what, systems=frozenset(systems) | _instead(systems))


def _instead(systems: tuple[str, ...]) -> frozenset[str]:
    """Systems that a reading takes instead of these, and the base of all reasons."""
    others = {new for reading in READINGS for old, new in reading.systems.items() if old in systems}
    return frozenset(others | {"npu-only"} if len(systems) > 1 else others)


def _ratio(metric: Metric, system: str, base: str) -> Callable[[View, str, str], float | None]:
    def each(view: View, pair: str, policy: str) -> float | None:
        ratio = view.ratio(metric, system, base, pair, policy)
        return None if ratio is None else ratio.mean

    return each


def _share(rule: Rule) -> Callable[[View, str, str], float | None]:
    """Share of PIM time in a synchronous run, over traces; or the extreme of its rounds."""

    def each(view: View, pair: str, policy: str) -> float | None:
        shares: list[float] = []
        for figures in view.figures("npu-pim-sync", pair, policy):
            if figures is None:
                continue
            if view.assumption.share == "round":
                rounds = figures["rounds"]
                if rounds:
                    shares.append(rounds[f"pim_share_{'least' if rule is Rule.LEAST else 'most'}"])
            else:
                pim = figures["pim"]
                shares.append((sum(pim.values()) - pim["idle_ps"]) / figures["time_ps"])
        if not shares:
            return None
        return min(shares) if rule is Rule.LEAST else max(shares)

    return each


def memory_power(view: View, figures: Figures) -> float | None:
    """W of the memory with all that is in it."""
    return power_w(view, figures, lambda name: name.startswith(("dram", "pim", "aau")))


def npu_power(view: View, figures: Figures) -> float | None:
    """W of the NPU with its scratchpad."""
    return power_w(view, figures, lambda name: name.startswith("npu"))


def _faster(
    rule: Rule, system: str, base: str, pairs: tuple[str, ...] = (), policies: tuple[str, ...] = ()
) -> Measure:
    each = _ratio(speed, system, base)
    what = f"tokens/s, {system} over {base}"
    return _over(rule, each, what, (system, base), pairs=pairs, policies=policies)


def _leaner(rule: Rule, system: str, base: str) -> Measure:
    each = _ratio(View.efficiency, system, base)
    return _over(rule, each, f"tokens/J, {system} over {base}", (system, base))


def _joules(system: str, base: str) -> Measure:
    each = _ratio(View.joules, system, base)
    return _over(Rule.AVERAGE, each, f"J/token, {system} over {base}", (system, base))


def _acceptance(system: str, base: str) -> Measure:
    return _over(
        Rule.AVERAGE,
        _ratio(View.acceptance, system, base),
        f"acceptance, {system} over {base}, less 1",
        (system, base),
        relative=True,
    )


_SYNC = ("npu-pim-sync",)

MEASURES: dict[str, Measure] = {
    "T1": _faster(Rule.MOST, "ahasd", "gpu-only"),
    "T2": _faster(Rule.MOST, "ahasd", "specpim-gpu"),
    "T3": _faster(Rule.AVERAGE, "async", "gpu-only"),
    "T4": _faster(Rule.AVERAGE, "async+aau", "gpu-only"),
    "T5": _faster(Rule.AVERAGE, "async+aau+edc", "gpu-only"),
    "T6": _faster(Rule.AVERAGE, "ahasd", "gpu-only"),
    "T7": _faster(Rule.AVERAGE, "async", "npu-only"),
    "T8": _faster(Rule.AVERAGE, "ahasd", "npu-only"),
    "T9": _faster(Rule.AVERAGE, "async+aau+edc", "async+aau", pairs=(LLAMA,), policies=("adaedl",)),
    "T10": _faster(Rule.GAIN_BELOW, "async+aau+edc", "async+aau", pairs=(OPT,)),
    "E1": _leaner(Rule.MOST, "ahasd", "gpu-only"),
    "E2": _leaner(Rule.AVERAGE, "ahasd", "specpim-gpu"),
    "E3": _leaner(Rule.AVERAGE, "async", "gpu-only"),
    "E4": _leaner(Rule.AVERAGE, "async+aau", "gpu-only"),
    "E5": _leaner(Rule.AVERAGE, "async+aau+edc", "gpu-only"),
    "E6": _leaner(Rule.AVERAGE, "ahasd", "gpu-only"),
    "E7": _joules("ahasd", "npu-only"),
    "E8": _joules("async", "npu-only"),
    "P1": _over(
        Rule.AVERAGE,
        _ratio(memory_power, "ahasd", "npu-only"),
        "W of the memory, ahasd over npu-only",
        ("ahasd", "npu-only"),
    ),
    "P2": _over(
        Rule.AVERAGE,
        _ratio(npu_power, "ahasd", "npu-only"),
        "W of the NPU, ahasd over npu-only",
        ("ahasd", "npu-only"),
    ),
    "A1": _acceptance("async", "npu-pim-sync"),
    "A2": _acceptance("async+aau+edc", "async+aau"),
    "C1": _over(Rule.LEAST, _share(Rule.LEAST), "PIM time / time, npu-pim-sync, least of all runs", _SYNC),
    "C2": _over(Rule.MOST, _share(Rule.MOST), "PIM time / time, npu-pim-sync, most of all runs", _SYNC),
}
"""Claims that runs decide; task switch and areas are in ``hardware``."""

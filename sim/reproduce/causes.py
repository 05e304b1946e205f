"""Why a claim comes out as it does: a half-sentence from figures of the same runs."""

from __future__ import annotations

from collections.abc import Callable

from ahasd.sim.paired import geometric_mean
from ahasd.sim.reproduce.view import Figures, Metric, View, speed

__all__ = ["cause"]


def cause(claim: str, view: View) -> str:
    """For the claim with this id; empty where the runs say nothing about it."""
    found = _CAUSES.get(claim)
    return found(view) if found else ""


def _mean(view: View, metric: Metric, system: str, base: str) -> float | None:
    """Over all pairs and policies that have both."""
    ratios = [
        ratio.mean
        for pair in view.pairs
        for policy in view.policies
        if (ratio := view.ratio(metric, system, base, pair, policy)) is not None
    ]
    return geometric_mean(ratios) if ratios else None


def _base(metric: Metric, base: str, unit: str) -> Callable[[View], str]:
    """The base against plain NPU + LPDDR5."""

    def text(view: View) -> str:
        ratio = _mean(view, metric, base, "npu-only")
        base_is = view.assumption.systems.get(base, base)
        return "" if ratio is None else f"{base_is} alone has {ratio:.2g} times the {unit} of npu-only"

    return text


def _step(system: str, before: str) -> Callable[[View], str]:
    def text(view: View) -> str:
        ratio = _mean(view, speed, system, before)
        return (
            "" if ratio is None else f"over all pairs {system} has {ratio - 1:+.1%} tokens/s against {before}"
        )

    return text


def _blocked(view: View) -> str:
    share = _share(view, "ahasd", "npu", "blocked_ps")
    return "" if share is None else f"pre-verification blocks the NPU {share:.0%} of the time"


def _drafting(view: View) -> str:
    ours, plain = _share(view, "async", "npu", "idle_ps"), _share(view, "npu-pim-sync", "npu", "idle_ps")
    if ours is None or plain is None:
        return ""
    return f"looking ahead can only win the NPU's idle time, {plain:.0%} of lock-step, {ours:.0%} with it"


def _share(view: View, system: str, device: str, key: str) -> float | None:
    found: list[Figures] = [
        figures
        for pair in view.pairs
        for policy in view.policies
        for figures in view.figures(system, pair, policy)
        if figures is not None
    ]
    whole = sum(f["time_ps"] for f in found)
    return sum(f[device][key] for f in found) / whole if whole else None


def _acceptances(system: str, before: str) -> Callable[[View], str]:
    def text(view: View) -> str:
        means = []
        for name in (before, system):
            found = [
                mean.mean
                for pair in view.pairs
                for policy in view.policies
                if (mean := view.mean(View.acceptance, name, pair, policy)) is not None
            ]
            if not found:
                return ""
            means.append(sum(found) / len(found))
        return f"acceptance is {means[0]:.1%} in {before} and {means[1]:.1%} in {system}"

    return text


def _joined(*texts: Callable[[View], str]) -> Callable[[View], str]:
    return lambda view: "; ".join(text for part in texts if (text := part(view)))


_GPU_SPEED = _base(speed, "gpu-only", "tokens/s")
_GPU_ENERGY = _base(View.efficiency, "gpu-only", "tokens/J")

_CAUSES: dict[str, Callable[[View], str]] = {
    "T1": _GPU_SPEED,
    "T2": _base(speed, "specpim-gpu", "tokens/s"),
    "T3": _GPU_SPEED,
    "T4": _joined(_GPU_SPEED, _step("async+aau", "async")),
    "T5": _joined(_GPU_SPEED, _step("async+aau+edc", "async+aau")),
    "T6": _joined(_GPU_SPEED, _step("ahasd", "async+aau+edc")),
    "T7": _drafting,
    "T8": _joined(_drafting, _blocked),
    "T9": _step("async+aau+edc", "async+aau"),
    "T10": _step("async+aau+edc", "async+aau"),
    "E1": _GPU_ENERGY,
    "E2": _base(View.efficiency, "specpim-gpu", "tokens/J"),
    "E3": _GPU_ENERGY,
    "E4": _GPU_ENERGY,
    "E5": _GPU_ENERGY,
    "E6": _GPU_ENERGY,
    "E8": _drafting,
    "E7": _blocked,
    "P2": _blocked,
    "A1": _acceptances("async", "npu-pim-sync"),
    "A2": _acceptances("async+aau+edc", "async+aau"),
}

"""Energy of a run, by component and with its ends, from what was counted. Keys: docs/run-json.md."""

from __future__ import annotations

from typing import Any

from ahasd.models.energy import Activity, Coefficients, Machine

__all__ = ["energy_figures"]


def energy_figures(
    machine: Machine, work: Activity, time_ps: int, tokens: int, prefill: Activity, prefill_ps: int
) -> dict[str, Any]:
    """``energy`` of a run's document.

    Parameters
    ----------
    machine : Machine
    work, time_ps, tokens
        Of decoding.
    prefill, prefill_ps
        Of taking in the prompt, which is no part of ``total_j``.
    """

    def at(coefficients: Coefficients) -> dict[str, Any]:
        components = machine.joules(work, time_ps, coefficients)
        total = sum(components.values())
        return {
            "total_j": total,
            "per_token_j": total / tokens if tokens else None,
            "components": components,
            "prefill_j": sum(machine.joules(prefill, prefill_ps, coefficients).values()),
        }

    ends = {end: at(Coefficients.end(end)) for end in ("low", "high")}
    return {**at(machine.coefficients), **ends}

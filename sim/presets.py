"""First content of the control unit's cycle tables, from the platform's own cost model."""

from __future__ import annotations

from ahasd.models.control.params import ControlConfig
from ahasd.models.cost import CostModel

__all__ = ["TYPICAL_TOKENS", "cycle_presets"]

TYPICAL_TOKENS = 8


def cycle_presets(costs: CostModel, context: int, tick_ps: int) -> dict[str, int]:
    """Presets at KV length ``context`` + 8, as UQ24.8 ticks of ``tick_ps`` ps.

    A verification of 8 tokens for the NPU, by KV entry; one drafted token; a pre-verification of one token.
    A request feeds one token more than it checks.
    """
    kv_len = context + TYPICAL_TOKENS
    return {
        "npu_preset": _ratio(costs.verify_ps(kv_len, TYPICAL_TOKENS + 1), kv_len, tick_ps),
        "draft_preset": _ratio(costs.draft_ps(kv_len, 1), 1, tick_ps),
        "preverify_preset": _ratio(costs.preverify_ps(kv_len, 2), 1, tick_ps),
    }


def _ratio(ps: int, length: int, tick_ps: int) -> int:
    return min((ps << 8) // (tick_ps * length), ControlConfig.RANGES["npu_preset"][1])

"""`npu-pim-sync`: draft on the PIM, then verify on the NPU, in turn; no control unit, no look-ahead."""

from __future__ import annotations

from ahasd.models.cost import CostModel, make_cost
from ahasd.sim.devices import turns
from ahasd.sim.systems.lockstep import in_turn
from ahasd.sim.systems.registry import register
from ahasd.sim.systems.spec import Case, SystemSpec


def _costs(case: Case) -> CostModel:
    return make_cost(case.platform, case.draft, case.target, case.aau)


register(
    SystemSpec(
        name="npu-pim-sync",
        summary="draft on the PIM, then verify on the NPU, in turn",
        build=in_turn(turns(drafter="pim", verifier="npu")),
        costs=_costs,
        parts=frozenset({"dram", "pim", "npu", "host"}),
    )
)

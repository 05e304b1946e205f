"""`npu-only`: both models on the NPU, in turn; the memory is plain LPDDR5, over all of which weights lie."""

from __future__ import annotations

from ahasd.models.cost import CostModel, make_passes
from ahasd.models.pass_costs import PassCosts
from ahasd.models.platform import check_room
from ahasd.sim.devices import turns
from ahasd.sim.systems.lockstep import in_turn
from ahasd.sim.systems.registry import register
from ahasd.sim.systems.spec import Case, SystemSpec


def _costs(case: Case) -> CostModel:
    platform, ranks = case.platform, case.platform.dram.ranks
    check_room(platform, (case.draft, case.target), ranks)
    passes = make_passes(platform)
    draft, target = passes.npu(case.draft, ranks), passes.npu(case.target, ranks)
    return PassCosts(platform, case.target.layers, draft=draft, verify=target, prefill=(target, draft))


register(
    SystemSpec(
        name="npu-only",
        summary="draft, then verify on the NPU, in turn, from plain LPDDR5",
        build=in_turn(turns(drafter="npu", verifier="npu")),
        costs=_costs,
        parts=frozenset({"dram", "npu", "host"}),
    )
)

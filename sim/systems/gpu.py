"""`gpu-only` and `gpu-mobile`: both models on a GPU, in turn; with memory of its own, or a phone's."""

from __future__ import annotations

from ahasd.models.cost import CostModel
from ahasd.models.first_order.dram import Streams
from ahasd.models.gpu import discrete_pass, mobile_pass, spilled_bytes
from ahasd.models.pass_costs import PassCosts
from ahasd.models.platform import check_room
from ahasd.sim.devices import turns
from ahasd.sim.systems.lockstep import in_turn
from ahasd.sim.systems.registry import register
from ahasd.sim.systems.spec import Case, SystemSpec


def _discrete(case: Case) -> CostModel:
    """The draft model runs more often, so it is resident; what is left over of the target is streamed."""
    gpu = case.platform.gpu
    draft_spill = spilled_bytes(gpu, 0, case.draft)
    resident = case.draft.streamed_bytes - draft_spill
    draft = discrete_pass(gpu, case.draft, draft_spill)
    target = discrete_pass(gpu, case.target, spilled_bytes(gpu, resident, case.target))
    return PassCosts(case.platform, case.target.layers, draft=draft, verify=target, prefill=(target, draft))


def _mobile(case: Case) -> CostModel:
    platform = case.platform
    check_room(platform, (case.draft, case.target), platform.dram.ranks)
    bus, row_bytes = Streams(platform).bus_peak, platform.dram.row_bytes
    draft, target = (
        mobile_pass(platform.gpu_mobile, bus, row_bytes, model) for model in (case.draft, case.target)
    )
    return PassCosts(platform, case.target.layers, draft=draft, verify=target, prefill=(target, draft))


register(
    SystemSpec(
        name="gpu-only",
        summary="draft, then verify on a laptop's GPU, in turn; what does not fit comes over PCIe",
        build=in_turn(turns(drafter="gpu", verifier="gpu")),
        costs=_discrete,
        parts=frozenset({"gpu", "host"}),
    )
)
register(
    SystemSpec(
        name="gpu-mobile",
        summary="draft, then verify on a phone's GPU, in turn, from the platform's LPDDR5",
        build=in_turn(turns(drafter="gpu", verifier="gpu")),
        costs=_mobile,
        parts=frozenset({"dram", "gpu", "host"}),
    )
)

"""`pim-sd`: both models on the PIM, each on its ranks, in turn; there is no NPU."""

from __future__ import annotations

from ahasd.models.cost import CostModel, make_passes
from ahasd.models.pass_costs import PassCosts, Switched
from ahasd.models.platform import check_capacity
from ahasd.sim.devices import turns
from ahasd.sim.systems.lockstep import in_turn
from ahasd.sim.systems.registry import register
from ahasd.sim.systems.spec import Case, SystemSpec


def _costs(case: Case) -> CostModel:
    """The rank gate turns to the target model's ranks and back for each verification."""
    platform, target = case.platform, case.target
    check_capacity(platform, case.draft, target)
    passes = make_passes(platform)
    draft = passes.pim(case.draft, platform.pim.draft_ranks, aau=case.aau)
    verify = Switched(passes.pim(target, platform.target_ranks, aau=case.aau), 2 * platform.pim.switch_ps)
    return PassCosts(platform, target.layers, draft=draft, verify=verify, prefill=(verify, draft))


register(
    SystemSpec(
        name="pim-sd",
        summary="draft, then verify on the PIM, each model on its ranks, in turn",
        build=in_turn(turns(drafter="pim", verifier="pim")),
        costs=_costs,
        parts=frozenset({"dram", "pim", "host"}),
        aau=True,
    )
)

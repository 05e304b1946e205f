"""`oracle`: draft on the PIM, verify on the NPU, by a scheduler that knows which drafts are right."""

from __future__ import annotations

import simpy

from ahasd.models.cost import CostModel, make_cost
from ahasd.models.policies import Policy
from ahasd.sim.foresight import Foresight
from ahasd.sim.own_rules import Foreseen
from ahasd.sim.systems.assembly import Assembly, Setup, assemble
from ahasd.sim.systems.registry import register
from ahasd.sim.systems.spec import Case, SystemSpec


def _costs(case: Case) -> CostModel:
    return make_cost(case.platform, case.draft, case.target, case.aau)


def _build(setup: Setup) -> Assembly:
    assert isinstance(setup.policy, Foreseen), "its own drafting rule"
    env = simpy.Environment()
    scheduler = Foresight(
        env,
        setup.text.context,
        setup.control.prompt_token,
        rollout=setup.rollout,
        rule=setup.policy,
        costs=setup.costs,
        tokens=setup.tokens,
        verify_max=setup.control.verify_max,
    )
    system = assemble(env, setup, scheduler)
    scheduler.start()
    return system


def _rule(_: Case) -> Policy:
    return Foreseen()


register(
    SystemSpec(
        name="oracle",
        summary="draft on the PIM, verify on the NPU; drafts end exactly before the first wrong token",
        build=_build,
        costs=_costs,
        parts=frozenset({"dram", "pim", "npu", "host"}),
        policy=_rule,
        aau=True,
    )
)

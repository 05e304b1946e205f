"""`pim-only`: the target model alone on all ranks in PIM mode, a pass a token; there is no NPU."""

from __future__ import annotations

import simpy

from ahasd.models.cost import CostModel, make_passes
from ahasd.models.pass_costs import PassCosts
from ahasd.models.platform import check_room
from ahasd.models.policies import Policy
from ahasd.sim.devices import turns
from ahasd.sim.own_rules import NoDrafts
from ahasd.sim.plain import PlainDecoding
from ahasd.sim.systems.assembly import Assembly, Setup, assemble
from ahasd.sim.systems.registry import register
from ahasd.sim.systems.spec import Case, SystemSpec


def _costs(case: Case) -> CostModel:
    platform, ranks = case.platform, case.platform.dram.ranks
    check_room(platform, (case.target,), ranks)
    target = make_passes(platform).pim(case.target, ranks, aau=case.aau)
    return PassCosts(platform, case.target.layers, draft=None, verify=target, prefill=(target,))


def _build(setup: Setup) -> Assembly:
    env = simpy.Environment()
    scheduler = PlainDecoding(env, setup.text.context, setup.control.prompt_token)
    system = assemble(env, setup, scheduler, devices=turns(drafter=None, verifier="pim"))
    scheduler.start()
    return system


def _no_drafts(_: Case) -> Policy:
    return NoDrafts()


register(
    SystemSpec(
        name="pim-only",
        summary="the target model alone on the PIM, all ranks, no drafts",
        build=_build,
        costs=_costs,
        parts=frozenset({"dram", "pim", "host"}),
        policy=_no_drafts,
        aau=True,
    )
)

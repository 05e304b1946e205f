"""`npu-pim-sync`: draft on the PIM, then verify on the NPU, in turn; no control unit, no look-ahead."""

from __future__ import annotations

import simpy

from ahasd.sim.lockstep import Lockstep
from ahasd.sim.systems.assembly import Assembly, Setup, assemble

__all__ = ["lockstep"]


def lockstep(setup: Setup) -> Assembly:
    """The policy alone decides how many tokens are drafted before each verification."""
    env = simpy.Environment()
    scheduler = Lockstep(env, setup.text.context, setup.control.prompt_token)
    system = assemble(env, setup, scheduler)
    scheduler.start()
    return system

"""Draft, then verify, in turn, whatever the devices; the policy alone decides how much is drafted."""

from __future__ import annotations

from collections.abc import Callable

import simpy

from ahasd.sim.devices import DeviceTimes
from ahasd.sim.lockstep import Lockstep
from ahasd.sim.systems.assembly import Assembly, Setup, assemble

__all__ = ["in_turn"]


def in_turn(devices: DeviceTimes) -> Callable[[Setup], Assembly]:
    """The ``build`` of a system whose ``costs`` say how long drafts and verifications take."""

    def build(setup: Setup) -> Assembly:
        env = simpy.Environment()
        scheduler = Lockstep(env, setup.text.context, setup.control.prompt_token)
        system = assemble(env, setup, scheduler, devices=devices)
        scheduler.start()
        return system

    return build

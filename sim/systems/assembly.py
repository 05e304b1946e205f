"""What all systems share: a drafter and a verifier, connected to a controller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import simpy

from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import ControlUnit
from ahasd.models.cost import CostModel
from ahasd.models.policies import Cutter, Policy
from ahasd.models.rollout import DraftRollout, DraftToken
from ahasd.sim.caches import TargetCache, TrueText
from ahasd.sim.devices import DeviceTimes, turns
from ahasd.sim.drafter import Drafter
from ahasd.sim.engine import CLOCK_PS, ControlEngine
from ahasd.sim.host import Host
from ahasd.sim.jobs import TargetRanks
from ahasd.sim.npu import Npu
from ahasd.sim.observer import Observer
from ahasd.sim.pim import Pim
from ahasd.sim.ports import Controller, ModelError
from ahasd.sim.scheduler import HostScheduler

__all__ = ["Assembly", "Setup", "assemble"]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a system is made from."""

    rollout: DraftRollout
    text: TrueText
    costs: CostModel
    policy: Policy
    control: ControlConfig
    h_max: float
    contention: str
    tokens: int
    engine: ControlEngine | None = None
    """The control unit in the loop, of systems that have one."""
    golden: Callable[[], ControlUnit] = ControlUnit
    """Makes the golden unit that every decision of the engine is compared with."""
    clock_ps: int = CLOCK_PS
    """Period of the control unit's clock."""


@dataclass(kw_only=True)
class Assembly:
    """A system that can run once."""

    env: simpy.Environment
    controller: Controller
    pim: Pim
    """The module that drafts, whatever the device."""
    npu: Npu
    """The module that verifies."""
    host: Host
    cache: TargetCache
    observer: Observer | None
    """Books and checks of the control unit, if there is one."""
    scheduler: HostScheduler | None
    """The controller and its books where there is no control unit."""
    devices: DeviceTimes
    """What NPU, PIM and GPU were busy with."""

    def run(self) -> None:
        """Until the verdict that reaches the wanted number of tokens.

        Raises
        ------
        ModelError
            If the system comes to a stop before that, is not lossless, or a unit decides otherwise than
            its golden model.
        """
        try:
            self.env.run(until=self.host.done)
        except RuntimeError as error:
            if isinstance(error, ModelError) or self.env.peek() != simpy.core.Infinity:
                raise
            raise ModelError(
                f"the system stands still at {self.env.now} ps with {len(self.host.committed)} tokens"
            ) from error


def assemble(
    env: simpy.Environment,
    setup: Setup,
    controller: Controller,
    observer: Observer | None = None,
    devices: DeviceTimes | None = None,
) -> Assembly:
    """Build drafter, verifier, host and the target model's cache, and connect them to ``controller``.

    Parameters
    ----------
    env, setup : simpy.Environment, Setup
    controller : Controller
        A control unit with an ``observer``, or a :class:`ahasd.sim.scheduler.HostScheduler` without.
    devices : callable, optional
        Which device drafts and which verifies; the PIM and the NPU without it.
    """
    setup.policy.begin_sequence()
    cache = TargetCache(setup.text)
    ranks = TargetRanks(env, setup.contention)
    cutter: Cutter[DraftToken] = Cutter(setup.policy, setup.control.max_draft)
    controller.commit.connect(cache.commit)
    host = Host(env, text=setup.text, tokens=setup.tokens, controller=controller)
    npu = Npu(env, costs=setup.costs, cache=cache, ranks=ranks, text=setup.text, controller=controller)
    npu.judged.connect(lambda judged: setup.policy.verdict(*judged, now=int(env.now)))
    pim = Pim(
        env,
        costs=setup.costs,
        drafter=Drafter(setup.rollout, setup.text),
        cutter=cutter,
        cache=cache,
        ranks=ranks,
        text=setup.text,
        controller=controller,
        h_max=setup.h_max,
    )
    return Assembly(
        env=env,
        controller=controller,
        pim=pim,
        npu=npu,
        host=host,
        cache=cache,
        observer=observer,
        scheduler=controller if isinstance(controller, HostScheduler) else None,
        devices=devices or turns(drafter="pim", verifier="npu"),
    )

"""What all draft-on-PIM, verify-on-NPU systems share: the modules, connected to a controller."""

from __future__ import annotations

from dataclasses import dataclass

import simpy

from ahasd.models.control.params import ControlConfig
from ahasd.models.cost import CostModel
from ahasd.models.policies import Cutter, Policy
from ahasd.models.rollout import DraftRollout, DraftToken
from ahasd.sim.caches import TargetCache, TrueText
from ahasd.sim.drafter import Drafter
from ahasd.sim.host import Host
from ahasd.sim.jobs import TargetRanks
from ahasd.sim.npu import Npu
from ahasd.sim.observer import Observer
from ahasd.sim.pim import Pim
from ahasd.sim.ports import Controller, ModelError

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


@dataclass(kw_only=True)
class Assembly:
    """A system that can run once."""

    env: simpy.Environment
    controller: Controller
    pim: Pim
    npu: Npu
    host: Host
    cache: TargetCache
    observer: Observer | None = None
    """Books and checks of the control unit, if there is one."""

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
    env: simpy.Environment, setup: Setup, controller: Controller, observer: Observer | None = None
) -> Assembly:
    """Build PIM, NPU, host and the target model's cache, and connect them to ``controller``."""
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
        env=env, controller=controller, pim=pim, npu=npu, host=host, cache=cache, observer=observer
    )

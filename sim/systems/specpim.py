"""`specpim` and `specpim-gpu`: operators split between two devices; split and draft length fixed by a search.

The draft model and the target model take turns, with a barrier behind each operator. `specpim` runs on the
hardware of `ahasd`, its ranks divided into PIM and NPU ranks; `specpim-gpu` on GPUs with HBM-PIM stacks.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

import simpy

from ahasd.models.control.events import Draft, Preverify, Verify
from ahasd.models.cost import CostModel
from ahasd.models.first_order.npu import NpuPass
from ahasd.models.language import LanguageModel
from ahasd.models.platform import Platform
from ahasd.models.policies import Policy
from ahasd.models.split.costs import SplitCosts
from ahasd.models.split.desktop import Desktop
from ahasd.models.split.device import Machine
from ahasd.models.split.passes import SplitPass, kinds
from ahasd.models.split.phone import Phone
from ahasd.models.split.search import Mapping, find_mapping
from ahasd.models.split.settings import SearchSettings
from ahasd.sim.devices import Sums, device_times
from ahasd.sim.lockstep import Lockstep
from ahasd.sim.own_rules import FixedLength
from ahasd.sim.spans import Span
from ahasd.sim.systems.assembly import Assembly, Setup, assemble
from ahasd.sim.systems.registry import register
from ahasd.sim.systems.spec import Case, SystemSpec

Machines = Callable[[Platform], Sequence[Machine]]


def _phones(platform: Platform) -> list[Machine]:
    """All ways to divide the ranks, all on one side included; from all in PIM mode on, often the fastest."""
    return [Phone(platform, pim_ranks) for pim_ranks in range(platform.dram.ranks, -1, -1)]


def _desktops(platform: Platform) -> list[Machine]:
    return [Desktop(platform)]


@functools.lru_cache(maxsize=64)
def _mapping(
    machines: Machines,
    platform: Platform,
    draft: LanguageModel,
    target: LanguageModel,
    search: SearchSettings,
    length: int | None,
) -> Mapping:
    return find_mapping(machines(platform), draft, target, search, length)


def _found(machines: Machines, case: Case) -> Mapping:
    return _mapping(machines, case.platform, case.draft, case.target, case.search, _asked(case))


def _asked(case: Case) -> int | None:
    """The draft length that the user gave, as a fixed-K policy."""
    number = re.fullmatch(r"fixed-(\d+)", case.policy)
    return None if number is None else min(int(number[1]), case.search.max_draft)


def _rule(machines: Machines) -> Callable[[Case], Policy]:
    def rule(case: Case) -> Policy:
        return FixedLength(_found(machines, case).length, searched=_asked(case) is None)

    return rule


def _costs(case: Case) -> CostModel:
    """The prompt is taken in by the NPU, which then can read all ranks."""
    platform, found = case.platform, _found(_phones, case)
    draft, target = _passes(found, case)
    prefill = [NpuPass(platform, model, platform.dram.ranks) for model in (case.target, case.draft)]
    return SplitCosts(platform, case.target.layers, draft, target, prefill)


def _gpu_costs(case: Case) -> CostModel:
    """The prompt is taken in by the GPUs, which read weights of the stacks at the rate of their own."""
    found = _found(_desktops, case)
    draft, target = _passes(found, case)
    prefill = [
        SplitPass(found.machine, model, dict.fromkeys(kinds(model), 0)) for model in (case.target, case.draft)
    ]
    return SplitCosts(case.platform, case.target.layers, draft, target, prefill)


def _passes(found: Mapping, case: Case) -> tuple[SplitPass, SplitPass]:
    machine = found.machine
    return SplitPass(machine, case.draft, found.draft), SplitPass(machine, case.target, found.target)


def _build(first: str, second: str) -> Callable[[Setup], Assembly]:
    def build(setup: Setup) -> Assembly:
        env = simpy.Environment()
        scheduler = Lockstep(env, setup.text.context, setup.control.prompt_token)
        watched = _Watched(setup, scheduler)
        devices = functools.partial(watched.times, first, second)
        system = assemble(env, setup, scheduler, devices=devices)
        scheduler.start()
        return system

    return build


class _Watched:
    """What was asked for, so that it can be told how long either device worked on it."""

    def __init__(self, setup: Setup, scheduler: Lockstep) -> None:
        assert isinstance(setup.costs, SplitCosts), "its own costs"
        self._costs = setup.costs
        self._drafts: list[Draft | Preverify] = []
        self._verifications: list[Verify] = []
        scheduler.task.connect(self._drafts.append)
        scheduler.verify.connect(self._verifications.append)

    def times(
        self, first: str, second: str, drafts: list[Span], verifications: list[Span], now: int
    ) -> dict[str, Sums]:
        """All passes are over when a run is; what is left of a device's time it waits for the other one."""
        draft, verify, wasted = [0, 0], [0, 0], [0, 0]
        for request, span in zip(self._drafts, drafts, strict=True):
            kv_len, feeding = request.position + len(request.tokens), len(request.tokens)
            for step in range(span.tokens):
                times = self._costs.draft_times(kv_len + step, 1 if step else feeding)
                draft = [a + b for a, b in zip(draft, times[1:], strict=True)]
        for asked, span in zip(self._verifications, verifications, strict=True):
            whole = self._costs.verify_times(asked.position + len(asked.tokens), len(asked.tokens))
            needed = self._costs.verify_times(asked.position + span.good + 1, span.good + 1)
            verify = [a + b for a, b in zip(verify, whole[1:], strict=True)]
            wasted = [a + b - c for a, b, c in zip(wasted, whole[1:], needed[1:], strict=True)]
        return {
            device: device_times(device, draft=draft[i], verify=verify[i], wasted=wasted[i], now=now)
            for i, device in enumerate((first, second))
        }


register(
    SystemSpec(
        name="specpim",
        summary="operators split between NPU and PIM by a search, fixed draft length, in turn",
        build=_build("npu", "pim"),
        costs=_costs,
        parts=frozenset({"dram", "pim", "npu", "host"}),
        policy=_rule(_phones),
    )
)
register(
    SystemSpec(
        name="specpim-gpu",
        summary="operators split between GPUs and HBM-PIM by a search, fixed draft length, in turn",
        build=_build("gpu", "pim"),
        costs=_gpu_costs,
        parts=frozenset({"gpu", "hbm", "host"}),
        policy=_rule(_desktops),
    )
)

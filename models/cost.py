"""What passes of the two models cost in time: the interface, and its first-order implementation.

All times are integer ps of a pass alone, without contention. A pass feeds ``tokens`` tokens and leaves
``kv_len`` entries in the KV cache: for a request of the control unit, len(tokens) and position + len(tokens).
"""

from __future__ import annotations

from typing import Protocol

from ahasd.models.energy.activity import Activity
from ahasd.models.first_order.npu import NpuPass
from ahasd.models.first_order.pim import PimPass
from ahasd.models.language import LanguageModel
from ahasd.models.pass_costs import Pass, PassCosts, Passes
from ahasd.models.platform import Platform, check_capacity

__all__ = ["CostModel", "FirstOrderCost", "FirstOrderPasses", "make_cost", "make_passes"]


class CostModel(Protocol):
    """Times and events of all work of a system, whatever its devices. Pure and deterministic."""

    @property
    def layers(self) -> int:
        """Layers of the target model: a pass may give way between them."""

    def draft_ps(self, kv_len: int, tokens: int) -> int:
        """The draft model feeds ``tokens`` and says one."""

    def preverify_ps(self, kv_len: int, tokens: int) -> int:
        """The target model on its ranks, in PIM mode, feeds ``tokens`` and says what follows each."""

    def verify_ps(self, kv_len: int, tokens: int) -> int:
        """The target model, where it verifies, feeds ``tokens`` and says what follows each."""

    def prefill_ps(self, prompt_tokens: int) -> int:
        """The models take in a prompt, the target model first, and say nothing."""

    def draft_activity(self, kv_len: int, tokens: int) -> Activity:
        """What ``draft_ps`` goes into, in events that have an energy each."""

    def preverify_activity(self, kv_len: int, tokens: int) -> Activity:
        """What ``preverify_ps`` goes into."""

    def verify_activity(self, kv_len: int, tokens: int) -> Activity:
        """What ``verify_ps`` goes into."""

    def prefill_activity(self, prompt_tokens: int) -> Activity:
        """What ``prefill_ps`` goes into."""

    def switch_ps(self) -> int:
        """The ranks of one model are gated off, those of the other on."""


class FirstOrderPasses:
    """Closed formulas (docs/first-order-timing.md). See :class:`ahasd.models.pass_costs.Passes`."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def npu(self, model: LanguageModel, ranks: int) -> Pass:
        return NpuPass(self._platform, model, ranks)

    def pim(self, model: LanguageModel, ranks: int, *, aau: bool) -> Pass:
        return PimPass(self._platform, model, ranks, aau=aau)


class FirstOrderCost(PassCosts):
    """Draft and pre-verify on the PIM, verify on the NPU, by closed formulas; nothing is computed twice.

    Raises
    ------
    ConfigError
        If a model does not fit on its ranks, or a length is out of range.
    """

    def __init__(
        self, platform: Platform, draft: LanguageModel, target: LanguageModel, aau: bool = True
    ) -> None:
        check_capacity(platform, draft, target)
        draft_ranks, target_ranks = platform.pim.draft_ranks, platform.target_ranks
        passes = FirstOrderPasses(platform)
        verify = passes.npu(target, target_ranks)
        super().__init__(
            platform,
            target.layers,
            draft=passes.pim(draft, draft_ranks, aau=aau),
            preverify=passes.pim(target, target_ranks, aau=aau),
            verify=verify,
            prefill=(verify, passes.npu(draft, draft_ranks)),
        )


def make_cost(platform: Platform, draft: LanguageModel, target: LanguageModel, aau: bool = True) -> CostModel:
    """Draft and pre-verify on the PIM, verify on the NPU, by the timing that ``platform.timing`` names."""
    if platform.timing == "commands":
        from ahasd.models.command_cost import CommandCost

        return CommandCost(platform, draft, target, aau)
    return FirstOrderCost(platform, draft, target, aau)


def make_passes(platform: Platform) -> Passes:
    """Passes of any model on any ranks, by the timing that ``platform.timing`` names."""
    if platform.timing == "commands":
        from ahasd.models.command_cost import CommandPasses

        return CommandPasses(platform)
    return FirstOrderPasses(platform)

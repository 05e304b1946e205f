"""The cost model behind ``platform.timing = commands``."""

from __future__ import annotations

from pathlib import Path

from ahasd.models.command_cost.kernels import Kernels, kernel_scope
from ahasd.models.command_cost.pim_pass import PimPass
from ahasd.models.cost_cache import CostCache
from ahasd.models.language import LanguageModel
from ahasd.models.npu.command_dma import CommandDma
from ahasd.models.npu.passes import NpuPasses
from ahasd.models.pass_costs import Pass, PassCosts
from ahasd.models.platform.params import Platform
from ahasd.models.platform.presets import check_capacity

__all__ = ["CommandCost", "CommandPasses"]


class CommandPasses:
    """Sums of simulated kernels. See :class:`ahasd.models.pass_costs.Passes`."""

    def __init__(self, platform: Platform, folder: Path | None = None) -> None:
        self._platform = platform
        self.cache = CostCache(kernel_scope(platform), folder)

    def npu(self, model: LanguageModel, ranks: int) -> Pass:
        return NpuPasses(self._platform, model, CommandDma(self._platform, ranks, self.cache))

    def pim(self, model: LanguageModel, ranks: int, *, aau: bool) -> Pass:
        kernels = Kernels(self._platform, ranks, self.cache)
        dma = CommandDma(self._platform, ranks, self.cache)
        return PimPass(self._platform, model, ranks, kernels, dma, aau=aau)


class CommandCost(PassCosts):
    """Passes as sums of simulated kernels (docs/command-timing.md). A ``CostModel``.

    Parameters
    ----------
    platform, draft, target : what runs
    aau : bool
        The ranks have attention units.
    folder : Path, optional
        Of the cache; the user's without one.

    Raises
    ------
    ConfigError
        If a model does not fit on its ranks, or a length is out of range.
    """

    def __init__(
        self,
        platform: Platform,
        draft: LanguageModel,
        target: LanguageModel,
        aau: bool = True,
        folder: Path | None = None,
    ) -> None:
        check_capacity(platform, draft, target)
        passes = CommandPasses(platform, folder)
        self.cache = passes.cache
        draft_ranks, target_ranks = platform.pim.draft_ranks, platform.target_ranks
        verify = passes.npu(target, target_ranks)
        super().__init__(
            platform,
            target.layers,
            draft=passes.pim(draft, draft_ranks, aau=aau),
            preverify=passes.pim(target, target_ranks, aau=aau),
            verify=verify,
            prefill=(verify, passes.npu(draft, draft_ranks)),
        )

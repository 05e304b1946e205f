"""The cost model behind ``platform.timing = commands``."""

from __future__ import annotations

from pathlib import Path

from ahasd.models.command_cost.kernels import Kernels, kernel_scope
from ahasd.models.command_cost.pim_pass import PimPass
from ahasd.models.cost_cache import CostCache
from ahasd.models.language import LanguageModel
from ahasd.models.npu.command_dma import CommandDma
from ahasd.models.npu.passes import NpuPasses
from ahasd.models.pass_costs import PassCosts
from ahasd.models.platform.params import Platform
from ahasd.models.platform.presets import check_capacity

__all__ = ["CommandCost"]


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
        self.cache = CostCache(kernel_scope(platform), folder)
        draft_ranks, target_ranks = platform.pim.draft_ranks, platform.target_ranks
        draft_dma = CommandDma(platform, draft_ranks, self.cache)
        target_dma = CommandDma(platform, target_ranks, self.cache)
        draft_kernels = Kernels(platform, draft_ranks, self.cache)
        target_kernels = Kernels(platform, target_ranks, self.cache)
        super().__init__(
            platform,
            target.layers,
            PimPass(platform, draft, draft_ranks, draft_kernels, draft_dma, aau=aau),
            PimPass(platform, target, target_ranks, target_kernels, target_dma, aau=aau),
            NpuPasses(platform, target, target_dma),
            NpuPasses(platform, draft, draft_dma),
        )

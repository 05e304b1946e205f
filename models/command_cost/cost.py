"""The cost model behind ``platform.timing = commands``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ahasd.models.command_cost.kernels import Kernels, kernel_scope
from ahasd.models.command_cost.pim_pass import PimPass
from ahasd.models.cost_cache import CostCache
from ahasd.models.errors import ConfigError
from ahasd.models.language import LanguageModel
from ahasd.models.npu.command_dma import CommandDma
from ahasd.models.npu.passes import NpuPasses
from ahasd.models.platform.params import Platform
from ahasd.models.platform.presets import check_capacity

__all__ = ["CommandCost"]


class CommandCost:
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
        self._platform = platform
        self._layers = target.layers
        self.cache = CostCache(kernel_scope(platform), folder)
        draft_ranks, target_ranks = platform.pim.draft_ranks, platform.target_ranks
        draft_dma = CommandDma(platform, draft_ranks, self.cache)
        target_dma = CommandDma(platform, target_ranks, self.cache)
        draft_kernels = Kernels(platform, draft_ranks, self.cache)
        target_kernels = Kernels(platform, target_ranks, self.cache)
        self._draft = PimPass(platform, draft, draft_ranks, draft_kernels, draft_dma, aau=aau)
        self._preverify = PimPass(platform, target, target_ranks, target_kernels, target_dma, aau=aau)
        self._verify = NpuPasses(platform, target, target_dma)
        self._draft_prefill = NpuPasses(platform, draft, draft_dma)
        self._memo: dict[tuple[str, int, int], int] = {}

    @property
    def layers(self) -> int:
        return self._layers

    def draft_ps(self, kv_len: int, tokens: int) -> int:
        return self._once("draft", kv_len, tokens, lambda: self._draft.pass_ps(kv_len, tokens, 1))

    def preverify_ps(self, kv_len: int, tokens: int) -> int:
        return self._once(
            "preverify", kv_len, tokens, lambda: self._preverify.pass_ps(kv_len, tokens, tokens)
        )

    def verify_ps(self, kv_len: int, tokens: int) -> int:
        return self._once("verify", kv_len, tokens, lambda: self._verify.pass_ps(kv_len, tokens, tokens))

    def prefill_ps(self, prompt_tokens: int) -> int:
        n, target, draft = prompt_tokens, self._verify, self._draft_prefill
        if n == 0:
            return 0
        return self._once("prefill", n, n, lambda: target.pass_ps(n, n, 0) + draft.pass_ps(n, n, 0))

    def switch_ps(self) -> int:
        return self._platform.pim.switch_ps

    def _once(self, kind: str, kv_len: int, tokens: int, compute: Callable[[], int]) -> int:
        key = (kind, kv_len, tokens)
        if key not in self._memo:
            if not 1 <= tokens <= kv_len:
                raise ConfigError(
                    f"{kind}: {tokens} tokens up to {kv_len} KV entries, expected 1 to {kv_len}"
                )
            self._memo[key] = compute()
        return self._memo[key]

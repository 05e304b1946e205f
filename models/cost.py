"""What passes of the two models cost in time: the interface, and its first-order implementation.

All times are integer ps of a pass alone, without contention. A pass feeds ``tokens`` tokens and leaves
``kv_len`` entries in the KV cache: for a request of the control unit, len(tokens) and position + len(tokens).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ahasd.models.errors import ConfigError
from ahasd.models.first_order.npu import NpuPass
from ahasd.models.first_order.pim import PimPass
from ahasd.models.language import LanguageModel
from ahasd.models.platform import Platform, check_capacity

__all__ = ["CostModel", "FirstOrderCost", "make_cost"]


class CostModel(Protocol):
    """Times of all work where the PIM drafts and the NPU verifies. Pure and deterministic."""

    @property
    def layers(self) -> int:
        """Layers of the target model: a pass may give way between them."""

    def draft_ps(self, kv_len: int, tokens: int) -> int:
        """The draft model on its ranks feeds ``tokens`` and says one."""

    def preverify_ps(self, kv_len: int, tokens: int) -> int:
        """The target model on its ranks feeds ``tokens`` and says what follows each."""

    def verify_ps(self, kv_len: int, tokens: int) -> int:
        """The target model on the NPU feeds ``tokens`` and says what follows each."""

    def prefill_ps(self, prompt_tokens: int) -> int:
        """Both models take in a prompt on the NPU, the target model first, and say nothing."""

    def switch_ps(self) -> int:
        """The ranks of one model are gated off, those of the other on."""


class FirstOrderCost:
    """Closed formulas (docs/first-order-timing.md); no result is computed twice.

    Raises
    ------
    ConfigError
        If a model does not fit on its ranks, or a length is out of range.
    """

    def __init__(
        self, platform: Platform, draft: LanguageModel, target: LanguageModel, aau: bool = True
    ) -> None:
        check_capacity(platform, draft, target)
        self._platform = platform
        self._layers = target.layers
        draft_ranks, target_ranks = platform.pim.draft_ranks, platform.target_ranks
        self._draft = PimPass(platform, draft, draft_ranks, aau=aau)
        self._preverify = PimPass(platform, target, target_ranks, aau=aau)
        self._verify = NpuPass(platform, target, target_ranks)
        self._draft_prefill = NpuPass(platform, draft, draft_ranks)
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


def make_cost(platform: Platform, draft: LanguageModel, target: LanguageModel, aau: bool = True) -> CostModel:
    """The cost model that ``platform.timing`` names."""
    if platform.timing == "commands":
        from ahasd.models.command_cost import CommandCost

        return CommandCost(platform, draft, target, aau)
    return FirstOrderCost(platform, draft, target, aau)

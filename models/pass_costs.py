"""What all cost models share: four passes, each computed once for a shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ahasd.models.errors import ConfigError
from ahasd.models.platform.params import Platform

__all__ = ["Pass", "PassCosts"]


class Pass(Protocol):
    """One model on one device."""

    def pass_ps(self, kv_len: int, tokens: int, outputs: int) -> int:
        """Feeding ``tokens`` that end a context of ``kv_len`` and saying what follows ``outputs``, ps."""


class PassCosts:
    """A ``CostModel`` out of its passes.

    Parameters
    ----------
    draft, preverify : Pass
        Draft and target model on their ranks.
    verify, draft_prefill : Pass
        Target and draft model on the NPU.

    Raises
    ------
    ConfigError
        If a length is out of range.
    """

    def __init__(
        self, platform: Platform, layers: int, draft: Pass, preverify: Pass, verify: Pass, draft_prefill: Pass
    ) -> None:
        self._platform = platform
        self._layers = layers
        self._draft = draft
        self._preverify = preverify
        self._verify = verify
        self._draft_prefill = draft_prefill
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

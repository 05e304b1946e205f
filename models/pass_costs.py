"""What all cost models share: four passes, each computed once for a shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from ahasd.models.energy.activity import Activity
from ahasd.models.errors import ConfigError
from ahasd.models.platform.params import Platform

__all__ = ["Pass", "PassCosts"]

T = TypeVar("T")


class Pass(Protocol):
    """One model on one device."""

    def pass_ps(self, kv_len: int, tokens: int, outputs: int) -> int:
        """Feeding ``tokens`` that end a context of ``kv_len`` and saying what follows ``outputs``, ps."""

    def activity(self, kv_len: int, tokens: int, outputs: int) -> Activity:
        """Events of that pass, which have an energy each."""


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
        self._times: dict[tuple[str, int, int], int] = {}
        self._activities: dict[tuple[str, int, int], Activity] = {}

    @property
    def layers(self) -> int:
        return self._layers

    def draft_ps(self, kv_len: int, tokens: int) -> int:
        key = ("draft", kv_len, tokens)
        return _once(self._times, key, lambda: self._draft.pass_ps(kv_len, tokens, 1))

    def draft_activity(self, kv_len: int, tokens: int) -> Activity:
        key = ("draft", kv_len, tokens)
        return _once(self._activities, key, lambda: self._draft.activity(kv_len, tokens, 1))

    def preverify_ps(self, kv_len: int, tokens: int) -> int:
        key = ("preverify", kv_len, tokens)
        return _once(self._times, key, lambda: self._preverify.pass_ps(kv_len, tokens, tokens))

    def preverify_activity(self, kv_len: int, tokens: int) -> Activity:
        key = ("preverify", kv_len, tokens)
        return _once(self._activities, key, lambda: self._preverify.activity(kv_len, tokens, tokens))

    def verify_ps(self, kv_len: int, tokens: int) -> int:
        key = ("verify", kv_len, tokens)
        return _once(self._times, key, lambda: self._verify.pass_ps(kv_len, tokens, tokens))

    def verify_activity(self, kv_len: int, tokens: int) -> Activity:
        key = ("verify", kv_len, tokens)
        return _once(self._activities, key, lambda: self._verify.activity(kv_len, tokens, tokens))

    def prefill_ps(self, prompt_tokens: int) -> int:
        n, target, draft = prompt_tokens, self._verify, self._draft_prefill
        if n == 0:
            return 0
        key = ("prefill", n, n)
        return _once(self._times, key, lambda: target.pass_ps(n, n, 0) + draft.pass_ps(n, n, 0))

    def prefill_activity(self, prompt_tokens: int) -> Activity:
        n, target, draft = prompt_tokens, self._verify, self._draft_prefill
        if n == 0:
            return Activity()
        key = ("prefill", n, n)
        return _once(self._activities, key, lambda: target.activity(n, n, 0) + draft.activity(n, n, 0))

    def switch_ps(self) -> int:
        return self._platform.pim.switch_ps


def _once(memo: dict[tuple[str, int, int], T], key: tuple[str, int, int], compute: Callable[[], T]) -> T:
    if key not in memo:
        kind, kv_len, tokens = key
        if not 1 <= tokens <= kv_len:
            raise ConfigError(f"{kind}: {tokens} tokens up to {kv_len} KV entries, expected 1 to {kv_len}")
        memo[key] = compute()
    return memo[key]

"""What all cost models share: passes of two models, each computed once for a shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from ahasd.models.energy.activity import Activity
from ahasd.models.errors import ConfigError
from ahasd.models.language import LanguageModel
from ahasd.models.platform.params import Platform

__all__ = ["Pass", "PassCosts", "Passes", "Switched"]

T = TypeVar("T")


class Pass(Protocol):
    """One model on one device."""

    def pass_ps(self, kv_len: int, tokens: int, outputs: int) -> int:
        """Feeding ``tokens`` that end a context of ``kv_len`` and saying what follows ``outputs``, ps."""

    def activity(self, kv_len: int, tokens: int, outputs: int) -> Activity:
        """Events of that pass, which have an energy each."""


class Passes(Protocol):
    """Passes of any model on a platform's devices, by one way of timing."""

    def npu(self, model: LanguageModel, ranks: int) -> Pass:
        """``model`` on the NPU, its weights and KV cache on ``ranks`` ranks."""

    def pim(self, model: LanguageModel, ranks: int, *, aau: bool) -> Pass:
        """``model`` on ``ranks`` ranks in PIM mode, with or without attention units."""


class Switched:
    """A pass with ``switch_ps`` more, for what has to be switched before and behind it."""

    def __init__(self, inner: Pass, switch_ps: int) -> None:
        self._inner = inner
        self._switch_ps = switch_ps

    def pass_ps(self, kv_len: int, tokens: int, outputs: int) -> int:
        return self._switch_ps + self._inner.pass_ps(kv_len, tokens, outputs)

    def activity(self, kv_len: int, tokens: int, outputs: int) -> Activity:
        return self._inner.activity(kv_len, tokens, outputs)


class PassCosts:
    """A ``CostModel`` out of its passes.

    Parameters
    ----------
    layers : int
        Of the target model.
    draft : Pass or None
        The draft model, where it drafts; None in a system without one.
    verify : Pass
        The target model, where it verifies.
    preverify : Pass or None
        The target model, where it pre-verifies; None in a system that does not.
    prefill : sequence of Pass
        What takes in the prompt, one after the other.

    Raises
    ------
    ConfigError
        If a length is out of range.
    """

    def __init__(
        self,
        platform: Platform,
        layers: int,
        *,
        draft: Pass | None,
        verify: Pass,
        prefill: Sequence[Pass],
        preverify: Pass | None = None,
    ) -> None:
        self._platform = platform
        self._layers = layers
        self._draft = draft
        self._preverify = preverify
        self._verify = verify
        self._prefill = tuple(prefill)
        self._times: dict[tuple[str, int, int], int] = {}
        self._activities: dict[tuple[str, int, int], Activity] = {}

    @property
    def layers(self) -> int:
        return self._layers

    def draft_ps(self, kv_len: int, tokens: int) -> int:
        key = ("draft", kv_len, tokens)
        return _once(self._times, key, lambda: _there(self._draft, "drafts").pass_ps(kv_len, tokens, 1))

    def draft_activity(self, kv_len: int, tokens: int) -> Activity:
        key = ("draft", kv_len, tokens)
        return _once(self._activities, key, lambda: _there(self._draft, "drafts").activity(kv_len, tokens, 1))

    def preverify_ps(self, kv_len: int, tokens: int) -> int:
        key = ("preverify", kv_len, tokens)
        return _once(
            self._times, key, lambda: _there(self._preverify, "pre-verifies").pass_ps(kv_len, tokens, tokens)
        )

    def preverify_activity(self, kv_len: int, tokens: int) -> Activity:
        key = ("preverify", kv_len, tokens)
        return _once(
            self._activities,
            key,
            lambda: _there(self._preverify, "pre-verifies").activity(kv_len, tokens, tokens),
        )

    def verify_ps(self, kv_len: int, tokens: int) -> int:
        key = ("verify", kv_len, tokens)
        return _once(self._times, key, lambda: self._verify.pass_ps(kv_len, tokens, tokens))

    def verify_activity(self, kv_len: int, tokens: int) -> Activity:
        key = ("verify", kv_len, tokens)
        return _once(self._activities, key, lambda: self._verify.activity(kv_len, tokens, tokens))

    def prefill_ps(self, prompt_tokens: int) -> int:
        n = prompt_tokens
        if n == 0:
            return 0
        key = ("prefill", n, n)
        return _once(self._times, key, lambda: sum(each.pass_ps(n, n, 0) for each in self._prefill))

    def prefill_activity(self, prompt_tokens: int) -> Activity:
        n = prompt_tokens
        if n == 0:
            return Activity()
        key = ("prefill", n, n)
        return _once(
            self._activities, key, lambda: sum((each.activity(n, n, 0) for each in self._prefill), Activity())
        )

    def switch_ps(self) -> int:
        return self._platform.pim.switch_ps


def _there(one: Pass | None, what: str) -> Pass:
    if one is None:
        raise RuntimeError(f"a cost model of a system that never {what} was asked for it")
    return one


def _once(memo: dict[tuple[str, int, int], T], key: tuple[str, int, int], compute: Callable[[], T]) -> T:
    if key not in memo:
        kind, kv_len, tokens = key
        if not 1 <= tokens <= kv_len:
            raise ConfigError(f"{kind}: {tokens} tokens up to {kv_len} KV entries, expected 1 to {kv_len}")
        memo[key] = compute()
    return memo[key]

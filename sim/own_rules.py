"""Drafting rules that belong to a system, so that a user cannot choose them."""

from __future__ import annotations

from dataclasses import dataclass

from ahasd.models.policies import Features, Policy, Verdict
from ahasd.models.policies.fixed_k import FixedK, FixedKParams

__all__ = ["FixedLength", "Foreseen", "NoDrafts"]


@dataclass(frozen=True, kw_only=True)
class _NoSettings:
    pass


class NoDrafts(Policy):
    """Of a system without a draft model."""

    @property
    def name(self) -> str:
        return "none"

    @property
    def params(self) -> _NoSettings:
        return _NoSettings()

    def after(self, token: Features) -> Verdict:
        raise RuntimeError("a draft in a system that has no draft model")


class Foreseen(Policy):
    """Drafts as many tokens as its scheduler says, which knows how many are right."""

    left = 0
    """Tokens still to be drafted; the scheduler sets it before it asks for drafts."""

    @property
    def name(self) -> str:
        return "oracle"

    @property
    def params(self) -> _NoSettings:
        return _NoSettings()

    def after(self, token: Features) -> Verdict:
        self.left -= 1
        return Verdict.GO_ON if self.left else Verdict.LAST


class FixedLength(FixedK):
    """A fixed length, given by the user or found by the search for a static split."""

    def __init__(self, length: int, *, searched: bool) -> None:
        super().__init__(FixedKParams(k=length))
        self._searched = searched

    @property
    def name(self) -> str:
        return f"{super().name} (specpim search)" if self._searched else super().name

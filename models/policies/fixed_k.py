"""fixed-K: every batch has K tokens."""

from __future__ import annotations

from dataclasses import dataclass

from ahasd.models.policies.base import Features, Policy, Verdict
from ahasd.models.settings import check, param

__all__ = ["FixedK", "FixedKParams"]


@dataclass(frozen=True, kw_only=True)
class FixedKParams:
    """Settings of fixed-K."""

    k: int = param(
        5, unit="tokens", low=1, high=64, source="constant baseline of SVIP (arXiv 2411.18462) and SpecDec++"
    )

    def __post_init__(self) -> None:
        check(self)


class FixedK(Policy):
    """Stops after the K-th token, whatever it is."""

    def __init__(self, params: FixedKParams) -> None:
        self._params = params
        self._count = 0

    @property
    def name(self) -> str:
        return f"fixed-{self._params.k}"

    @property
    def params(self) -> FixedKParams:
        return self._params

    def begin_batch(self, position: int | None = None) -> None:
        self._count = 0

    def after(self, token: Features) -> Verdict:
        self._count += 1
        return Verdict.LAST if self._count >= self._params.k else Verdict.GO_ON

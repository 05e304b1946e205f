"""SpecDec++ (arXiv 2405.19715): stop when a draft is likely to hold a token that will be rejected.

The chance that one of the first k tokens is rejected is 1 - p_1 x ... x p_k, with p_i from a head that is
trained to predict acceptance (``Features.accept_pred``). The paper's rule counts the newest token. The
authors' code (Kaffaljidhmah2/SpecDec_pp, specdec_pp/hf_generation.py) runs its head on the hidden state of
the last token that went in, so the product ends one token earlier: the newest is sent without being counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from ahasd.models.errors import ConfigError
from ahasd.models.policies.base import Features, Policy, Verdict
from ahasd.models.settings import check, param

__all__ = ["SpecDecPP", "SpecDecPPParams"]


@dataclass(frozen=True, kw_only=True)
class SpecDecPPParams:
    """Settings of SpecDec++; the defaults are the code's form."""

    threshold: float = param(
        0.7, low=0, high=1, source="h: arXiv 2405.19715 (robust setting) and sample.py of the code"
    )
    min_length: int = param(2, unit="tokens", low=1, high=64, source="bound (2, 20) in the code's scripts")
    max_length: int = param(
        20,
        unit="tokens",
        low=1,
        high=64,
        source="bound (2, 20) in the code's scripts",
        note="the control unit's max_draft caps further",
    )

    def __post_init__(self) -> None:
        check(self)
        if self.min_length > self.max_length:
            raise ConfigError(f"min_length: {self.min_length} must be at most max_length, {self.max_length}")


class SpecDecPP(Policy):
    """Stops after a token once 1 - product of acceptance predictions > threshold, within the two bounds.

    Parameters
    ----------
    params : SpecDecPPParams
    variant : str
        ``code``: the product lags one token behind; ``paper``: it includes the newest.
    """

    def __init__(self, params: SpecDecPPParams, variant: str = "code") -> None:
        self._params = params
        self._variant = variant
        self.begin_batch()

    @property
    def name(self) -> str:
        return f"specdec++:{self._variant}"

    @property
    def params(self) -> SpecDecPPParams:
        return self._params

    def begin_batch(self, position: int | None = None) -> None:
        self._count = 0
        self._all_accepted = 1.0

    def after(self, token: Features) -> Verdict:
        params = self._params
        self._count += 1
        before = self._all_accepted
        self._all_accepted *= token.accept_pred
        counted = before if self._variant == "code" else self._all_accepted
        if self._count < params.min_length:
            return Verdict.GO_ON
        stop = 1 - counted > params.threshold or self._count >= params.max_length
        return Verdict.LAST if stop else Verdict.GO_ON

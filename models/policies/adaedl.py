"""AdaEDL (arXiv 2410.18351): stop before a token whose entropy bounds its acceptance too low.

The bound is 1 - sqrt(gamma H). A token whose bound is below lambda is not drafted: it is known when the test
is made, but is not sent, and opens the next batch if that continues. Lambda follows the share of accepted
tokens (Alg. 1), once a verification.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ahasd.models.policies.base import Features, Policy, Verdict
from ahasd.models.settings import check, param

__all__ = ["AdaEdl", "AdaEdlParams"]


@dataclass(frozen=True, kw_only=True)
class AdaEdlParams:
    """Settings of AdaEDL; the defaults are the paper's."""

    gamma: float = param(0.2, unit="1/nats", low=0, high=1, source="arXiv 2410.18351, all experiments")
    threshold: float = param(
        0.7,
        low=0,
        high=1,
        source="lambda at the start: swept over 0.2..0.9 in the paper; 0.7 in nithinj25/mini_project",
    )
    target: float = param(0.9, low=0, high=1, source="alpha, arXiv 2410.18351")
    step: float = param(0.01, low=0, high=1, source="epsilon, arXiv 2410.18351")
    rate_decay: float = param(0.5, low=0, high=1, source="beta_1, arXiv 2410.18351")
    threshold_decay: float = param(0.9, low=0, high=1, source="beta_2, arXiv 2410.18351")
    max_length: int = param(
        7,
        unit="tokens",
        low=1,
        high=64,
        source="L: 3, 7 or 16 in the paper, 8 in nithinj25/mini_project",
        note="the control unit's max_draft caps further",
    )

    def __post_init__(self) -> None:
        check(self)


class AdaEdl(Policy):
    """Ends a batch before a token with max(0, 1 - sqrt(gamma H)) < lambda, and after the L-th.

    The first token of a batch is always drafted, so that every round has something to verify.
    """

    holds_back = True

    def __init__(self, params: AdaEdlParams, variant: str = "paper") -> None:
        self._params = params
        self._variant = variant
        self._count = 0
        self.begin_sequence()

    @property
    def name(self) -> str:
        return f"adaedl:{self._variant}"

    @property
    def params(self) -> AdaEdlParams:
        return self._params

    def begin_sequence(self) -> None:
        self.threshold = self._params.threshold
        """Lambda, now."""
        self._rate = self._params.target

    def begin_batch(self, position: int | None = None) -> None:
        self._count = 0

    def after(self, token: Features) -> Verdict:
        bound = max(0.0, 1 - math.sqrt(self._params.gamma * token.entropy))
        if self._count > 0 and bound < self.threshold:
            return Verdict.LAST_BEFORE
        self._count += 1
        return Verdict.LAST if self._count >= self._params.max_length else Verdict.GO_ON

    def verdict(
        self, issued: int, accepted: int, position: int | None = None, now: int | None = None
    ) -> None:
        if issued == 0:
            return
        params = self._params
        self._rate = params.rate_decay * self._rate + (1 - params.rate_decay) * accepted / issued
        wanted = self.threshold
        if self._rate < params.target:
            wanted += params.step
        elif accepted < params.max_length:  # Alg. 1 has !=; a verification of merged batches may exceed L
            wanted -= params.step
        mixed = params.threshold_decay * self.threshold + (1 - params.threshold_decay) * wanted
        self.threshold = min(1.0, max(0.0, mixed))

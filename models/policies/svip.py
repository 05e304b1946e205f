"""SVIP (arXiv 2411.18462): stop when the draft's entropy says that acceptance is no longer likely.

The bound on acceptance is 1 - sqrt(c H). The paper's Eq. 7 tests sqrt(H) > 0.3, that is H > 0.09 nats; the
authors' code (Geralt-Targaryen/SVIP, vanilla-sd/eval_specbench.py) tests sqrt(0.15 H) > 0.3, H > 0.6 nats.
Both test after the token has been appended, so the doubtful token is drafted and verified.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ahasd.models.policies.base import Features, Policy, Verdict
from ahasd.models.settings import check, param

__all__ = ["Svip", "SvipParams"]


@dataclass(frozen=True, kw_only=True)
class SvipParams:
    """Settings of SVIP; the defaults are the code's form."""

    scale: float = param(
        0.15,
        low=0,
        high=10,
        source="c_s: 0.15 in the authors' code, 1 in the paper's Eq. 7",
    )
    threshold: float = param(
        0.3, unit="sqrt(nats)", low=0, high=10, source="h: arXiv 2411.18462, tuned over 0.2..0.5"
    )
    max_length: int = param(
        40,
        unit="tokens",
        low=1,
        high=64,
        source="arXiv 2411.18462 and code",
        note="the control unit's max_draft caps further",
    )

    def __post_init__(self) -> None:
        check(self)


class Svip(Policy):
    """Stops after a token with sqrt(scale x H) > threshold, or after the ``max_length``-th."""

    def __init__(self, params: SvipParams, variant: str = "code") -> None:
        self._params = params
        self._variant = variant
        self._count = 0

    @property
    def name(self) -> str:
        return f"svip:{self._variant}"

    @property
    def params(self) -> SvipParams:
        return self._params

    def begin_batch(self, position: int | None = None) -> None:
        self._count = 0

    def after(self, token: Features) -> Verdict:
        self._count += 1
        doubtful = math.sqrt(self._params.scale * token.entropy) > self._params.threshold
        return Verdict.LAST if doubtful or self._count >= self._params.max_length else Verdict.GO_ON

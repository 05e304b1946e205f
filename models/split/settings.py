"""What the search for a static split assumes. A run does not change it."""

from __future__ import annotations

from dataclasses import dataclass

from ahasd.models.settings import check, param

__all__ = ["SearchSettings"]


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """``system.search.*``: shape and acceptance that the split of specpim is made for."""

    context: int = param(
        512,
        unit="tokens",
        low=1,
        high=32767,
        source="half of a 1024-token run (U); SpecPIM (ASPLOS'24) fixes an initial shape",
    )
    acceptance: float = param(
        0.8,
        low=0.01,
        high=0.99,
        source="of one draft token: .80-.85 in [AH]'s simulator; independent tokens (arXiv 2211.17192)",
    )
    max_draft: int = param(
        16, unit="tokens", low=1, high=16, source="as many as the control unit's batches hold"
    )

    def __post_init__(self) -> None:
        check(self)

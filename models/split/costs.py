"""The costs of a system whose operators are split."""

from __future__ import annotations

from collections.abc import Sequence

from ahasd.models.pass_costs import Pass, PassCosts
from ahasd.models.platform.params import Platform
from ahasd.models.split.passes import SplitPass, Times

__all__ = ["SplitCosts"]


class SplitCosts(PassCosts):
    """A ``CostModel`` that also says how long each of the two devices works."""

    def __init__(
        self, platform: Platform, layers: int, draft: SplitPass, verify: SplitPass, prefill: Sequence[Pass]
    ) -> None:
        super().__init__(platform, layers, draft=draft, verify=verify, prefill=prefill)
        self._split_draft = draft
        self._split_verify = verify

    def draft_times(self, kv_len: int, tokens: int) -> Times:
        """Of the devices in ``draft_ps``."""
        return self._split_draft.times(kv_len, tokens, 1)

    def verify_times(self, kv_len: int, tokens: int) -> Times:
        """Of the devices in ``verify_ps``."""
        return self._split_verify.times(kv_len, tokens, tokens)

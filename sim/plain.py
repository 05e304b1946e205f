"""The target model alone: a pass a token, no drafts."""

from __future__ import annotations

import simpy

from ahasd.models.control.events import Feedback, Token, Verify
from ahasd.sim.ports import DELIVERY, At, ModelError
from ahasd.sim.scheduler import HostScheduler

__all__ = ["PlainDecoding"]


class PlainDecoding(HostScheduler):
    """Verifications of no drafts, one behind the other: each says the next token."""

    def __init__(self, env: simpy.Environment, context: int, prompt_token: int) -> None:
        super().__init__(env)
        self._position = context - 1
        self._last = prompt_token

    def start(self) -> None:
        self.verify.put(Verify(self._position, (self._last,)))

    def _judged(self, verdict: Feedback) -> None:
        self._position, self._last = self._position + 1, verdict.next
        self.commit.put((verdict.next,))
        At(self.env, 0, DELIVERY, self.start)  # not if that was the last token

    def _drafted(self, token: Token) -> None:
        raise ModelError(f"{token} in a system that does not draft")

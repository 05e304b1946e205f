"""Draft, then verify, in turn: the schedule without a control unit, behind the same ports."""

from __future__ import annotations

import simpy

from ahasd.models.control.events import Draft, Feedback, Token, Verify
from ahasd.sim.scheduler import HostScheduler

__all__ = ["Lockstep"]


class Lockstep(HostScheduler):
    """The whole batch is drafted before it is verified, and the other way round."""

    def __init__(self, env: simpy.Environment, context: int, prompt_token: int) -> None:
        super().__init__(env)
        self._context = context
        self._last = prompt_token
        """Token at position ``_head`` - 1."""
        self._head = 0
        self._fed = -1
        """The draft model's KV cache is right below this position."""
        self._unfed = [prompt_token]
        self._batch: list[int] = []

    def start(self) -> None:
        self.task.put(Draft(self._context + self._fed, tuple(self._unfed)))

    def _drafted(self, token: Token) -> None:
        self._batch.append(token.id)
        if token.last:
            self.verify.put(Verify(self._context + self._head - 1, (self._last, *self._batch)))

    def _judged(self, verdict: Feedback) -> None:
        accepted = self._batch[: verdict.accepted]
        self.committed_drafts += len(accepted)
        self.dropped += len(self._batch) - len(accepted)
        position = self._head + len(accepted)
        # All drafted tokens but the last have been fed; the last one only if it was refuted need not be.
        newest = self._head + len(self._batch) - 1
        self._fed = min(position, newest)
        self._unfed = [*self._batch[self._fed - self._head : len(accepted)], verdict.next]
        self._head, self._last, self._batch = position + 1, verdict.next, []
        self.commit.put((*accepted, verdict.next))
        self.start()

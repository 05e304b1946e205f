"""Draft, then verify, in turn: the schedule without a control unit, behind the same ports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import simpy

from ahasd.models.control.events import Aborted, Draft, Event, Feedback, Preverified, Preverify, Token, Verify
from ahasd.sim.ports import ModelError, Output

__all__ = ["Lockstep"]

E = TypeVar("E", bound=Event)


class _Direct(Generic[E]):
    """An input that takes every event at once."""

    def __init__(self, env: simpy.Environment, act: Callable[[E], None]) -> None:
        self._env = env
        self._act = act

    def send(self, event: E) -> simpy.Event:
        """See :class:`ahasd.sim.ports.Input`."""
        done = self._env.event()
        done.callbacks.append(lambda _: self._act(event))
        done.succeed()
        return done


class Lockstep:
    """Scheduler of host software: the whole batch is drafted before it is verified, and the other way round.

    Costs no time of its own. See :class:`ahasd.sim.ports.Controller` for the ports.
    """

    def __init__(self, env: simpy.Environment, context: int, prompt_token: int) -> None:
        self.token: _Direct[Token] = _Direct(env, self._drafted)
        self.feedback: _Direct[Feedback] = _Direct(env, self._judged)
        self.result: _Direct[Preverified | Aborted] = _Direct(env, self._unexpected)
        self.task: Output[Draft | Preverify] = Output()
        self.verify: Output[Verify] = Output()
        self.abort: Output[None] = Output()
        self.commit: Output[tuple[int, ...]] = Output()
        self.committed_drafts = 0
        self.dropped = 0
        self._context = context
        self._last = prompt_token
        """Token at position ``_head`` - 1."""
        self._head = 0
        self._fed = -1
        """The draft model's KV cache is right below this position."""
        self._unfed = [prompt_token]
        self._batch: list[int] = []

    def start(self) -> None:
        """Begin the sequence."""
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

    def _unexpected(self, event: Preverified | Aborted) -> None:
        raise ModelError(f"{event} without a control unit")

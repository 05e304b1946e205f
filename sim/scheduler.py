"""Host software in the control unit's place: the same ports, no time of its own, and books of the drafts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

import simpy

from ahasd.models.control.events import Aborted, Draft, Event, Feedback, Preverified, Preverify, Token, Verify
from ahasd.sim.ports import ModelError, Output

__all__ = ["HostScheduler"]

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


class HostScheduler(ABC):
    """A controller that is no control unit: ports (:class:`ahasd.sim.ports.Controller`) and books.

    Subclasses say what follows a drafted token and a verdict, and ``start``.
    """

    def __init__(self, env: simpy.Environment) -> None:
        self.env = env
        self.token: _Direct[Token] = _Direct(env, self._drafted)
        self.feedback: _Direct[Feedback] = _Direct(env, self._judged)
        self.result: _Direct[Preverified | Aborted] = _Direct(env, self._unexpected)
        self.task: Output[Draft | Preverify] = Output()
        self.verify: Output[Verify] = Output()
        self.abort: Output[None] = Output()
        self.commit: Output[tuple[int, ...]] = Output()
        self.committed_drafts = 0
        """Drafted tokens in the committed text."""
        self.dropped = 0
        """Drafted tokens that came to nothing."""

    @property
    def decided(self) -> int:
        """Drafted tokens whose fate is known."""
        return self.committed_drafts + self.dropped

    @abstractmethod
    def start(self) -> None:
        """Begin the sequence."""

    @abstractmethod
    def _drafted(self, token: Token) -> None:
        """The draft model has said a token."""

    @abstractmethod
    def _judged(self, verdict: Feedback) -> None:
        """A verification is over."""

    def _unexpected(self, event: Preverified | Aborted) -> None:
        raise ModelError(f"{event} without a control unit")

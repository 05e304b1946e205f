"""Ports: how the modules of a system hand things to each other, and how a model failure is reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import simpy
from simpy.events import EventPriority

from ahasd.models.control.events import Aborted, Draft, Event, Feedback, Preverified, Preverify, Token, Verify

__all__ = ["AFTER_ALL", "DELIVERY", "At", "Controller", "Input", "ModelError", "Output"]

T = TypeVar("T")
E_contra = TypeVar("E_contra", bound=Event, contravariant=True)

DELIVERY = EventPriority(2)
"""A controller's outputs come after all else at the same picosecond (SimPy: 0 is urgent, 1 normal)."""
AFTER_ALL = EventPriority(3)


class ModelError(RuntimeError):
    """A model contradicts itself or the specification: a defect of the simulator, not of the user's input."""


class At(simpy.Event):
    """Calls ``action`` after ``delay`` ps, behind events of lower ``priority`` at that time."""

    def __init__(
        self,
        env: simpy.Environment,
        delay: int,
        priority: EventPriority,
        action: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(env)
        self._ok = True
        self._value = None
        if action is not None:
            self.callbacks.append(lambda _: action())
        env.schedule(self, priority, delay)


class Output(Generic[T]):
    """An output: each receiver is called with what is put, at once, in the order of connection."""

    def __init__(self) -> None:
        self._receivers: list[Callable[[T], None]] = []

    def connect(self, receiver: Callable[[T], None]) -> None:
        """Add a receiver."""
        self._receivers.append(receiver)

    def put(self, value: T) -> None:
        """Hand ``value`` to all receivers."""
        for receiver in self._receivers:
            receiver(value)


class Input(Protocol[E_contra]):
    """An input of a controller."""

    def send(self, event: E_contra) -> simpy.Event:
        """Offer ``event``; what is returned fires when it was taken. A second one waits for the first."""


class Controller(Protocol):
    """What decides who does what next: a control unit, or a lock-step scheduler without one."""

    @property
    def token(self) -> Input[Token]:
        """Drafted tokens, from the PIM."""

    @property
    def feedback(self) -> Input[Feedback]:
        """Verdicts, from the NPU."""

    @property
    def result(self) -> Input[Preverified | Aborted]:
        """Ends of pre-verifications and of aborted tasks, from the PIM."""

    @property
    def task(self) -> Output[Draft | Preverify]:
        """Requests to the PIM."""

    @property
    def verify(self) -> Output[Verify]:
        """Requests to the NPU."""

    @property
    def abort(self) -> Output[None]:
        """The PIM is to stop its task."""

    @property
    def commit(self) -> Output[tuple[int, ...]]:
        """Final tokens, to the host."""

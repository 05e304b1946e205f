"""Engines put a control unit into the loop: golden model, RTL, compiled RTL, behind one interface.

Time is the index of the memory-side clock's edges (edge k is at k x the clock period). An input that
happens at time t is seen at edge t // period + 1. Engines run ahead only as far as the simulation has
told them all inputs, so that every engine takes the same inputs at the same edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ahasd.models.control.events import Decision, Event
from ahasd.models.control.params import ControlConfig

if TYPE_CHECKING:
    from ahasd.sim.observer import Observer

__all__ = ["CLOCK_PS", "ControlEngine", "Decided", "Finishing", "Output", "Taken"]

CLOCK_PS = 1250
"""Period of the memory-side control clock, ps (800 MHz, platform specification)."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The unit has taken an event (None: the start command) at an edge, reading the timebase ``now``.

    ``inside``: the engine gave that event itself, for the PIM; so no module waits for it.
    """

    edge: int
    event: Event | None
    now: int
    inside: bool = False


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision took effect at an edge: a commit's or request's last token was taken, or abort is up.

    ``inside``: a request that was aborted before it was taken, or that abort. No module hears of it; the
    tokens of such a request mean nothing.
    """

    edge: int
    decision: Decision
    inside: bool = False


Output = Taken | Decided


class ControlEngine(Protocol):
    """A control unit in the loop. Edges never go back from call to call."""

    name: str

    def start(self, config: ControlConfig, edge: int) -> None:
        """Configure and start a sequence: the command is seen at ``edge``."""

    def submit(self, event: Event, edge: int) -> None:
        """An event waits at its input from ``edge`` on. Each of the three inputs (token, feedback, task
        result) holds one event; submit the next only after the :class:`Taken` of the one before."""

    def advance(self, limit: int) -> list[Output]:
        """Run up to and including edge ``limit`` or until something comes out, whichever is first.

        Returns outputs in order of edges; a golden engine may return outputs later than ``limit``, an RTL
        engine returns those of one edge.
        """

    @property
    def busy(self) -> bool:
        """There is something to run for: an input waits, or the unit has not come to rest."""

    def counters(self) -> dict[str, int]:
        """The unit's counters by name."""

    def report(self) -> dict[str, object]:
        """For the ``engine`` key of a run: name, cycles driven, versions."""


@runtime_checkable
class Finishing(Protocol):
    """An engine that has something to check when the run is over."""

    def finish(self, observer: Observer) -> None:
        """End the sequence under the eyes of ``observer``, a copy of the run's.

        Raises
        ------
        ModelError
            If the engine is not in the state of its golden unit.
        """

"""The control unit as a module: ports in the simulation's time on one side, an engine on the other.

Time of the system is in ps, that of the engine in clock edges, ``clock_ps`` apart. An input at time t is
seen at edge t // clock_ps + 1; an output of edge e is delivered at e x clock_ps, after all else at that time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

import simpy

from ahasd.models.control.events import (
    Abort,
    Aborted,
    Commit,
    Decision,
    Draft,
    Event,
    Feedback,
    Preverified,
    Preverify,
    Token,
    Verify,
)
from ahasd.models.control.params import ControlConfig
from ahasd.sim import engine as engines
from ahasd.sim.ports import AFTER_ALL, DELIVERY, At, ModelError, Output

__all__ = ["Control", "UnitInput"]

E = TypeVar("E", bound=Event)

REST_EDGES = 1 << 16
"""Edges within which a unit without inputs must come to rest (the longest latency is below 200)."""


class UnitInput(Generic[E]):
    """One stream input of the unit: holds one event, further ones wait outside."""

    def __init__(self, control: Control, after: UnitInput[Any] | None = None) -> None:
        self._control = control
        self._after = after
        self._waiting: deque[tuple[E, simpy.Event]] = deque()
        self._offered = False

    @property
    def empty(self) -> bool:
        """Nothing is offered or waits."""
        return not self._waiting

    def send(self, event: E) -> simpy.Event:
        """See :class:`ahasd.sim.ports.Input`."""
        done = self._control.env.event()
        self._waiting.append((event, done))
        self.offer()
        return done

    def offer(self) -> None:
        """Show the unit the next event, if it can be shown: a result only once all tokens have been taken."""
        if self._waiting and not self._offered and (self._after is None or self._after.empty):
            self._offered = True
            self._control.submit(self._waiting[0][0])

    def taken(self, event: Event | None) -> None:
        """The unit has taken the event offered."""
        offered, done = self._waiting.popleft()
        if not self._offered or offered != event:
            raise ModelError(f"the unit took {event}, which was not offered")
        self._offered = False
        done.succeed()
        self.offer()


class Control:
    """Runs an engine in step with the system.

    Parameters
    ----------
    env : simpy.Environment
    engine : ControlEngine
    config : ControlConfig
        The sequence starts at the time of construction.
    clock_ps : int
        Period of the unit's clock.
    watch : callable, optional
        Is shown every output of the engine as it is delivered, before the modules are.
    """

    def __init__(
        self,
        env: simpy.Environment,
        engine: engines.ControlEngine,
        config: ControlConfig,
        clock_ps: int = engines.CLOCK_PS,
        watch: Callable[[engines.Output], None] | None = None,
    ) -> None:
        self.env = env
        self.engine = engine
        self.token: UnitInput[Token] = UnitInput(self)
        self.feedback: UnitInput[Feedback] = UnitInput(self)
        self.result: UnitInput[Preverified | Aborted] = UnitInput(self, after=self.token)
        self.task: Output[Draft | Preverify] = Output()
        self.verify: Output[Verify] = Output()
        self.abort: Output[None] = Output()
        self.commit: Output[tuple[int, ...]] = Output()
        self._clock_ps = clock_ps
        self._watch = watch
        self._work = env.event()
        engine.start(config, self._next_edge())
        env.process(self._run())

    def _next_edge(self) -> int:
        return int(self.env.now) // self._clock_ps + 1

    def submit(self, event: Event) -> None:
        """Put ``event`` at its input of the engine, to be seen at the next edge."""
        self.engine.submit(event, self._next_edge())
        if not self._work.triggered:
            self._work.succeed()

    def _run(self) -> Generator[simpy.Event, Any, None]:
        env, engine = self.env, self.engine
        while True:
            if not engine.busy:
                self._work = env.event()
                yield self._work
            yield At(env, 0, AFTER_ALL)
            while engine.busy:
                upcoming = env.peek()
                known = upcoming != simpy.core.Infinity
                limit = int(upcoming) // self._clock_ps if known else self._next_edge() + REST_EDGES
                outputs = engine.advance(limit)
                if outputs:
                    self._schedule(outputs)
                    # What comes out may cause inputs: look again behind it. (Nothing is taken before it.)
                    yield At(env, outputs[0].edge * self._clock_ps - int(env.now), AFTER_ALL)
                elif known:
                    # Inputs may come with what happens next; look again behind all of it.
                    yield At(env, int(upcoming) - int(env.now), AFTER_ALL)
                elif engine.busy:
                    raise ModelError(f"the unit neither decides nor rests within {REST_EDGES} edges")

    def _schedule(self, outputs: list[engines.Output]) -> None:
        by_edge: dict[int, list[engines.Output]] = {}
        for output in outputs:
            by_edge.setdefault(output.edge, []).append(output)
        for edge, group in by_edge.items():
            group.sort(key=_rank)
            delay = edge * self._clock_ps - int(self.env.now)
            At(self.env, delay, DELIVERY, lambda group=group: self._deliver(group))  # type: ignore[misc]

    def _deliver(self, outputs: list[engines.Output]) -> None:
        for output in outputs:
            if self._watch is not None:
                self._watch(output)
            if output.inside:
                continue
            if isinstance(output, engines.Decided):
                self._pass_on(output.decision)
            elif isinstance(output.event, Token):
                self.token.taken(output.event)
                self.result.offer()
            elif isinstance(output.event, Feedback):
                self.feedback.taken(output.event)
            elif output.event is not None:
                self.result.taken(output.event)

    def _pass_on(self, decision: Decision) -> None:
        match decision:
            case Commit(tokens):
                self.commit.put(tokens)
            case Abort():
                self.abort.put(None)
            case Verify():
                self.verify.put(decision)
            case _:
                self.task.put(decision)


def _rank(output: engines.Output) -> int:
    """Order of outputs at one edge: what was taken, commit, abort, verify, task."""
    if isinstance(output, engines.Taken):
        return 0
    order: list[type[Decision]] = [Commit, Abort, Verify]
    kind = type(output.decision)
    return 1 + (order.index(kind) if kind in order else len(order))

"""A PIM and an NPU that do what a recording says, in its order."""

from __future__ import annotations

from ahasd.models.control.events import Aborted, Draft, Event, Feedback, Preverified, Preverify, Token
from ahasd.models.replay import Replay
from ahasd.sim.benches.scoreboard import needs

__all__ = ["Script", "ScriptedNpu", "ScriptedPim"]


class Script:
    """A recording's events; one is due when the one before has been taken and its causes were seen."""

    def __init__(self, recording: Replay) -> None:
        self._steps = recording.steps
        self._needs = needs(recording.steps)
        self._next = 1
        self.taken = 1
        self.started = False
        """The unit has taken the start command."""
        self.tasks = self.verifies = self.aborts = 0

    @property
    def ended(self) -> bool:
        """All events have been taken."""
        return self.taken == len(self._steps)

    @property
    def at(self) -> int:
        """When the start, or then the next event, is taken, in ticks; the last one, if none is left."""
        return self._steps[min(self.taken, len(self._steps) - 1) if self.started else 0].at

    def due(self, npu: bool) -> Event | None:
        """The next event, if it is due and of the NPU (of the PIM)."""
        if self._next != self.taken or self.ended:
            return None
        needed, event = self._needs[self._next], self._steps[self._next].event
        if isinstance(event, Feedback) is not npu or needed.tasks > self.tasks:
            return None
        if needed.verifies > self.verifies or needed.aborts > self.aborts:
            return None
        self._next += 1
        return event


class ScriptedPim:
    """As :class:`~ahasd.sim.benches.live.LivePim`."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.working = False
        self.max_draft = 0
        self._abort = False
        self._offered: Event | None = None

    def took(self, task: Draft | Preverify, abort: bool) -> None:
        self.script.tasks += 1
        self.working = True

    def sees(self, abort: bool) -> None:
        self.script.aborts += abort and not self._abort
        self._abort = abort

    def offer(self) -> Event | None:
        if self._offered is None:
            self._offered = self.script.due(npu=False)
            return self._offered
        return None

    def taken(self, abort: bool) -> None:
        match self._offered:
            case Preverified() | Aborted():
                self.working = False
            case Token(last=True):
                self.working = abort
        self._offered = None


class ScriptedNpu:
    """As :class:`~ahasd.sim.benches.live.LiveNpu`."""

    verdict: Feedback | None = None

    def __init__(self, script: Script) -> None:
        self.script = script

    def took(self, tokens: int) -> None:
        self.script.verifies += 1

    def offer(self) -> Feedback | None:
        event = self.script.due(npu=True)
        assert event is None or isinstance(event, Feedback)
        return event

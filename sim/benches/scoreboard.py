"""What the control unit must decide, in each of its channels, and what it has decided."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

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
from ahasd.models.replay import Replay, Step
from ahasd.sim.port_bits import PortMap, field

__all__ = ["Assembler", "Needs", "Scoreboard", "needs"]


def channel(decision: Decision) -> str:
    """The port on which a decision leaves."""
    match decision:
        case Commit():
            return "commit"
        case Abort():
            return "abort"
        case Verify():
            return "verify"
        case _:
            return "task"


@dataclass(frozen=True, slots=True)
class Needs:
    """How many requests and aborts an environment must have seen before it can send an event."""

    tasks: int = 0
    verifies: int = 0
    aborts: int = 0


def needs(steps: list[Step]) -> list[Needs]:
    """Of each step. A PIM that takes a request while ``abort`` is high may only answer ``aborted``."""
    tasks = verifies = aborts = 0
    found = []
    for number, step in enumerate(steps):
        match step.event:
            case Token() | Preverified():
                needed = Needs(tasks=tasks)
            case Aborted():
                needed = Needs(tasks=tasks, aborts=aborts)
            case Feedback():
                cancels = Abort() in step.decisions and not isinstance(_pim_event(steps, number), Aborted)
                needed = Needs(tasks=tasks if cancels else 0, verifies=verifies)
            case None:
                needed = Needs()
        found.append(needed)
        for decision in step.decisions:
            tasks += channel(decision) == "task"
            verifies += channel(decision) == "verify"
            aborts += channel(decision) == "abort"
    return found


def _pim_event(steps: list[Step], after: int) -> Event | None:
    events = (step.event for step in steps[after + 1 :])
    return next((event for event in events if not isinstance(event, Feedback)), None)


class Scoreboard:
    """Compares each channel's decisions, in order, with those of a recording.

    A decision may leave as late as its consumer lets it, but not before its event has been taken.
    """

    def __init__(self, recording: Replay) -> None:
        self._expected: dict[str, deque[tuple[int, Decision]]] = {
            name: deque() for name in ("commit", "abort", "verify", "task")
        }
        for number, step in enumerate(recording.steps):
            for decision in step.decisions:
                self._expected[channel(decision)].append((number, decision))
        self.seen = dict.fromkeys(self._expected, 0)
        self.taken = -1
        """Number of the latest step that the unit has taken."""

    @property
    def drained(self) -> bool:
        """Nothing is missing."""
        return not any(self._expected.values())

    def decided(self, decision: Decision, cancelled: bool = False) -> None:
        """A decision has left; the tokens of a request that is cancelled do not count."""
        name = channel(decision)
        assert self._expected[name], f"step {self.taken}: {name}: nothing expected, found {decision}"
        number, expected = self._expected[name].popleft()
        assert number <= self.taken, f"step {self.taken}: {decision} comes before step {number}"
        same = _shape(decision) == _shape(expected) if cancelled else decision == expected
        assert same, f"step {number}: expected {expected}, found {decision}"
        self.seen[name] += 1

    def describe_missing(self) -> str:
        """The first decision of each channel that has not come."""
        return ", ".join(
            f"{waiting[0][1]} of step {waiting[0][0]}" for waiting in self._expected.values() if waiting
        )


def _shape(decision: Decision) -> tuple[str, int, int]:
    """A request without its tokens."""
    assert isinstance(decision, Draft | Preverify)
    return type(decision).__name__, decision.position, len(decision.tokens)


class Assembler:
    """Makes decisions of the beats of the commit, verify and task streams."""

    def __init__(self, ports: PortMap) -> None:
        self._ports = ports
        self._commit: list[int] = []
        self._requests: dict[str, tuple[int, int, list[int]]] = {}

    def beat(self, stream: str, bits: int) -> Decision | None:
        """The decision that a beat completes."""
        if stream == "commit":
            port = self._ports["commit"]
            self._commit.append(field(bits, port["token"]))
            if not field(bits, port["last"]):
                return None
            tokens, self._commit = tuple(self._commit), []
            return Commit(tokens)
        port, header = self._ports["request"], self._ports["header"]
        data = field(bits, port["data"])
        last = field(bits, port["last"])
        if field(bits, port["header"]):
            assert stream not in self._requests, f"{stream}: a header within a request"
            assert not last, f"{stream}: a request without tokens"
            self._requests[stream] = field(data, header["position"]), field(data, header["tokens"]), []
            return None
        position, count, request = self._requests[stream]
        request.append(data)
        assert (len(request) == count) == bool(last), (
            f"{stream}: {count} tokens announced, last at {len(request)}"
        )
        if not last:
            return None
        del self._requests[stream]
        if stream == "verify":
            return Verify(position, tuple(request))
        kind = Preverify if field(bits, port["kind"]) else Draft
        return kind(position, tuple(request))

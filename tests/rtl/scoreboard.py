"""Compares the unit's ports, beat by beat, with a golden unit that sees the same events in the same order."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from ahasd.models.control.events import Abort, Commit, Decision, Event, Preverify, Verify
from ahasd.models.control.unit import ControlUnit, Outcome

__all__ = ["Beat", "Scoreboard"]


@dataclass(frozen=True)
class Beat:
    """A beat of a request or, without header, of a commit."""

    token: int = 0
    last: bool = False
    header: bool = False
    preverify: bool = False
    position: int = 0
    count: int = 0


@dataclass
class Message:
    """A decision on its way out of a port."""

    decision: Decision
    taken: int = 0
    """Token beats taken so far."""
    headed: bool = False
    specified: int | None = None
    """Tokens that count; the rest of a request is unspecified once its task is told to abort."""


@dataclass
class Scoreboard:
    """``golden`` gets events at their handshakes; messages are what the ports still owe."""

    golden: ControlUnit
    owed: dict[str, deque[Message]] = field(
        default_factory=lambda: {port: deque() for port in ("commit", "verify", "task")}
    )
    aborts: int = 0
    committed: int = 0
    abandoned: int = 0
    """Tokens that were queued when a sequence ended."""
    events: list[Event] = field(default_factory=list)

    def idle(self) -> bool:
        return not any(self.owed.values())

    def event(self, event: Event, now: int) -> Outcome:
        self.events.append(event)
        outcome = self.golden.step(event, now)
        assert outcome.violation is None, f"the environment broke the protocol: {outcome.violation} {event}"
        self.decided(outcome)
        return outcome

    def decided(self, outcome: Outcome) -> None:
        for decision in outcome.decisions:
            match decision:
                case Commit():
                    self.owed["commit"].append(Message(decision))
                    self.committed += len(decision.tokens)
                case Abort():
                    self.aborts += 1
                    for message in self.owed["task"]:
                        message.specified = message.taken
                case Verify():
                    self.owed["verify"].append(Message(decision))
                case _:
                    self.owed["task"].append(Message(decision))

    def beat(self, port: str, beat: Beat) -> Message | None:
        """A beat is taken; the message, if it was the last."""
        assert self.owed[port], f"{port}: a beat that no decision explains: {beat}"
        message = self.owed[port][0]
        decision = message.decision
        assert not isinstance(decision, Abort)
        if port != "commit" and not message.headed:
            assert not isinstance(decision, Commit)
            assert beat.header, f"{port}: expected a header, found {beat}"
            assert (beat.position, beat.count) == (decision.position, len(decision.tokens)), decision
            assert not beat.last
            message.headed = True
        else:
            assert not beat.header, f"{port}: a header inside a message"
            if message.specified is None or message.taken < message.specified:
                assert beat.token == decision.tokens[message.taken], f"{port}: token {message.taken}"
            message.taken += 1
            assert beat.last == (message.taken == len(decision.tokens)), f"{port}: last"
        if port == "task":
            assert beat.preverify == isinstance(decision, Preverify)
        return self.owed[port].popleft() if beat.last else None

    def start(self, now: int) -> None:
        self.abandoned += self.golden.tail - self.golden.head
        self.decided(self.golden.start(now))

    def check_queue(self) -> None:
        """Every token that came in is committed, dropped or queued; a flush commits one that never came."""
        golden, counters = self.golden, self.golden.counters
        from_queue = self.committed - counters["flushes"]
        queued = golden.tail - golden.head + self.abandoned
        assert counters["tokens"] + counters["fixes"] == from_queue + counters["dropped"] + queued

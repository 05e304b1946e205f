"""The replay format: a control unit's configuration, events and decisions as JSON lines.

Read with :func:`read_replay`, written with :func:`write_replay`; :func:`replay` drives any control unit
that has the :class:`ReplayUnit` protocol with a file's events, and :func:`first_difference` compares.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

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
from ahasd.models.control.unit import COUNTERS, ControlUnit, Outcome
from ahasd.models.control.work import Violation
from ahasd.models.errors import ConfigError, VectorError

__all__ = [
    "GoldenUnit",
    "Replay",
    "ReplayUnit",
    "Step",
    "describe",
    "first_difference",
    "in_order",
    "read_replay",
    "replay",
    "vectors",
    "write_replay",
]

TIME_LIMIT = 1 << 32
REQUESTS: dict[str, type[Verify] | type[Preverify] | type[Draft]] = {
    "verify": Verify,
    "preverify": Preverify,
    "draft": Draft,
}


@dataclass(slots=True)
class Step:
    """One line: an event accepted ``at`` (None: the start) and the decisions that it causes."""

    at: int
    event: Event | None
    decisions: list[Decision] = field(default_factory=list)


@dataclass(slots=True)
class Replay:
    """A whole file."""

    config: ControlConfig
    steps: list[Step]
    counters: dict[str, int]


class ReplayUnit(Protocol):
    """A control unit that takes one event at a time. A protocol violation raises VectorError."""

    def start(self, config: ControlConfig, at: int) -> list[Decision]:
        """Start a sequence; its decisions in order."""

    def step(self, event: Event, at: int) -> list[Decision]:
        """Process one event; its decisions in order."""

    def counters(self) -> dict[str, int]:
        """All counters by name."""


class GoldenUnit:
    """The golden model as a :class:`ReplayUnit`."""

    def __init__(self, make: Callable[[], ControlUnit] = ControlUnit) -> None:
        self.unit = make()

    def start(self, config: ControlConfig, at: int) -> list[Decision]:
        self.unit.configure(config)
        return self._decisions(self.unit.start(at))

    def step(self, event: Event, at: int) -> list[Decision]:
        return self._decisions(self.unit.step(event, at))

    def counters(self) -> dict[str, int]:
        return dict(self.unit.counters)

    @staticmethod
    def _decisions(outcome: Outcome) -> list[Decision]:
        if outcome.violation is not None:
            raise VectorError(f"the event breaks the protocol: {describe(outcome.violation)}")
        return outcome.decisions


def describe(violation: Violation) -> str:
    """A violation in words."""
    return violation.name.lower().replace("_", " ")


def in_order(decision: Decision) -> int:
    """The order in which the replay format lists an event's decisions: commit, abort, verify, task."""
    match decision:
        case Commit():
            return 0
        case Abort():
            return 1
        case Verify():
            return 2
        case _:
            return 3


def vectors() -> list[Path]:
    """The conformance vectors that come with the package, sorted."""
    folder = Path(str(files("ahasd.models"))) / "data" / "vectors"
    return sorted(folder.glob("*.jsonl"))


# JSON forms.


def event_json(step: Step) -> dict[str, Any] | None:
    """An event as the format writes it; None for the start."""
    match step.event:
        case None:
            return None
        case Token(id, entropy, last):
            return {"at": step.at, "event": "token", "id": id, "entropy": entropy, "last": last}
        case Feedback(accepted, following):
            return {"at": step.at, "event": "feedback", "accepted": accepted, "next": following}
        case Preverified(passed, fix):
            return {"at": step.at, "event": "preverified", "passed": passed, "fix": fix}
        case Aborted():
            return {"at": step.at, "event": "aborted"}


def decision_json(decision: Decision, at: int) -> dict[str, Any]:
    """A decision as the format writes it."""
    match decision:
        case Commit(tokens):
            return {"at": at, "decision": "commit", "tokens": list(tokens)}
        case Abort():
            return {"at": at, "decision": "abort"}
        case _:
            name = type(decision).__name__.lower()
            return {
                "at": at,
                "decision": name,
                "position": decision.position,
                "tokens": list(decision.tokens),
            }


def step_json(step: Step) -> dict[str, Any]:
    """A line of the file."""
    return {"event": event_json(step), "decisions": [decision_json(d, step.at) for d in step.decisions]}


def lines(recording: Replay) -> Iterator[str]:
    """The file's lines, without line ends."""
    yield json.dumps({"config": recording.config.to_dict()})
    for step in recording.steps:
        yield json.dumps(step_json(step))
    yield json.dumps({"counters": recording.counters})


def write_replay(path: Path, recording: Replay) -> None:
    """Write a file, whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text("".join(line + "\n" for line in lines(recording)), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise VectorError(f"{path}: cannot be written: {error.strerror}") from error


# Reading.


class _Line:
    """One parsed line: typed access to its keys, errors that name file, line and key."""

    def __init__(self, where: str, value: Any, keys: Iterable[str]) -> None:
        if not isinstance(value, dict):
            raise VectorError(f"{where}: expected a JSON object, found {type(value).__name__}")
        expected = list(keys)
        if set(value) != set(expected):
            raise VectorError(
                f"{where}: expected the keys {', '.join(expected)}; found {', '.join(value) or 'none'}"
            )
        self.where, self.value = where, value

    def integer(self, key: str, limit: int) -> int:
        value = self.value[key]
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
            raise VectorError(f"{self.where}: {key}: {value!r} must be an integer from 0 to {limit - 1}")
        return value

    def boolean(self, key: str) -> bool:
        value = self.value[key]
        if not isinstance(value, bool):
            raise VectorError(f"{self.where}: {key}: {value!r} must be true or false")
        return value

    def items(self, key: str) -> list[Any]:
        value = self.value[key]
        if not isinstance(value, list):
            raise VectorError(f"{self.where}: {key}: {value!r} must be a list")
        return value


EVENT_KEYS = {
    "token": ("at", "event", "id", "entropy", "last"),
    "feedback": ("at", "event", "accepted", "next"),
    "preverified": ("at", "event", "passed", "fix"),
    "aborted": ("at", "event"),
}
TOKEN_LIMIT = 1 << 18


def _parse_event(where: str, value: Any) -> tuple[int, Event]:
    kind = value.get("event") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in EVENT_KEYS:
        raise VectorError(f"{where}: event: {kind!r} must be one of {', '.join(EVENT_KEYS)}")
    line = _Line(where, value, EVENT_KEYS[kind])
    at = line.integer("at", TIME_LIMIT)
    match kind:
        case "token":
            return at, Token(
                line.integer("id", TOKEN_LIMIT), line.integer("entropy", 256), line.boolean("last")
            )
        case "feedback":
            return at, Feedback(line.integer("accepted", 64), line.integer("next", TOKEN_LIMIT))
        case "preverified":
            fix = None if line.value["fix"] is None else line.integer("fix", TOKEN_LIMIT)
            return at, Preverified(line.integer("passed", 16), fix)
        case _:
            return at, Aborted()


def _parse_decision(where: str, value: Any) -> tuple[int, Decision]:
    kind = value.get("decision") if isinstance(value, dict) else None
    if kind == "abort":
        return _Line(where, value, ("at", "decision")).integer("at", TIME_LIMIT), Abort()
    keys = ("at", "decision", "tokens") if kind == "commit" else ("at", "decision", "position", "tokens")
    if not isinstance(kind, str) or (kind != "commit" and kind not in REQUESTS):
        raise VectorError(
            f"{where}: decision: {kind!r} must be one of commit, abort, verify, preverify, draft"
        )
    line = _Line(where, value, keys)
    tokens = []
    for token in line.items("tokens"):
        tokens.append(_Line(where, {"tokens": token}, ("tokens",)).integer("tokens", TOKEN_LIMIT))
    at = line.integer("at", TIME_LIMIT)
    if kind == "commit":
        return at, Commit(tuple(tokens))
    return at, REQUESTS[str(kind)](line.integer("position", 1 << 17), tuple(tokens))


def _parse_step(where: str, value: Any, first: bool) -> Step:
    line = _Line(where, value, ("event", "decisions"))
    decisions = [_parse_decision(where, item) for item in line.items("decisions")]
    if first:
        if value["event"] is not None or not decisions:
            raise VectorError(f"{where}: the first event must be null, with the decision of the start")
        step = Step(decisions[0][0], None)
    else:
        step = Step(*_parse_event(where, value["event"]))
    for at, decision in decisions:
        if at != step.at:
            raise VectorError(f"{where}: at: a decision at {at} for an event at {step.at}")
        step.decisions.append(decision)
    return step


def read_replay(path: Path) -> Replay:
    """Read a file.

    Raises
    ------
    VectorError
        If the file is missing, is not UTF-8 JSON lines in the format, or is truncated; names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise VectorError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise VectorError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from error
    values = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError) as error:  # ValueError: not JSON, or a number too long to read
            raise VectorError(f"{path}:{number}: not JSON: {getattr(error, 'msg', error)}") from error
    if len(values) < 3 or not isinstance(values[-1], dict) or "counters" not in values[-1]:
        raise VectorError(
            f"{path}: truncated: expected a configuration, events and a last line with the counters"
        )
    header = _Line(f"{path}:1", values[0], ("config",)).value["config"]
    known = ControlConfig().to_dict()
    if not isinstance(header, dict) or set(header) != set(known):
        raise VectorError(f"{path}:1: config: expected the keys {', '.join(known)}")
    try:
        config = ControlConfig(**header)
    except ConfigError as error:
        raise VectorError(f"{path}:1: config: {error}") from error
    steps = [
        _parse_step(f"{path}:{number}", value, number == 2) for number, value in enumerate(values[1:-1], 2)
    ]
    where = f"{path}:{len(values)}"
    last = _Line(where, _Line(where, values[-1], ("counters",)).value["counters"], COUNTERS)
    return Replay(config, steps, {name: last.integer(name, 1 << 32) for name in COUNTERS})


# Driving and comparing.


def replay(recording: Replay, unit: ReplayUnit, where: str = "replay") -> Replay:
    """Drive ``unit`` with the events of ``recording`` and return what it decided.

    Raises
    ------
    VectorError
        If an event breaks the protocol, naming ``where`` and the line.
    """
    result = Replay(recording.config, [], {})
    for number, step in enumerate(recording.steps, 2):
        try:
            if step.event is None:
                decisions = unit.start(recording.config, step.at)
            else:
                decisions = unit.step(step.event, step.at)
        except VectorError as error:
            raise VectorError(f"{where}:{number}: {error}") from error
        result.steps.append(Step(step.at, step.event, decisions))
    result.counters = unit.counters()
    return result


def first_difference(expected: Replay, found: Replay) -> str | None:
    """Where two recordings of the same events first differ: line number, expected and found; else None."""
    for number, (left, right) in enumerate(zip(lines(expected), lines(found), strict=True), 1):
        if left != right:
            return f"line {number}: expected {left}, found {right}"
    return None

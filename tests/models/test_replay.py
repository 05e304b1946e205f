"""Replay files that are broken or break the protocol, and recordings that differ: one line each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ahasd.models.control.events import Abort, Commit, Decision, Draft
from ahasd.models.errors import VectorError
from ahasd.models.replay import GoldenUnit, first_difference, read_replay, replay, vectors, write_replay

VECTOR = vectors()[0]
Lines = list[Any]


def written(tmp_path: Path, change: Callable[[Lines], object]) -> Path:
    """A copy of a vector with its parsed lines changed in place; a string is written as it is."""
    lines: Lines = [json.loads(line) for line in VECTOR.read_text().splitlines()]
    change(lines)
    path = tmp_path / "vector.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def message(path: Path) -> str:
    with pytest.raises(VectorError) as caught:
        read_replay(path)
    text = str(caught.value)
    assert "\n" not in text
    return text


def find(lines: Lines, event: str, after: int = 1) -> int:
    """Index of the first event of a kind."""
    return next(k for k in range(after, len(lines)) if (lines[k].get("event") or {}).get("event") == event)


def set_event(kind: str, key: str, value: object) -> Callable[[Lines], object]:
    return lambda lines: lines[find(lines, kind)]["event"].update({key: value})


def set_decision(key: str, value: object) -> Callable[[Lines], object]:
    return lambda lines: lines[1]["decisions"][0].update({key: value})


def set_config(key: str, value: object) -> Callable[[Lines], object]:
    return lambda lines: lines[0]["config"].update({key: value})


@pytest.mark.parametrize(
    ("change", "line", "expected"),
    [
        (lambda lines: lines.__setitem__(4, "{"), 5, "not JSON"),
        (lambda lines: lines.__setitem__(4, ""), 5, "not JSON"),
        (lambda lines: lines.__setitem__(4, "[" * 100_000), 5, "not JSON"),
        pytest.param(lambda lines: lines.__setitem__(4, "9" * 5000), 5, "not JSON"),
        (lambda lines: lines.__setitem__(4, "[]"), 5, "expected a JSON object, found list"),
        (lambda lines: lines.__setitem__(4, "null"), 5, "expected a JSON object, found NoneType"),
        (lambda lines: lines.__setitem__(0, {"configuration": {}}), 1, "expected the keys config"),
        (lambda lines: lines[0].update(config=[]), 1, "config: expected the keys edc, tvc"),
        (lambda lines: lines[0]["config"].pop("edc"), 1, "config: expected the keys edc, tvc"),
        (set_config("speed", 1), 1, "config: expected the keys edc, tvc"),
        (set_config("edc", 1), 1, "config: edc: 1 must be true or false"),
        (set_config("suppress", "stop"), 1, "suppress: 'stop' must be 'wait' or 'preverify'"),
        (set_config("max_draft", 17), 1, "max_draft: 17 must be an integer from 1 to 16"),
        (set_config("context", "1"), 1, "context: '1' must be an integer"),
        (lambda lines: lines[3].pop("decisions"), 4, "expected the keys event, decisions; found event"),
        (lambda lines: lines[3].update(more=1), 4, "expected the keys event, decisions"),
        (lambda lines: lines[3].update(decisions={}), 4, "decisions: {} must be a list"),
        (lambda lines: lines[3].update(event=None), 4, "event: None must be one of token, feedback"),
        (lambda lines: lines[3].update(event="token"), 4, "event: None must be one of"),
        pytest.param(
            lambda lines: lines[3].update(event={"event": ["token"]}),
            4,
            "event: ['token'] must be one of",
        ),
        (lambda lines: lines[1].update(event=lines[2]["event"]), 2, "the first event must be null"),
        (lambda lines: lines[1].update(decisions=[]), 2, "the first event must be null, with the decision"),
        (set_event("token", "event", "tokens"), 3, "event: 'tokens' must be one of token"),
        (set_event("token", "at", -1), 3, "at: -1 must be an integer from 0 to 4294967295"),
        (set_event("token", "at", 1 << 32), 3, "at: 4294967296 must be an integer"),
        (set_event("token", "at", True), 3, "at: True must be an integer"),
        (set_event("token", "at", 1.5), 3, "at: 1.5 must be an integer"),
        (set_event("token", "id", 1 << 18), 3, "id: 262144 must be an integer from 0 to 262143"),
        (set_event("token", "entropy", 256), 3, "entropy: 256 must be an integer from 0 to 255"),
        (set_event("token", "last", 1), 3, "last: 1 must be true or false"),
        (set_event("token", "length", 1), 3, "expected the keys at, event, id, entropy, last; found"),
        (set_event("feedback", "accepted", 64), None, "accepted: 64 must be an integer from 0 to 63"),
        (set_event("feedback", "next", None), None, "next: None must be an integer"),
        (set_event("preverified", "passed", 16), None, "passed: 16 must be an integer from 0 to 15"),
        (set_event("preverified", "fix", "x"), None, "fix: 'x' must be an integer"),
        (set_event("aborted", "passed", 1), None, "expected the keys at, event; found"),
        (set_decision("decision", "drafts"), 2, "decision: 'drafts' must be one of commit, abort, verify"),
        pytest.param(set_decision("decision", {}), 2, "decision: {} must be one of"),
        (set_decision("position", 1 << 17), 2, "position: 131072 must be an integer from 0 to 131071"),
        (set_decision("tokens", 5), 2, "tokens: 5 must be a list"),
        (set_decision("tokens", [5, -5]), 2, "tokens: -5 must be an integer from 0 to 262143"),
        (lambda lines: lines[1].update(decisions=[7]), 2, "decision: None must be one of"),
        (lambda lines: lines[-1]["counters"].pop("stale"), 703, "expected the keys predictions, suppressed"),
        (lambda lines: lines[-1]["counters"].update(stale=-1), 703, "stale: -1 must be an integer"),
        (lambda lines: lines[-1].update(more=1), 703, "expected the keys counters"),
    ],
)
def test_broken_line(
    tmp_path: Path, change: Callable[[Lines], object], line: int | None, expected: str
) -> None:
    # The first vector has no pre-verification, the second has every kind of event.
    source = VECTOR if line else vectors()[1]
    lines: Lines = [json.loads(text) for text in source.read_text().splitlines()]
    if line is None:
        kind = "aborted" if "at, event;" in expected else expected.split(":")[0]
        event = {"accepted": "feedback", "next": "feedback", "aborted": "aborted"}.get(kind, "preverified")
        line = find(lines, event) + 1
    change(lines)
    path = tmp_path / "vector.jsonl"
    path.write_text("".join((text if isinstance(text, str) else json.dumps(text)) + "\n" for text in lines))
    text = message(path)
    assert text.startswith(f"{path}:{line}: ")
    assert expected in text


def test_decision_at_another_time(tmp_path: Path) -> None:
    def change(lines: Lines) -> None:
        number = find(lines, "feedback")
        lines[number]["decisions"][0]["at"] += 1
        at = lines[number]["event"]["at"]
        expected.append(f":{number + 1}: at: a decision at {at + 1} for an event at {at}")

    expected: list[str] = []
    assert message(written(tmp_path, change)).endswith(expected[0])


@pytest.mark.parametrize("keep", [0, 1, 2, 300])
def test_truncated(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "vector.jsonl"
    path.write_text("".join(line + "\n" for line in VECTOR.read_text().splitlines()[:keep]))
    assert message(path) == (
        f"{path}: truncated: expected a configuration, events and a last line with the counters"
    )


def test_truncated_within_a_line(tmp_path: Path) -> None:
    path = tmp_path / "vector.jsonl"
    path.write_text(VECTOR.read_text()[:50_000])
    assert f"{path}:" in message(path)


def test_missing_folder_and_text(tmp_path: Path) -> None:
    assert (
        message(tmp_path / "none.jsonl")
        == f"{tmp_path}/none.jsonl: cannot be read: No such file or directory"
    )
    assert "cannot be read: Is a directory" in message(tmp_path)
    (tmp_path / "binary").write_bytes(b"{}\n\xff\n")
    assert "binary: not UTF-8 text: invalid start byte at byte 3" in message(tmp_path / "binary")
    with pytest.raises(VectorError, match="cannot be written: No such file or directory") as caught:
        write_replay(tmp_path / "none" / "x.jsonl", read_replay(VECTOR))
    assert "\n" not in str(caught.value)


def test_line_ends_and_written_copy(tmp_path: Path) -> None:
    path = tmp_path / "vector.jsonl"
    path.write_bytes(VECTOR.read_bytes().replace(b"\n", b"\r\n"))
    recording = read_replay(path)
    write_replay(path, recording)
    assert path.read_bytes() == VECTOR.read_bytes()
    assert [file.name for file in tmp_path.iterdir()] == ["vector.jsonl"]


def violating(kind: str, **values: object) -> Callable[[Lines], int]:
    """Changes the first event of a kind; its line."""

    def change(lines: Lines) -> int:
        number = find(lines, kind)
        lines[number]["event"].update(values)
        return number + 1

    return change


def inserted(event: dict[str, object], before: str) -> Callable[[Lines], int]:
    """An event that nobody asked for, before the first of a kind."""

    def change(lines: Lines) -> int:
        number = find(lines, before)
        at = lines[number]["event"]["at"]
        lines.insert(number, {"event": {"at": at, **event}, "decisions": []})
        return number + 1

    return change


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (violating("feedback", accepted=33), "feedback range"),
        (inserted({"event": "aborted"}, "feedback"), "aborted unexpected"),
        (inserted({"event": "preverified", "passed": 0, "fix": 1}, "feedback"), "result unexpected"),
        (lambda lines: missing_last(lines), "missing last"),
    ],
)
def test_vector_that_breaks_the_protocol(tmp_path: Path, change: Callable[[Lines], int], cause: str) -> None:
    lines: list[int] = []
    path = written(tmp_path, lambda parsed: lines.append(change(parsed)))
    with pytest.raises(VectorError) as caught:
        replay(read_replay(path), GoldenUnit(), str(path))
    assert str(caught.value) == f"{path}:{lines[0]}: the event breaks the protocol: {cause}"


def missing_last(lines: Lines) -> int:
    """The longest batch that there may be, not marked as ended."""
    size = 0
    for number, line in enumerate(lines):
        event = line.get("event") or {}
        if event.get("event") == "token":
            size += 1
            if size == lines[0]["config"]["max_draft"]:
                event["last"] = False
                return number + 1
            size *= not event["last"]
    raise AssertionError("no such batch")


@pytest.mark.parametrize("number", [1, 40, 350, 700])
def test_changed_decision_is_named(number: int) -> None:
    expected, found = read_replay(VECTOR), replay(read_replay(VECTOR), GoldenUnit())
    while not found.steps[number].decisions:
        number -= 1
    decision: Decision = found.steps[number].decisions[-1]
    if isinstance(decision, Abort):
        decision = Commit(())
    elif isinstance(decision, Commit):
        decision = Commit((*decision.tokens, 1))
    else:
        decision = Draft(decision.position + 1, decision.tokens)
    found.steps[number].decisions[-1] = decision
    difference = first_difference(expected, found)
    assert difference is not None
    assert difference.startswith(f"line {number + 2}: expected {{")
    assert "\n" not in difference


def test_changed_counter_is_named() -> None:
    expected, found = read_replay(VECTOR), replay(read_replay(VECTOR), GoldenUnit())
    found.counters["stale"] += 1
    assert (first_difference(expected, found) or "").startswith('line 703: expected {"counters"')

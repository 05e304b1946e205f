"""A run as tracks: which device was busy with what, and when the control unit decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ahasd.models.replay import TIME_LIMIT
from ahasd.sim.devices import Sums
from ahasd.sim.result import TraceResult
from ahasd.sim.spans import Span

__all__ = ["DECISIONS", "KINDS", "Busy", "Mark", "Track", "bins", "levels", "marks", "tick_ps", "tracks"]

KINDS = ("verify", "draft", "preverify", "aborted")
"""What a device can be busy with; ``aborted`` is a draft or pre-verification that was stopped."""
DECISIONS = ("draft", "verify", "preverify", "commit", "abort")
"""What the control unit decides."""


@dataclass(frozen=True, slots=True)
class Busy:
    """A task on a track. Times in ps; one that ran at the end of the run ends there."""

    kind: str
    """One of ``KINDS``."""
    begin: int
    end: int
    span: Span


@dataclass(frozen=True, slots=True)
class Track:
    """A device, or devices that work together, and its tasks: in order, free of overlaps."""

    name: str
    busy: list[Busy]


@dataclass(frozen=True, slots=True)
class Mark:
    """A decision of the control unit, ps."""

    at: int
    kind: str
    """One of ``DECISIONS``."""
    position: int | None
    """Of its first token; None where the decision has none."""
    tokens: int


def tracks(run: TraceResult) -> list[Track]:
    """The verifier's track, then the drafter's; one for both where they are the same devices."""
    verifying, drafting = _busy(run.npu_spans, run), _busy(run.pim_spans, run)
    drafters, verifiers = _devices(run, drafting, verifying)
    if drafters == verifiers:
        return [Track(verifiers, sorted(verifying + drafting, key=lambda busy: busy.begin))]
    return [Track(name, busy) for name, busy in ((verifiers, verifying), (drafters, drafting)) if busy]


def _busy(spans: Sequence[Span], run: TraceResult) -> list[Busy]:
    now = run.tally.time_ps
    return [
        Busy("aborted" if span.aborted else span.what, span.begin, span.begin + span.length(now), span)
        for span in spans
        if span.length(now)
    ]


def _devices(run: TraceResult, drafting: list[Busy], verifying: list[Busy]) -> tuple[str, str]:
    """Names of what drafts and of what verifies, as the times of the devices tell."""
    sums = run.tally
    drafts = {"npu": _any(sums.npu, "draft"), "pim": _any(sums.pim, "draft", "preverify", "aborted")}
    verifies = {"npu": _any(sums.npu, "busy", "blocked", "wasted"), "pim": _any(sums.pim, "verify", "wasted")}
    # The times of a GPU do not tell its tasks apart: it has those that nothing else did, or, where operators
    # are split between GPU and PIM, a part of all.
    if sums.gpu is not None:
        split = drafts["pim"] and verifies["pim"]
        drafts["gpu"] = split or not any(drafts.values())
        verifies["gpu"] = split or not any(verifies.values())
    return _named(drafts), _named(verifies)


def _any(sums: Sums | None, *kinds: str) -> bool:
    return sums is not None and any(sums.get(f"{kind}_ps", 0) for kind in kinds)


def _named(does: dict[str, bool]) -> str:
    return " + ".join(device.upper() for device, it_does in does.items() if it_does)


def tick_ps(document: dict[str, Any]) -> int:
    """Tick of the control unit's timebase, from a run's document."""
    settings = document["config"]["settings"]
    return int(settings["control.tick_cycles"] * settings["platform.control_clock_ps"])


def marks(run: TraceResult, tick: int) -> list[Mark]:
    """The control unit's decisions, in order; none without one.

    Parameters
    ----------
    run : TraceResult
        With details.
    tick : int
        ps, of the unit's timebase, which the recording counts in: times are right to one tick. Two events
        in a row are taken to be less than the timebase's whole range apart.
    """
    found = []
    for at, step in _timed(run, tick):
        assert run.recording is not None
        for decision in run.recording.steps[step].decisions:
            tokens = getattr(decision, "tokens", ())
            position = getattr(decision, "position", None)
            found.append(Mark(at, type(decision).__name__.lower(), position, len(tokens)))
    return found


def levels(run: TraceResult, tick: int) -> list[tuple[int, int]]:
    """Tokens in the queue from each time (ps) on at which that changes; parameters as :func:`marks`."""
    found: dict[int, int] = {}
    for at, step in _timed(run, tick):
        found[at] = run.queued[step]
    changes: list[tuple[int, int]] = []
    for at, queued in found.items():
        if not changes or changes[-1][1] != queued:
            changes.append((at, queued))
    return changes


def _timed(run: TraceResult, tick: int) -> Iterator[tuple[int, int]]:
    """Time (ps) and number of each step of the recording."""
    steps = [] if run.recording is None else run.recording.steps
    now = steps[0].at if steps else 0
    for number, step in enumerate(steps):
        now += (step.at - now) % TIME_LIMIT
        yield now * tick, number


def bins(track: Track, edges: Sequence[int]) -> list[dict[str, int]]:
    """For each interval between two ``edges`` (ps, rising) the time spent on each kind."""
    found = [dict.fromkeys(KINDS, 0) for _ in edges[1:]]
    number = 0
    for busy in track.busy:
        while number < len(found) and edges[number + 1] <= busy.begin:
            number += 1
        reached = number
        while reached < len(found) and edges[reached] < busy.end:
            shared = min(busy.end, edges[reached + 1]) - max(busy.begin, edges[reached])
            found[reached][busy.kind] += shared
            reached += 1
    return found

"""A run in the Trace Event Format (JSON object form), which Perfetto and chrome://tracing open.

Format: "Trace Event Format" of the Catapult project. Used here: complete events (``X``) for tasks, instant
events (``i``) for decisions, counters (``C``), metadata (``M``). ``ts`` and ``dur`` are microseconds.
"""

from __future__ import annotations

import json
from typing import Any

from ahasd.sim.result import TraceResult
from ahasd.sim.tracks import Busy, Mark, levels, marks, tick_ps, tracks

__all__ = ["trace_text"]

PROCESS = 1
"""All tracks are threads of one process."""
CONTROL = "control unit"
QUEUE = "queued tokens"
PS_PER_US = 10**6


def trace_text(run: TraceResult, document: dict[str, Any]) -> str:
    """The file, an event a line.

    Parameters
    ----------
    run : TraceResult
        With details.
    document : dict
        Of this run (:meth:`ahasd.sim.result.Result.to_dict`).
    """
    tick = tick_ps(document)
    events = [_metadata("process_name", 0, name=f"{document['system']}, {run.name}")]
    threads = [(track.name, [_task(busy) for busy in track.busy]) for track in tracks(run)]
    if run.recording is not None:
        threads.append((CONTROL, [_decision(mark) for mark in marks(run, tick)]))
    for thread, (name, found) in enumerate(threads, 1):
        events.append(_metadata("thread_name", thread, name=name))
        events.append(_metadata("thread_sort_index", thread, sort_index=thread))
        events += [{**event, "pid": PROCESS, "tid": thread} for event in found]
    events += [
        {"name": QUEUE, "ph": "C", "ts": at / PS_PER_US, "pid": PROCESS, "args": {"tokens": queued}}
        for at, queued in levels(run, tick)
    ]
    about = {key: document[key] for key in ("system", "tokens", "time_ps")}
    about |= {key: document["config"][key] for key in ("pair", "policy", "trace", "version")}
    lines = ",\n".join(json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in events)
    head = json.dumps(about, ensure_ascii=False)
    return f'{{"displayTimeUnit":"ms",\n"otherData":{head},\n"traceEvents":[\n{lines}\n]}}\n'


def _metadata(kind: str, thread: int, **args: str | int) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": PROCESS, "tid": thread, "args": args}


def _task(busy: Busy) -> dict[str, Any]:
    span = busy.span
    args: dict[str, Any] = {"tokens": span.tokens}
    if span.what != "draft":
        args["accepted" if span.what == "verify" else "passed"] = span.good
    if span.aborted:
        args["aborted"] = True
    if span.what == "verify" and span.end is not None:
        args["blocked_us"] = (span.length(span.end) - span.work) / PS_PER_US
        args["wasted_us"] = span.wasted / PS_PER_US
    return {
        "name": span.what,
        "cat": busy.kind,
        "ph": "X",
        "ts": busy.begin / PS_PER_US,
        "dur": (busy.end - busy.begin) / PS_PER_US,
        "args": args,
    }


def _decision(mark: Mark) -> dict[str, Any]:
    args = {"tokens": mark.tokens}
    if mark.position is not None:
        args["position"] = mark.position
    return {
        "name": mark.kind,
        "cat": "decision",
        "ph": "i",
        "s": "t",
        "ts": mark.at / PS_PER_US,
        "args": args,
    }

"""A run for the eye: summary, timeline, text with the drafts that came to nothing. Plain data, no colours."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

from ahasd.sim.devices import DEVICES
from ahasd.sim.result import Result, TraceResult
from ahasd.sim.spans import Span

__all__ = ["Kind", "Row", "segments", "summary", "timeline"]


class Row(NamedTuple):
    """A line of the summary."""

    group: str
    name: str
    value: str


def summary(result: Result) -> list[Row]:
    """The run's figures in words; what does not apply is left out."""
    return rows_of(result.to_dict())


def rows_of(d: dict[str, Any]) -> list[Row]:
    """As :func:`summary`, from a run's document."""
    rows = [
        Row("run", "system", d["system"]),
        Row("run", "engine", d["engine"]["name"] if d["engine"] else "none (no control unit)"),
        Row("run", "models", d["config"]["pair"]),
        Row("run", "policy", d["config"]["policy"]),
        Row("run", "trace", d["trace"]["name"]),
        Row("speed", "tokens", f"{d['tokens']} (each the target model's own)"),
        Row("speed", "time", _time(d["time_ps"])),
        Row("speed", "tokens/s", _number(d["tokens_per_s"])),
        Row("speed", "time to first token", _time(d["ttft_ps"])),
        Row("drafts", "drafted", str(d["drafted"])),
        Row("drafts", "committed", f"{d['committed_drafts']} ({_percent(d['useful'])} useful)"),
        Row("drafts", "verified", str(d["verified"])),
        Row("drafts", "accepted", f"{d['accepted']} ({_percent(d['acceptance'])})"),
        Row("drafts", "verifications", str(d["verifications"])),
        Row("drafts", "tokens a verification", _number(d["tokens_per_verification"])),
    ]
    for device in DEVICES:
        times: dict[str, int] | None = d[device]
        if times is None:
            continue
        whole = sum(times.values())
        rows += [
            Row(device.upper(), name.removesuffix("_ps"), f"{_time(ps)} ({_percent(ps / whole)})")
            for name, ps in times.items()
        ]
    if d["edc"]:
        edc = d["edc"]
        rows += [
            Row("EDC", "predictions", str(edc["predictions"])),
            Row("EDC", "suppressed", str(edc["suppressed"])),
            Row("EDC", "accuracy", _percent(edc["accuracy"])),
        ]
    if d["tvc"]:
        tvc = d["tvc"]
        rows += [
            Row("TVC", "decisions", str(tvc["decisions"])),
            Row("TVC", "pre-verified", f"{tvc['preverified']} right, {tvc['fixes']} mended"),
            Row("TVC", "predicted / actual", _number(tvc["predicted_vs_actual"]["ratio"])),
            Row("TVC", "NPU idle caused", _time(tvc["npu_idle_caused_ps"])),
        ]
    rows += _energy(d["energy"])
    if d["engine"]:
        rows.append(Row("unit", "cycles", f"{d['engine']['cycles']} clocked"))
        for name, cycles in d["engine"]["latency_cycles"].items():
            if name.endswith((".draft", ".preverify", ".verify")):
                span = f"{cycles['min']}..{cycles['max']}"
                rows.append(Row("unit", name.replace(".", " "), f"{span} cycles ({cycles['count']} times)"))
    rows.append(Row("", "simulated in", f"{d['wall']['seconds']:.1f} s"))
    return rows


def _energy(energy: dict[str, Any]) -> list[Row]:
    """Joules a token with both ends, and by component; those that come to nothing are left out."""
    ends = " .. ".join(_joules(energy[end]["per_token_j"]) for end in ("low", "high"))
    shares = [(name, joules, joules / energy["total_j"]) for name, joules in energy["components"].items()]
    return [
        Row("energy", "a token", f"{_joules(energy['per_token_j'])} ({ends})"),
        Row("energy", "total", _joules(energy["total_j"])),
        *(
            Row("energy", name.replace("_", " "), f"{_joules(joules)} ({_percent(share)})")
            for name, joules, share in shares
            if joules
        ),
        Row("energy", "prefill, apart", _joules(energy["prefill_j"])),
    ]


def _joules(value: float) -> str:
    for unit, size in (("kJ", 1e3), ("J", 1.0), ("mJ", 1e-3), ("uJ", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} nJ"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _time(ps: float) -> str:
    for unit, size in (("s", 10**12), ("ms", 10**9), ("us", 10**6)):
        if ps >= size:
            return f"{ps / size:.3f} {unit}"
    return f"{ps / 1000:.0f} ns" if ps else "0"


def timeline(run: TraceResult, count: int = 20) -> list[str]:
    """The first ``count`` verifications, a line each, with what the PIM did in the meantime."""
    drafter = "drafting" if run.tally.pim is None else "PIM"
    lines = [f"    start ms  verification                     {drafter} meanwhile"]
    begins = [span.begin for span in run.pim_spans]
    for span in run.npu_spans[:count]:
        end = run.tally.time_ps if span.end is None else span.end
        length = (end - span.begin) / 1e9
        what = f"{span.tokens:2d} issued {span.good:2d} accepted {length:7.1f} ms"
        first = max(0, bisect.bisect_right(begins, span.begin) - 1)
        meanwhile = ", ".join(
            _pim(task)
            for task in run.pim_spans[first:]
            if task.begin < end and (task.end is None or task.end > span.begin)
        )
        lines.append(f"{span.begin / 1e9:12.3f}  {what}  {meanwhile or 'idle'}")
    return lines


def _pim(task: Span) -> str:
    stopped = " (aborted)" if task.aborted else ""
    if task.what == "draft":
        return f"draft {task.tokens}{stopped}"
    return f"pre-verify {task.good}/{task.tokens}{stopped}"


class Kind(Enum):
    """What became of a piece of text."""

    COMMITTED = "committed"
    REFUTED = "refuted"
    """A draft that the target model judged wrong, or that hung on one."""


def segments(run: TraceResult) -> Iterator[tuple[Kind, str]]:
    """The committed text with the drafts that were dropped, each before the token that took its place."""
    drops = sorted(run.dropped, key=lambda drop: drop.position)
    done = 0
    for drop in drops:
        if drop.position > done:
            yield Kind.COMMITTED, _text(run, run.committed[done : drop.position])
            done = drop.position
        yield Kind.REFUTED, _text(run, list(drop.tokens))
    yield Kind.COMMITTED, _text(run, run.committed[done:])


def _text(run: TraceResult, tokens: list[int]) -> str:
    """Text that is safe to print: control characters are shown as a replacement."""
    assert run.trace is not None, "the text needs a run with details"
    text = run.trace.text(tokens)
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)

"""Sums over a run, and the figures that follow from them. Keys and units: docs/run-json.md."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from ahasd.models.energy import Activity, Machine
from ahasd.sim.devices import Sums
from ahasd.sim.energy import energy_figures
from ahasd.sim.observer import Latency, Observer
from ahasd.sim.spans import overlap
from ahasd.sim.systems.assembly import Assembly

__all__ = ["Tally", "figures", "latency_figures", "tally"]


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What can be added up over runs. Times in ps."""

    runs: int = 1
    tokens: int
    time_ps: int
    ttft_ps: int
    prefill_ps: int
    prefill: Activity
    """What the prompt took."""
    work: Activity
    """What decoding took."""
    drafted: int
    committed_drafts: int
    verified: int
    accepted: int
    verifications: int
    npu: Sums | None
    pim: Sums | None
    gpu: Sums | None
    edc: Sums | None = None
    tvc: Sums | None = None
    counters: Sums | None = None
    latency: dict[str, Latency] = field(default_factory=dict)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            **{f.name: _add(getattr(self, f.name), getattr(other, f.name)) for f in dataclasses.fields(self)}
        )


def _add(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return None
    if isinstance(a, dict):
        return {
            key: _add(a[key], b[key]) if key in a and key in b else a.get(key, b.get(key))
            for key in {**a, **b}
        }
    return a + b


def tally(system: Assembly, prefill_ps: int, prefill: Activity, tick_ps: int) -> Tally:
    """The sums of a system that has run."""
    now = int(system.env.now)
    devices = system.devices(system.pim.spans, system.npu.spans, now)
    observer, pim, npu, host = system.observer, system.pim, system.npu, system.host
    if observer is None:
        books = system.scheduler
        assert books is not None, "without a control unit a host scheduler keeps the books"
        committed_drafts = books.committed_drafts
        in_flight = pim.drafted - pim.wasted - books.decided
    else:
        committed_drafts = observer.books.committed_drafts
        taken = observer.counters["tokens"] + observer.counters["stale"]
        in_flight = observer.queued_drafts + pim.drafted - pim.wasted - taken
    return Tally(
        tokens=len(host.committed),
        time_ps=now,
        ttft_ps=prefill_ps + (host.first_ps or 0),
        prefill_ps=prefill_ps,
        prefill=prefill,
        work=pim.meter.total + npu.meter.total,
        drafted=pim.drafted - in_flight,
        committed_drafts=committed_drafts,
        verified=sum(span.tokens for span in npu.spans),
        accepted=sum(span.good for span in npu.spans),
        verifications=len(npu.spans),
        npu=devices.get("npu"),
        pim=devices.get("pim"),
        gpu=devices.get("gpu"),
        edc=None if observer is None else _edc(observer),
        tvc=None if observer is None else _tvc(observer, system, tick_ps),
        counters=None if observer is None else observer.counters,
        latency={} if observer is None else observer.latency,
    )


def _edc(observer: Observer) -> Sums | None:
    """None if EDC is off: the predictor is trained then too, but nobody asks it."""
    if not observer.config.edc:
        return None
    counters = observer.counters
    return {
        "predictions": counters["predictions"],
        "suppressed": counters["suppressed"],
        "correct": observer.books.correct,
        "judged": counters["accepted"] + counters["rejected"],
    }


def _tvc(observer: Observer, system: Assembly, tick_ps: int) -> Sums | None:
    """None if TVC is off, or EDC, without which it is never asked."""
    if not (observer.config.edc and observer.config.tvc):
        return None
    now = int(system.env.now)
    looks = [(look.predicted, look.actual) for look in observer.looks if look.actual is not None]
    preverifying = [span for span in system.pim.spans if span.what == "preverify"]
    waiting = sum(span.length(now) for span in preverifying) - overlap(system.npu.spans, preverifying, now)
    return {
        "decisions": len(observer.looks),
        "preverified": observer.counters["preverified"],
        "fixes": observer.counters["fixes"],
        "samples": len(looks),
        "predicted_ps": tick_ps * sum(predicted for predicted, _ in looks),
        "actual_ps": tick_ps * sum(actual for _, actual in looks),
        "abs_error_ps": tick_ps * sum(abs(predicted - actual) for predicted, actual in looks),
        "npu_idle_caused_ps": waiting,
    }


# What follows from the sums.


def _ratio(part: float, whole: float) -> float | None:
    """None where there is nothing to divide by."""
    return part / whole if whole else None


def figures(sums: Tally, machine: Machine) -> dict[str, Any]:
    """Everything of a run's document that is measured."""
    return {
        "tokens": sums.tokens,
        "lossless": True,
        "time_ps": sums.time_ps,
        "tokens_per_s": _ratio(sums.tokens * 10**12, sums.time_ps),
        "ttft_ps": sums.ttft_ps // sums.runs,
        "prefill_ps": sums.prefill_ps // sums.runs,
        "drafted": sums.drafted,
        "committed_drafts": sums.committed_drafts,
        "useful": _ratio(sums.committed_drafts, sums.drafted),
        "verified": sums.verified,
        "accepted": sums.accepted,
        "acceptance": _ratio(sums.accepted, sums.verified),
        "verifications": sums.verifications,
        "tokens_per_verification": _ratio(sums.tokens, sums.verifications),
        "npu": sums.npu,
        "pim": sums.pim,
        "gpu": sums.gpu,
        "edc": None if sums.edc is None else _edc_figures(sums.edc),
        "tvc": None if sums.tvc is None else _tvc_figures(sums.tvc),
        "counters": sums.counters,
        "energy": energy_figures(
            machine, sums.work, sums.time_ps, sums.tokens, sums.prefill, sums.prefill_ps
        ),
    }


def _edc_figures(sums: Sums) -> dict[str, Any]:
    kept = {key: sums[key] for key in ("predictions", "suppressed", "correct")}
    return {**kept, "accuracy": _ratio(sums["correct"], sums["judged"])}


def _tvc_figures(sums: Sums) -> dict[str, Any]:
    samples = sums["samples"]
    return {
        **{key: sums[key] for key in ("decisions", "preverified", "fixes")},
        "predicted_vs_actual": {
            "samples": samples,
            "predicted_ps": _ratio(sums["predicted_ps"], samples),
            "actual_ps": _ratio(sums["actual_ps"], samples),
            "mean_abs_error_ps": _ratio(sums["abs_error_ps"], samples),
            "ratio": _ratio(sums["predicted_ps"], sums["actual_ps"]),
        },
        "npu_idle_caused_ps": sums["npu_idle_caused_ps"],
    }


def latency_figures(latency: dict[str, Latency]) -> dict[str, dict[str, Any]]:
    """Cycles from an event's acceptance to a decision, by event kind, path and decision."""
    return {
        name: {"count": v.count, "min": v.least, "mean": v.sum / v.count, "max": v.most}
        for name, v in sorted(latency.items())
    }

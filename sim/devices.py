"""What each device was busy with, from what drafter and verifier did. Keys: docs/run-json.md."""

from __future__ import annotations

from collections.abc import Callable

from ahasd.sim.spans import Span, total

__all__ = ["DEVICES", "DeviceTimes", "Sums", "device_times", "turns"]

Sums = dict[str, int]

DEVICES = ("npu", "pim", "gpu")

DeviceTimes = Callable[[list[Span], list[Span], int], dict[str, Sums]]
"""From the drafter's spans, the verifier's spans and the time of the end to the times of each device there
is, ps; those of a device add up to the time of the end."""


def turns(*, drafter: str | None, verifier: str) -> DeviceTimes:
    """One device drafts and one verifies, maybe the same; each of ``DEVICES``, no drafter: None.

    Raises
    ------
    ValueError
        If there is no such device.
    """
    for device in (drafter, verifier):
        if device is not None and device not in DEVICES:
            raise ValueError(f"device {device!r} must be one of {', '.join(DEVICES)}")

    def times(drafts: list[Span], verifications: list[Span], now: int) -> dict[str, Sums]:
        found = {}
        for device in DEVICES:
            if device in (drafter, verifier):
                drafting = _drafting(drafts, now) if device == drafter else None
                verifying = _verifying(verifications, now) if device == verifier else None
                found[device] = _TIMES[device](drafting, verifying, now)
        return found

    return times


def device_times(device: str, *, draft: int, verify: int, wasted: int, now: int) -> Sums:
    """Times of a device that has drafted for ``draft`` and verified for ``verify`` ps, ``wasted`` of it."""
    drafting = {"draft_ps": draft, "preverify_ps": 0, "aborted_ps": 0}
    verifying = {"useful": verify - wasted, "blocked": 0, "wasted": wasted}
    return _TIMES[device](drafting, verifying, now)


def _drafting(spans: list[Span], now: int) -> Sums:
    return {
        "draft_ps": total(spans, now, "draft"),
        "preverify_ps": total(spans, now, "preverify"),
        "aborted_ps": total(spans, now, "draft", True) + total(spans, now, "preverify", True),
    }


def _verifying(spans: list[Span], now: int) -> Sums:
    lengths = sum(span.length(now) for span in spans)
    work = sum(span.work for span in spans)
    wasted = sum(span.wasted for span in spans)
    return {"useful": work - wasted, "blocked": lengths - work, "wasted": wasted}


def _busy(*works: Sums | None) -> int:
    return sum(sum(work.values()) for work in works if work is not None)


def _npu(drafting: Sums | None, verifying: Sums | None, now: int) -> Sums:
    """``draft_ps`` only where it drafts."""
    verify = verifying or {"useful": 0, "blocked": 0, "wasted": 0}
    return {
        **({} if drafting is None else {"draft_ps": _busy(drafting)}),
        "busy_ps": verify["useful"],
        "idle_ps": now - _busy(drafting, verify),
        "blocked_ps": verify["blocked"],
        "wasted_ps": verify["wasted"],
    }


def _pim(drafting: Sums | None, verifying: Sums | None, now: int) -> Sums:
    """``verify_ps`` and ``wasted_ps`` only where it verifies."""
    out = dict(drafting or {"draft_ps": 0, "preverify_ps": 0, "aborted_ps": 0})
    if verifying is not None:
        out |= {"verify_ps": verifying["useful"], "wasted_ps": verifying["wasted"]}
    return {**out, "idle_ps": now - _busy(drafting, verifying)}


def _gpu(drafting: Sums | None, verifying: Sums | None, now: int) -> Sums:
    busy = _busy(drafting, verifying)
    return {"busy_ps": busy, "idle_ps": now - busy}


_TIMES: dict[str, Callable[[Sums | None, Sums | None, int], Sums]] = {"npu": _npu, "pim": _pim, "gpu": _gpu}

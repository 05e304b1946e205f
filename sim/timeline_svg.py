"""A run's tracks as SVG: a strip of the whole run, and a part of it task by task."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ahasd.sim.tracks import DECISIONS, KINDS, Busy, Mark, Track, bins

__all__ = ["BINS", "COLOURS", "detail", "strip"]

BINS = 240
"""Equal parts of the run in the strip."""
COLOURS = {"verify": "#3568a8", "draft": "#4a9a62", "preverify": "#d9952b", "aborted": "#c0504d"}
_DECISION_COLOURS = {**COLOURS, "commit": "#222", "abort": COLOURS["aborted"]}
LEFT = 110
"""Room for names, pixels; so are all lengths here."""
RIGHT = 30
"""For half of the axis's last number."""
LANE, GAP = 40, 10
ROW = 12
"""Of a kind of decision."""
BAR = 4
"""Of a part of the run in the strip."""
A_VERIFICATION = 60
"""Mean length of a verification's turn in the detail."""
AXIS = 24
TICKS = 10
"""At least so many on a short axis."""
A_TICK = 120
"""Of a long axis, at least."""


def strip(tracks: Sequence[Track], end: int) -> str:
    """What share of each part of the run, which took ``end`` ps, each track was busy with what."""
    edges = [end * number // BINS for number in range(BINS + 1)]
    parts, top = [], 0
    for track in tracks:
        parts.append(_name(track.name, top + LANE / 2))
        parts.append(_rect(LEFT, top, BINS * BAR, LANE, "#f2f2f2"))
        for number, shares in enumerate(bins(track, edges)):
            whole = max(1, edges[number + 1] - edges[number])
            bottom = float(top + LANE)
            for kind in KINDS:
                height = LANE * shares[kind] / whole
                bottom -= height
                if shares[kind]:
                    parts.append(_rect(LEFT + number * BAR, bottom, BAR, height, COLOURS[kind]))
        top += LANE + GAP
    parts += _axis(end, BINS * BAR, top)
    return _svg(LEFT + BINS * BAR + RIGHT, top + AXIS, parts)


def detail(
    tracks: Sequence[Track],
    decisions: Sequence[Mark] | None,
    queue: Sequence[tuple[int, int]],
    until: int,
    verifications: int,
) -> str:
    """Tasks and decisions from the start until ``until`` ps.

    Parameters
    ----------
    tracks : sequence of Track
    decisions : sequence of Mark, optional
        Of the control unit, a row for each kind; None without one.
    queue : sequence of (int, int)
        Queued tokens from each time on; empty without a control unit.
    until : int
        End of what is shown, ps.
    verifications : int
        In that time; they set the width.
    """
    width = max(BINS * BAR, A_VERIFICATION * verifications)
    scale = width / until
    parts, top = [], 0
    for track in tracks:
        parts.append(_name(track.name, top + LANE / 2))
        parts.append(_rect(LEFT, top, width, LANE, "#f2f2f2"))
        for busy in track.busy:
            if busy.begin < until:
                length = (min(busy.end, until) - busy.begin) * scale
                colour = COLOURS[busy.kind]
                parts.append(_rect(LEFT + busy.begin * scale, top, length, LANE, colour, _told(busy)))
        top += LANE + GAP
    if decisions is not None:
        for kind in DECISIONS:
            parts.append(_name(f"unit: {kind}", top + ROW / 2))
            path = "".join(
                f"M{LEFT + mark.at * scale:.1f} {top}v{ROW - 2}"
                for mark in decisions
                if mark.kind == kind and mark.at <= until
            )
            parts.append(f'<path class="{kind}" d="{path}" stroke="{_DECISION_COLOURS[kind]}" fill="none"/>')
            top += ROW
        top += GAP
        parts += _queue([(at, queued) for at, queued in queue if at <= until], scale, width, top)
        top += LANE + GAP
    parts += _axis(until, width, top)
    return _svg(LEFT + width + RIGHT, top + AXIS, parts)


def _queue(queue: Sequence[tuple[int, int]], scale: float, width: int, top: int) -> list[str]:
    most = max((queued for _, queued in queue), default=0)
    unit = LANE / max(1, most)
    path = f"M{LEFT} {top + LANE}"
    for at, queued in queue:
        path += f"H{LEFT + at * scale:.1f}V{top + LANE - queued * unit:.1f}"
    name = _name(f"queue (0..{most})", top + LANE / 2)
    return [name, f'<path d="{path}H{LEFT + width}" stroke="#666" fill="none"/>']


def _told(busy: Busy) -> str:
    span = busy.span
    times = f"{busy.begin / 1e9:.3f} to {busy.end / 1e9:.3f} ms"
    match span.what:
        case "verify":
            blocked = (span.length(busy.end) - span.work) / 1e9 if span.end is not None else 0.0
            what = f"verification: {span.tokens} issued, {span.good} accepted, {blocked:.3f} ms blocked"
        case "preverify":
            what = f"pre-verification: {span.good} of {span.tokens} passed"
        case _:
            what = f"draft: {span.tokens} made"
    return f"{what}{', aborted' if span.aborted else ''}, {times}"


def _axis(end: int, width: int, top: int) -> list[str]:
    """Milliseconds, at round steps."""
    wanted = end / 1e9 / max(TICKS, width // A_TICK)
    step = 10.0**-3
    factors = (2, 2.5, 2)  # 1, 2, 5, 10, ...
    number = 0
    while step < wanted:
        step *= factors[number % len(factors)]
        number += 1
    parts = []
    for count in range(int(end / 1e9 / step) + 1):
        x = LEFT + count * step * 1e9 * width / end
        parts.append(f'<path d="M{x:.1f} {top}v4" stroke="#222"/>')
        parts.append(f'<text x="{x:.1f}" y="{top + 15}" text-anchor="middle">{count * step:.10g}</text>')
    return [*parts, f'<text x="{LEFT - 8}" y="{top + 15}" text-anchor="end">ms</text>']


def _name(name: str, middle: float) -> str:
    return f'<text x="{LEFT - 8}" y="{middle + 4:g}" text-anchor="end">{escape(name)}</text>'


def _rect(x: float, y: float, width: float, height: float, colour: str, told: str = "") -> str:
    shape = f'x="{x:.1f}" y="{y:.1f}" width="{width:.2f}" height="{height:.1f}" fill="{colour}"'
    if not told:
        return f"<rect {shape}/>"
    # Tasks that follow each other at once are kept apart by their edges.
    return f'<rect {shape} stroke="#fff" stroke-width="0.6"><title>{escape(told)}</title></rect>'


def _svg(width: int, height: int, parts: Sequence[str]) -> str:
    head = f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-size="11">'
    return "\n".join([head, *parts, "</svg>"])

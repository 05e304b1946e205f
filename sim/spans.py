"""What PIM and NPU did when: the raw material of busy times, timelines and reports."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Span", "overlap", "total"]


@dataclass(slots=True)
class Span:
    """One task. Times in ps; ``end`` is None while it runs."""

    what: str
    """``draft``, ``preverify`` or ``verify``."""
    begin: int
    end: int | None = None
    tokens: int = 0
    """Drafted so far, to be pre-verified, or issued to the NPU."""
    good: int = 0
    """Tokens passed or accepted."""
    aborted: bool = False
    work: int = 0
    """Time the task would have taken alone (NPU: without contention)."""
    wasted: int = 0
    """Part of ``work`` that went into tokens which were not accepted."""

    def length(self, now: int) -> int:
        """Duration until its end or ``now``."""
        return min(now, now if self.end is None else self.end) - self.begin


def total(spans: list[Span], now: int, what: str, aborted: bool = False) -> int:
    """Time spent on tasks of one kind until ``now``."""
    return sum(span.length(now) for span in spans if span.what == what and span.aborted == aborted)


def overlap(a: list[Span], b: list[Span], now: int) -> int:
    """Time during which a span of ``a`` and one of ``b`` run; each list in order and free of overlaps."""
    shared = i = j = 0
    while i < len(a) and j < len(b):
        ends = [now if s.end is None else s.end for s in (a[i], b[j])]
        shared += max(0, min(ends) - max(a[i].begin, b[j].begin))
        if ends[0] <= ends[1]:
            i += 1
        else:
            j += 1
    return shared

"""What a reduction has gathered so far, and how two of them become one."""

from __future__ import annotations

from dataclasses import dataclass

from ahasd.models.attention.formats import DEAD, LOWEST_REFERENCE

__all__ = ["State"]


@dataclass(frozen=True, kw_only=True)
class State:
    """A reduction's state: also what ranks exchange.

    With t = x log2(e): ``reference`` R is an integer above all t, so that rescaling is a shift.
    Reductions other than softmax keep R at its lowest value and ``first``, ``second`` are sums of x, x^2.
    """

    maximum: int = -(1 << 15)
    index: int = (1 << 18) - 1
    """Of the maximum, the first if there are more."""
    count: int = 0
    reference: int = LOWEST_REFERENCE
    first: int = 0
    """Sum of 2^(t - R), 32 fraction bits."""
    second: int = 0
    """Sum of (R - t) 2^(t - R), 32 fraction bits."""

    def merged(self, other: State) -> State:
        """Both together; each shift rounds down, so the order may matter in the last bit."""
        low, high = (other, self) if other.reference <= self.reference else (self, other)
        step = min(DEAD, high.reference - low.reference)
        theirs = (-other.maximum, other.index) < (-self.maximum, self.index)
        return State(
            maximum=other.maximum if theirs else self.maximum,
            index=other.index if theirs else self.index,
            count=self.count + other.count,
            reference=high.reference,
            first=(low.first >> step) + high.first,
            second=(low.second >> step) + ((step * low.first) >> step) + high.second,
        )

"""Tables of functions that fall over [0, 1): 64 segments, straight lines between exact ends.

Values have 15 fraction bits. A line is off by at most (1/64)^2 / 8 x max |f''|, its ends and slope by half a
unit each: ``ERRORS`` are the sums of these bounds, tests hold the tables to them.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ahasd.models.attention.formats import POSITION_BITS, SEGMENT_BITS, UNIT_FRACTION

__all__ = ["ERRORS", "FUNCTIONS", "GATE_REACH", "Function", "Segments", "interpolate", "segments"]

GATE_REACH = 8.0
"""Where sigmoid and normal distribution count as 0 and 1."""


class Function(enum.IntEnum):
    """A tabulated function of v in [0, 1)."""

    EXPONENTIAL = 0
    """2^-v."""
    SIGMOID = 1
    """1 / (1 + e^(8v))."""
    NORMAL = 2
    """Phi(-8v), the normal distribution."""
    RECIPROCAL = 3
    """1 / (1 + v)."""
    LOGARITHM = 4
    """1 - log2(1 + v)."""
    ROOT_EVEN = 5
    """1 / sqrt(1 + v)."""
    ROOT_ODD = 6
    """1 / sqrt(2 + 2v)."""


FUNCTIONS: dict[Function, Callable[[float], float]] = {
    Function.EXPONENTIAL: lambda v: math.pow(2.0, -v),
    Function.SIGMOID: lambda v: 1 / (1 + math.exp(GATE_REACH * v)) if v < 1 else 0.0,
    Function.NORMAL: lambda v: math.erfc(GATE_REACH * v / math.sqrt(2)) / 2 if v < 1 else 0.0,
    Function.RECIPROCAL: lambda v: 1 / (1 + v),
    Function.LOGARITHM: lambda v: 1 - math.log2(1 + v),
    Function.ROOT_EVEN: lambda v: 1 / math.sqrt(1 + v),
    Function.ROOT_ODD: lambda v: 1 / math.sqrt(2 + 2 * v),
}
"""The two gates end at exactly 0, so that what is beyond their reach is cut off without a step."""

CURVATURES = {
    Function.EXPONENTIAL: math.log(2) ** 2,
    Function.SIGMOID: GATE_REACH**2 * math.sqrt(3) / 18,
    Function.NORMAL: GATE_REACH**2 * math.exp(-0.5) / math.sqrt(2 * math.pi),
    Function.RECIPROCAL: 2.0,
    Function.LOGARITHM: 1 / math.log(2),
    Function.ROOT_EVEN: 0.75,
    Function.ROOT_ODD: 0.75 / math.sqrt(2),
}
"""Largest |f''| over [0, 1]."""

_ROUNDINGS = 1.0
"""Units of 2^-15: half of an interpolated end, half of the interpolation."""
ERRORS = {
    function: curvature / (8 * 4**SEGMENT_BITS)
    + _ROUNDINGS / (1 << UNIT_FRACTION)
    + (FUNCTIONS[Function.SIGMOID](1 - 1e-9) if function is Function.SIGMOID else 0)  # the cut at its reach
    for function, curvature in CURVATURES.items()
}
"""Largest distance of the interpolated table from the function."""


class Segments(NamedTuple):
    """A function's table."""

    values: tuple[int, ...]
    """At the beginning of each segment, 15 fraction bits, 16 bits."""
    drops: tuple[int, ...]
    """How far the function falls over each segment."""


@cache
def segments(function: Function) -> Segments:
    """The table of ``function``."""
    count = 1 << SEGMENT_BITS
    ends = [round(FUNCTIONS[function](k / count) * (1 << UNIT_FRACTION)) for k in range(count + 1)]
    return Segments(tuple(ends[:-1]), tuple(a - b for a, b in itertools.pairwise(ends)))


def interpolate(function: Function, position: Any) -> Any:
    """The table at ``position`` / 2^14 (int64 array): 15 fraction bits, from 0 to 2^15."""
    table = segments(function)
    rest_bits = POSITION_BITS - SEGMENT_BITS
    segment, rest = position >> rest_bits, position & ((1 << rest_bits) - 1)
    drop = np.asarray(table.drops, dtype=np.int64)[segment] * rest
    return np.asarray(table.values, dtype=np.int64)[segment] - ((drop + (1 << rest_bits - 1)) >> rest_bits)

"""The lanes' arithmetic on whole vectors of int64: what every lane does with its element, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ahasd.models.attention.formats import (
    COARSE_STEP,
    DEAD,
    FACTOR_BITS,
    POSITION_BITS,
    PRODUCT_GUARD,
    SCALED_BITS,
    TERM_FRACTION,
    TERM_GUARD,
    UNIT_FRACTION,
)
from ahasd.models.attention.tables import Function, interpolate

__all__ = [
    "Integers",
    "Scaling",
    "distances",
    "exponentials",
    "gate",
    "output",
    "scaled",
    "terms",
    "windowed",
]

Integers = NDArray[np.int64]

CARRY_BITS = 16
"""A distance on its way to the product: 5 integer and 11 fraction bits."""
CARRY_SHIFT = 3


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """A pass's settings of the lanes: z = ((x - pivot) factor 2^8 + bias) >> shift, then >> final."""

    factor: int
    shift: int
    bias: int = 0
    pivot: int = 0
    final: int = 0
    """Right shift of the second product, 6 guard bits included; a lane's own shift is added."""

    @classmethod
    def rounded(cls, *, factor: int, shift: int, offset: int = 0, pivot: int = 0, final: int = 0) -> Scaling:
        """With a bias that subtracts ``offset`` and rounds to nearest."""
        half = 1 << shift - 1 if shift else 0
        return cls(factor=factor, shift=shift, bias=half - offset, pivot=pivot, final=final)


def _saturated(value: Any, bits: int) -> Any:
    return np.clip(value, -(1 << bits - 1), (1 << bits - 1) - 1)


def scaled(x: Integers, scaling: Scaling) -> Integers:
    """The shifted first product."""
    product = (x - scaling.pivot) * scaling.factor << PRODUCT_GUARD
    return np.asarray(_saturated(product + scaling.bias >> scaling.shift, SCALED_BITS))


def distances(z: Integers, reference: Any) -> Integers:
    """R - t of each element, 14 fraction bits."""
    return np.asarray((np.asarray(reference, dtype=np.int64) << POSITION_BITS) - z)


def exponentials(distance: Integers) -> tuple[Integers, Integers]:
    """2^-distance as mantissa (15 fraction bits) and right shift."""
    mantissa = interpolate(Function.EXPONENTIAL, distance & ((1 << POSITION_BITS) - 1))
    return mantissa, np.minimum(distance >> POSITION_BITS, DEAD)


def terms(distance: Integers) -> tuple[Integers, Integers]:
    """What an element adds to the sums: 2^-d and d 2^-d, 32 fraction bits, rounded down."""
    mantissa, shift = exponentials(distance)
    carry = np.minimum(distance >> CARRY_SHIFT, (1 << CARRY_BITS) - 1)
    return mantissa << TERM_FRACTION - UNIT_FRACTION >> shift, mantissa * carry << TERM_GUARD >> shift


def gate(z: Integers, function: Function) -> Integers:
    """Sigmoid or normal distribution of z / 2^11, 15 fraction bits."""
    tail = interpolate(function, np.minimum(abs(z), (1 << POSITION_BITS) - 1))
    return np.asarray(np.where(z < 0, tail, (1 << UNIT_FRACTION) - tail))


def windowed(z: Integers) -> tuple[Integers, Integers]:
    """z as a factor of 17 bits, and the right shift that its product needs: large ones lose 7 low bits."""
    fine = _saturated(z, FACTOR_BITS) == z
    factor = np.where(fine, z, _saturated(z >> COARSE_STEP, FACTOR_BITS))
    return factor, np.where(fine, COARSE_STEP, 0)


def output(product: Integers, shift: Any, offset: Any = 0) -> NDArray[np.int16]:
    """The second product shifted, rounded to nearest, with ``offset`` added, as INT16."""
    twice = product << TERM_GUARD + 1 >> np.minimum(shift, DEAD)
    return np.asarray(_saturated((twice >> 1) + (twice & 1) + offset, 16), dtype=np.int16)

"""What is worked out between the passes, once a vector: reciprocal, entropy, norm. Python integers."""

from __future__ import annotations

from ahasd.models.attention.commands import ENTROPY_STEPS, SCALE_FRACTION
from ahasd.models.attention.formats import (
    EPSILON_FRACTION,
    MEAN_FRACTION,
    NORM_FRACTION,
    NORMALISED_BITS,
    POSITION_BITS,
    PRODUCT_GUARD,
    TERM_FRACTION,
    TERM_GUARD,
    UNIT_FRACTION,
)
from ahasd.models.attention.lanes import Scaling
from ahasd.models.attention.state import State
from ahasd.models.attention.tables import Function, interpolate

__all__ = ["DROPPED", "entropy", "norm_scaling", "reciprocal"]

DROPPED = 20
"""Low bits of sum x reciprocal that the normaliser's register has no room for."""


def _normalised(value: int) -> tuple[int, int]:
    """``value`` = (1 + v) 2^k: v with 14 bits, rounded down, and k; positive."""
    top = value.bit_length() - 1
    return (value << POSITION_BITS >> top) & ((1 << POSITION_BITS) - 1), top


def reciprocal(state: State) -> tuple[int, int]:
    """1 / sum of exponentials: a factor with 15 fraction bits, and the softmax's last right shift."""
    position, top = _normalised(state.first)
    factor = int(interpolate(Function.RECIPROCAL, position))
    return factor, TERM_GUARD + UNIT_FRACTION + top - TERM_FRACTION


def entropy(state: State, scale: int) -> int:
    """log2(sum) + second / first, times ``scale``: in 1/256 of H_max, rounded down, at most 255."""
    position, top = _normalised(state.first)
    factor = int(interpolate(Function.RECIPROCAL, position))
    register = (state.second * factor >> DROPPED) << NORMALISED_BITS - 1 - top
    mean = register >> NORMALISED_BITS - 1 - DROPPED
    logarithm = (1 << UNIT_FRACTION) - int(interpolate(Function.LOGARITHM, position))
    bits = (top - TERM_FRACTION << UNIT_FRACTION) + logarithm + mean
    return min(ENTROPY_STEPS - 1, max(0, bits) * scale >> UNIT_FRACTION + SCALE_FRACTION)


def norm_scaling(state: State, epsilon: int, centred: bool, final: int) -> Scaling:
    """The lanes' settings for (x - mean) / deviation, or x / root mean square if not ``centred``.

    With n elements, P their sum and Q the sum of squares with ``epsilon``: 1/deviation = n / sqrt(n Q - P^2).
    The mean's whole part is subtracted from the element, the rest after the multiplication, times the very
    factor that was used there: nothing cancels but equal numbers.
    """
    pivot, rest = divmod(state.first, state.count) if centred else (0, 0)
    part = (rest << MEAN_FRACTION) // state.count
    spread = state.count * ((state.second << EPSILON_FRACTION) + epsilon)
    if centred:
        spread -= state.first**2 << EPSILON_FRACTION
    if spread <= 0:  # all elements are the same: x - mean is 0, whatever the factor
        return Scaling.rounded(factor=0, shift=1, pivot=pivot, final=final)
    position, top = _normalised(spread)
    half, odd = divmod(top - EPSILON_FRACTION, 2)
    root = int(interpolate(Function.ROOT_ODD if odd else Function.ROOT_EVEN, position))
    product = state.count * root
    top = product.bit_length() - 1
    factor = product << UNIT_FRACTION >> top
    shift = max(0, 2 * UNIT_FRACTION + half - top + PRODUCT_GUARD - NORM_FRACTION)
    offset = part * factor >> MEAN_FRACTION - PRODUCT_GUARD
    return Scaling.rounded(factor=factor, shift=shift, offset=offset, pivot=pivot, final=final)

"""Sizes and number formats of the attention unit, shared by golden model and RTL.

A number with ``F`` fraction bits is an integer that counts units of 2^-F. Widths are derived in
docs/attention.md for vectors of 2^18 elements: no intermediate value can overflow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ahasd.models.errors import ConfigError
from ahasd.models.settings import check, param

__all__ = [
    "BIAS_BITS",
    "COARSE_STEP",
    "DEAD",
    "DIGIT_BITS",
    "EPSILON_BITS",
    "EPSILON_FRACTION",
    "FACTOR_BITS",
    "FRACTIONS",
    "GATE_FACTOR",
    "LOG2E",
    "LOWEST_REFERENCE",
    "MEAN_FRACTION",
    "NORMALISED_BITS",
    "NORM_FRACTION",
    "ONE",
    "PARAMETER_BITS",
    "POSITION_BITS",
    "PRODUCT_GUARD",
    "REFERENCE_BITS",
    "SCALED_BITS",
    "SEGMENT_BITS",
    "SUM_BITS",
    "TERM_BITS",
    "TERM_FRACTION",
    "TERM_GUARD",
    "UNIT_FRACTION",
    "AttentionParams",
]

FRACTIONS = 15
"""Largest number of fraction bits of a vector."""
UNIT_FRACTION = 15
"""Fraction bits of numbers up to 1: table values, probabilities, mantissas; log2(e) too."""
LOG2E = round(math.log2(math.e) * (1 << UNIT_FRACTION))
GATE_FACTOR = 1 << 12
"""What elements are multiplied by where only a shift is wanted: 8 becomes one table's length."""
ONE = 1 << 14
FACTOR_BITS = 17
"""Operands of a lane's multipliers, signed: differences of elements, mantissas with a sign bit."""
PRODUCT_GUARD = 8
"""Fraction bits added to a lane's first product before a norm's offset is subtracted."""
BIAS_BITS = 40
"""What is added to the first product, signed: half a unit of a shift by at most 38, a norm's offset."""
SCALED_BITS = 32
"""A shifted first product, signed."""
POSITION_BITS = 14
"""Position within a table: also fraction bits of log2 exponents, the finest of a table's interpolation."""
SEGMENT_BITS = 6
"""The upper part of a position: which segment. The rest interpolates."""
TERM_FRACTION = 32
"""Fraction bits of exponentials in sums: 2^18 lost units are 2^-14."""
TERM_BITS = 33
"""An exponential of at most 1, or a product, on its way to a sum."""
TERM_GUARD = 6
"""Fraction bits added to a lane's second product: exponential x distance becomes a term."""
SUM_BITS = 52
"""Sums of 2^18 terms, signed."""
REFERENCE_BITS = 18
"""Integer above the largest log2 exponent, signed: |x| log2(e) < 47275."""
LOWEST_REFERENCE = -(1 << 16)
"""Reference of the empty state."""
DEAD = 63
"""Distance that makes an exponential vanish; the largest that is told apart."""
COARSE_STEP = 7
"""Fraction bits that a normalised element of 8 and more gives up."""
NORM_FRACTION = 13
"""Fraction bits of a normalised element below 8."""
MEAN_FRACTION = 20
"""Fraction bits of a mean; the smallest standard deviation is 2^-9."""
EPSILON_FRACTION = 8
"""Fraction bits of a sum of squares with its epsilon."""
EPSILON_BITS = 40
PARAMETER_BITS = EPSILON_BITS
NORMALISED_BITS = 80
"""Register of the normaliser; n x sum of squares needs 77 bits."""
DIGIT_BITS = 8
"""Multiplier bits a cycle of the scalar multiplier."""


@dataclass(frozen=True, kw_only=True)
class AttentionParams:
    """Sizes fixed at elaboration.

    Raises
    ------
    ConfigError
        If ``lanes`` is not a power of two in its range.
    """

    lanes: int = param(16, unit="elements a clock", low=2, high=64, source="hardware specification")
    length_bits: int = param(18, low=18, high=18, source="hardware specification: 262144 elements")

    def __post_init__(self) -> None:
        check(self)
        if self.lanes & (self.lanes - 1):
            raise ConfigError(f"lanes: {self.lanes} must be a power of two")

    @property
    def max_length(self) -> int:
        """Elements of a vector at most, over all ranks together."""
        return 1 << self.length_bits

    def beats(self, length: int) -> int:
        """Beats of a vector of ``length`` elements."""
        return -(-length // self.lanes)

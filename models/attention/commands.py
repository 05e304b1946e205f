"""What the attention unit can be told, and how software makes a command's parameter."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from ahasd.models.attention.formats import (
    EPSILON_BITS,
    EPSILON_FRACTION,
    FRACTIONS,
    PARAMETER_BITS,
    PRODUCT_GUARD,
)
from ahasd.models.errors import ConfigError
from ahasd.models.settings import check, param

__all__ = ["ENTROPY_STEPS", "SCALE_BITS", "SCALE_FRACTION", "Command", "Op", "entropy_scale", "epsilon_sum"]

ENTROPY_STEPS = 256
SCALE_FRACTION = 8
"""Fraction bits of :func:`entropy_scale`."""
SCALE_BITS = 17


class Op(enum.IntEnum):
    """An operation; of the first four, the reductions can be merged over ranks."""

    SOFTMAX = 0
    LOGITS = 1
    """Entropy, arg-max and its probability, of the softmax."""
    LAYER_NORM = 2
    RMS_NORM = 3
    GELU = 4
    """x Phi(x)."""
    SILU = 5
    """x / (1 + e^-x)."""
    SCALED_ADD = 6
    """parameter x + offset."""
    REDUCE = 7
    """Sum, sum of squares, maximum and its index."""

    @property
    def reduces(self) -> bool:
        """Has a first pass that reduces the vector."""
        return self not in (Op.GELU, Op.SILU, Op.SCALED_ADD)

    @property
    def applies(self) -> bool:
        """Has a last pass with a vector as its result."""
        return self not in (Op.LOGITS, Op.REDUCE)

    @property
    def soft(self) -> bool:
        """Works on exponentials."""
        return self in (Op.SOFTMAX, Op.LOGITS)

    @property
    def norm(self) -> bool:
        return self in (Op.LAYER_NORM, Op.RMS_NORM)

    @property
    def takes_operand(self) -> bool:
        """Its last pass takes a beat of the operand stream with each beat of elements."""
        return self.norm or self is Op.SCALED_ADD


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command. A vector is ``length`` elements, element x standing for x / 2^fraction.

    Raises
    ------
    ConfigError
        If a field is out of its range, the operation has no such pass, or the shifts do not go together.
    """

    op: Op
    length: int = param(1, unit="elements", low=1, high=1 << 18, note="in this unit's part of the vector")
    reduce: bool = True
    """Reduce the elements, from the empty state on."""
    partials: int = param(0, low=0, high=31, note="states of other units to merge after that")
    apply: bool = True
    """The elements (once more), with a vector as the result; else the state is the result."""
    first: int = param(0, unit="elements", low=0, high=(1 << 18) - 1, note="index of the first element")
    fraction: int = param(0, unit="bits", low=0, high=FRACTIONS)
    scale_fraction: int = param(0, unit="bits", low=0, high=FRACTIONS, note="of the operand or parameter")
    out_fraction: int = param(0, unit="bits", low=0, high=FRACTIONS, note="of result and offset; softmax: 15")
    parameter: int = 0
    """SCALED_ADD: the factor, INT16. LOGITS: :func:`entropy_scale`. Norms: :func:`epsilon_sum`."""

    def __post_init__(self) -> None:
        check(self)
        low, high = 0, (1 << PARAMETER_BITS) - 1
        if self.op is Op.SCALED_ADD:
            low, high = -(1 << 15), (1 << 15) - 1
        elif self.op is Op.LOGITS:
            high = (1 << SCALE_BITS) - 1
        if not low <= self.parameter <= high:
            raise ConfigError(f"parameter: {self.parameter} must be from {low} to {high} for {self.op.name}")
        if not self.op.reduces and (self.reduce or self.partials):
            raise ConfigError(f"reduce: {self.op.name} has nothing to reduce")
        if not self.op.applies and self.apply:
            raise ConfigError(f"apply: {self.op.name} has no vector as its result")
        if (
            self.op is Op.SCALED_ADD
            and self.out_fraction > self.fraction + self.scale_fraction + PRODUCT_GUARD
        ):
            raise ConfigError(
                f"out_fraction: {self.out_fraction} must be at most fraction + scale_fraction + "
                f"{PRODUCT_GUARD} = {self.fraction + self.scale_fraction + PRODUCT_GUARD}"
            )
        if self.op.norm and self.apply and self.out_fraction > self.scale_fraction + 12:
            raise ConfigError(
                f"out_fraction: {self.out_fraction} must be at most scale_fraction + 12 = "
                f"{self.scale_fraction + 12}"
            )


def entropy_scale(vocabulary: int) -> int:
    """256 / log2(``vocabulary``), the parameter of LOGITS: 8 fraction bits, 17 bits.

    Raises
    ------
    ConfigError
        If ``vocabulary`` is below 2: its largest entropy is 0.
    """
    if vocabulary < 2:
        raise ConfigError(f"vocabulary: {vocabulary} must be at least 2")
    return round(ENTROPY_STEPS * (1 << SCALE_FRACTION) / math.log2(vocabulary))


def epsilon_sum(epsilon: float, total: int, fraction: int) -> int:
    """``total`` x ``epsilon`` in squares of an element's unit: the parameter of the norms, saturated.

    Parameters
    ----------
    epsilon : float
        What is added to the variance, or the mean square.
    total : int
        Elements of the vector over all ranks.
    fraction : int
        Fraction bits of the elements.
    """
    exact = total * epsilon * float(1 << 2 * fraction + EPSILON_FRACTION)
    return min((1 << EPSILON_BITS) - 1, round(exact))

"""Multiplier for what is worked out once a vector."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.attention.formats import DIGIT_BITS, NORMALISED_BITS

__all__ = ["A_BITS", "B_DIGITS", "ScalarMultiplier"]

A_BITS = 58
"""A sum of squares with 8 fraction bits and its epsilon."""
B_DIGITS = 5
"""The size of a sum of elements."""


class ScalarMultiplier(wiring.Component):
    """``product`` = a x b, eight bits of b a cycle, the highest first; unsigned.

    ``busy`` for ``digits`` + 1 cycles after ``start``; ``product`` holds until the next ``start``.

    Members
    -------
    start : In(1)
    a : In(58)
    b : In(40)
        Its lowest ``digits`` bytes count.
    digits : In(3)
    busy : Out(1)
    product : Out(80)
    """

    start: Signal
    a: Signal
    b: Signal
    digits: Signal
    busy: Signal
    product: Signal

    def __init__(self) -> None:
        super().__init__(
            {
                "start": In(1),
                "a": In(A_BITS),
                "b": In(B_DIGITS * DIGIT_BITS),
                "digits": In(range(B_DIGITS + 1)),
                "busy": Out(1),
                "product": Out(NORMALISED_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a = Signal(A_BITS, reset_less=True)
        b = Signal.like(self.b, reset_less=True)
        left = Signal.like(self.digits)
        partial = Signal(A_BITS + DIGIT_BITS, reset_less=True)
        adding = Signal()
        aligned = Signal.like(b)
        with m.Switch(self.digits):
            for k in range(1, B_DIGITS + 1):
                with m.Case(k):
                    m.d.comb += aligned.eq(self.b << (B_DIGITS - k) * DIGIT_BITS)
        digit = b[-DIGIT_BITS:]
        m.d.comb += self.busy.eq(left.any() | adding)
        m.d.sync += [partial.eq(a * digit), adding.eq(left.any() & ~self.start)]
        with m.If(self.start):
            m.d.sync += [a.eq(self.a), b.eq(aligned), left.eq(self.digits), self.product.eq(0)]
        with m.Else():
            with m.If(left.any()):
                m.d.sync += [left.eq(left - 1), b.eq(b << DIGIT_BITS)]
            with m.If(adding):
                m.d.sync += self.product.eq((self.product << DIGIT_BITS) + partial)
        return m

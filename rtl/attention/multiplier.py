"""A lane's multiplier: two half products, then their sum."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.attention.formats import FACTOR_BITS

__all__ = ["LaneMultiplier"]

LOW_BITS = 8


class LaneMultiplier(wiring.Component):
    """Signed 17 x 17 bits in two cycles, one product a cycle.

    Members
    -------
    a, b : In(signed(17))
    product : Out(signed(34))
        Of the operands two cycles ago.
    """

    a: Signal
    b: Signal
    product: Signal

    def __init__(self) -> None:
        factor = signed(FACTOR_BITS)
        super().__init__({"a": In(factor), "b": In(factor), "product": Out(signed(2 * FACTOR_BITS))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        low = Signal(signed(FACTOR_BITS + LOW_BITS), reset_less=True)
        high = Signal(signed(2 * FACTOR_BITS - LOW_BITS), reset_less=True)
        product = Signal.like(self.product, reset_less=True)
        m.d.sync += [
            low.eq(self.a * self.b[:LOW_BITS]),
            high.eq(self.a * self.b[LOW_BITS:].as_signed()),
            product.eq(low + (high << LOW_BITS)),
        ]
        m.d.comb += self.product.eq(product)
        return m

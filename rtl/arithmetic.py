"""Serial divider and multiplier in one: 65 flip-flops of data path and one adder."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.control.params import UnitParams

__all__ = ["SerialArithmetic"]


class SerialArithmetic(wiring.Component):
    """Unsigned division (restoring) or multiplication (shift and add), one bit a cycle.

    Latency: operands are loaded at the edge of ``start``; ``busy`` is high for ``ratio_bits`` (32) cycles
    after it; results hold from then until the next ``start``. ``start`` while busy restarts.

    Members
    -------
    start : In(1)
    multiply : In(1)
        1: ``product = a * b``; 0: ``quotient = floor(a / b)``, all ones for b = 0.
    a, b : In(32)
    busy : Out(1)
    quotient : Out(32)
    product : Out(64)
    """

    start: Signal
    multiply: Signal
    a: Signal
    b: Signal
    busy: Signal
    quotient: Signal
    product: Signal

    def __init__(self, params: UnitParams) -> None:
        self._bits = params.ratio_bits
        super().__init__(
            {
                "start": In(1),
                "multiply": In(1),
                "a": In(self._bits),
                "b": In(self._bits),
                "busy": Out(1),
                "quotient": Out(self._bits),
                "product": Out(2 * self._bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self._bits
        high = Signal(bits)
        low = Signal(bits)
        operand = Signal(bits)
        multiplying = Signal()
        steps = Signal(range(bits + 1))

        # Multiply: high + (lowest multiplier bit ? operand : 0), then shift right through low.
        # Divide: shift left, then subtract the operand if it fits (carry out).
        shifted = Cat(low[-1], high)
        addend = Mux(multiplying, Mux(low[0], operand, 0), ~operand)
        left = Signal(bits + 1)
        right = Signal(bits + 1)
        total = Signal(bits + 2)
        m.d.comb += [
            left.eq(Mux(multiplying, high, shifted)),
            right.eq(Cat(addend[:bits], ~multiplying)),
            total.eq(left + right + ~multiplying),
            self.busy.eq(steps.any()),
            self.quotient.eq(low),
            self.product.eq(Cat(low, high)),
        ]
        fits = total[-1]
        with m.If(self.start):
            m.d.sync += [
                high.eq(0),
                low.eq(self.a),
                operand.eq(self.b),
                multiplying.eq(self.multiply),
                steps.eq(bits),
            ]
        with m.Elif(self.busy):
            m.d.sync += steps.eq(steps - 1)
            with m.If(multiplying):
                m.d.sync += Cat(low, high).eq(Cat(low[1:], total[: bits + 1]))
            with m.Else():
                m.d.sync += [high.eq(Mux(fits, total[:bits], shifted[:bits])), low.eq(Cat(fits, low[:-1]))]
        return m

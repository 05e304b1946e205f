"""The mean: a sum divided by a count."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.attention.formats import FACTOR_BITS, MEAN_FRACTION, AttentionParams

__all__ = ["MeanDivider"]

BITS_A_CYCLE = 2


class MeanDivider(wiring.Component):
    """floor(total / count) and 20 fraction bits, two bits a cycle: ``busy`` for 18 cycles after ``start``.

    Sound for |total| <= 2^15 count, and count from 1 on.

    Members
    -------
    start : In(1)
    total : In(signed(35))
    count : In(19)
        Stable while ``busy``.
    busy : Out(1)
    whole : Out(signed(17))
    fraction : Out(20)
    """

    start: Signal
    total: Signal
    count: Signal
    busy: Signal
    whole: Signal
    fraction: Signal

    def __init__(self, params: AttentionParams) -> None:
        self._count_bits = params.length_bits + 1
        super().__init__(
            {
                "start": In(1),
                "total": In(signed(self._count_bits + 16)),
                "count": In(self._count_bits),
                "busy": Out(1),
                "whole": Out(signed(FACTOR_BITS)),
                "fraction": Out(MEAN_FRACTION),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count_bits, whole_bits = self._count_bits, 16
        # total + 2^15 count is not negative; what is added here goes off the quotient's whole part again.
        raised = Signal(count_bits + whole_bits)
        rest = Signal(count_bits, reset_less=True)
        quotient = Signal(whole_bits + MEAN_FRACTION, reset_less=True)  # the dividend goes out as it comes in
        left = Signal(range(len(quotient) // BITS_A_CYCLE + 1))
        m.d.comb += [
            raised.eq(self.total + (self.count << whole_bits - 1)),
            self.busy.eq(left.any()),
            self.fraction.eq(quotient[:MEAN_FRACTION]),
            self.whole.eq(quotient[MEAN_FRACTION:] - (1 << whole_bits - 1)),
        ]
        rests = [rest]
        bits = []
        for k in range(BITS_A_CYCLE):
            longer = Signal(count_bits + 1, name=f"longer_{k}")
            less = Signal(count_bits + 1, name=f"less_{k}")
            fits = Signal(name=f"fits_{k}")
            after = Signal(count_bits, name=f"after_{k}")
            m.d.comb += [
                longer.eq(Cat(quotient[len(quotient) - 1 - k], rests[-1])),
                fits.eq(longer >= self.count),
                less.eq(longer - self.count),
                after.eq(Mux(fits, less, longer)),
            ]
            rests.append(after)
            bits.append(fits)
        with m.If(self.start):
            m.d.sync += [
                rest.eq(raised[whole_bits:]),
                quotient.eq(raised[:whole_bits] << MEAN_FRACTION),
                left.eq(len(quotient) // BITS_A_CYCLE),
            ]
        with m.Elif(self.busy):
            m.d.sync += [
                rest.eq(rests[-1]),
                quotient.eq(Cat(*reversed(bits), quotient)),
                left.eq(left - 1),
            ]
        return m

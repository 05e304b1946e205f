"""Average entropy of the open batch, as a bucket."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.control.params import UnitParams

__all__ = ["EntropyAverage"]


class EntropyAverage(wiring.Component):
    """Sums the entropies of a batch and divides by their number, down to ``bucket_bits`` bits.

    Latency: after the cycle with ``add`` and ``last``, ``bucket_bits`` (3) cycles of division; ``bucket`` is
    valid from the cycle after those until the next division, and the sum is empty again.
    bucket = floor(floor(sum / n) / 32) = floor(sum / (32 n)), found bit by bit.

    Members
    -------
    add : In(1)
        Add ``entropy``; not during a division.
    last : In(1)
        With ``add``: the batch ends.
    entropy : In(8)
    clear : In(1)
        Drop the open batch.
    count : Out(5)
        Tokens in the open batch.
    bucket : Out(3)
    """

    add: Signal
    last: Signal
    entropy: Signal
    clear: Signal
    count: Signal
    bucket: Signal

    def __init__(self, params: UnitParams) -> None:
        self._params = params
        super().__init__(
            {
                "add": In(1),
                "last": In(1),
                "entropy": In(params.entropy_bits),
                "clear": In(1),
                "count": Out(range(params.max_draft + 1)),
                "bucket": Out(params.bucket_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = self._params
        bits = p.bucket_bits
        scale = p.entropy_bits - bits
        total = Signal(range(p.max_draft * ((1 << p.entropy_bits) - 1) + 1))
        step = Signal(range(bits + 1))

        threshold = Signal(len(self.count) + scale + bits)
        with m.Switch(step):
            for k in range(bits):
                with m.Case(k + 1):
                    m.d.comb += threshold.eq(self.count << (scale + k))
        rest = Signal(len(total) + 1)
        m.d.comb += rest.eq(total - threshold)
        fits = Signal()
        m.d.comb += fits.eq(total >= threshold)

        with m.If(step.any()):
            m.d.sync += [
                step.eq(step - 1),
                self.bucket.eq(Cat(fits, self.bucket[:-1])),
                total.eq(Mux(fits, rest, total)),
            ]
            with m.If(step == 1):
                m.d.sync += [total.eq(0), self.count.eq(0)]
        with m.Elif(self.add):
            m.d.sync += [total.eq(total + self.entropy), self.count.eq(self.count + 1)]
            with m.If(self.last):
                m.d.sync += step.eq(bits)
        with m.If(self.clear):
            m.d.sync += [total.eq(0), self.count.eq(0), step.eq(0)]
        return m

"""Entropy history: LEHT and its committed copy, LCEHT."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.control.params import UnitParams

__all__ = ["EntropyHistory"]


class EntropyHistory(wiring.Component):
    """Local entropy history of batches drafted (LEHT) and of batches accepted (LCEHT), newest first.

    ``older`` and ``newer`` already count the bucket that ``shift`` brings in the same cycle, so that an index
    formed from them is the new one. One operation a cycle, except that ``commit`` may go with any.

    Members
    -------
    shift, bucket : In
        A batch closes: LEHT shifts it in.
    commit, commit_bucket : In
        A batch is accepted: LCEHT shifts it in.
    restore : In(1)
        LEHT = LCEHT as it was before this cycle.
    clear : In(1)
        Both to zero: a sequence starts.
    older, newer : Out(3)
        floor of the mean of the older and of the newer half of LEHT.
    """

    shift: Signal
    bucket: Signal
    commit: Signal
    commit_bucket: Signal
    restore: Signal
    clear: Signal
    older: Signal
    newer: Signal

    def __init__(self, params: UnitParams) -> None:
        self._params = params
        super().__init__(
            {
                "shift": In(1),
                "bucket": In(params.bucket_bits),
                "commit": In(1),
                "commit_bucket": In(params.bucket_bits),
                "restore": In(1),
                "clear": In(1),
                "older": Out(params.bucket_bits),
                "newer": Out(params.bucket_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = self._params
        bits, half = p.bucket_bits, p.history // 2
        leht = Signal(bits * p.history)
        lceht = Signal(bits * p.history)
        shifted = Signal.like(leht)
        m.d.comb += shifted.eq(Mux(self.shift, Cat(self.bucket, leht), leht))

        def mean(entries: Signal, first: int) -> object:
            terms = [entries.word_select(first + k, bits) for k in range(half)]
            return sum(terms[1:], terms[0]) >> (half.bit_length() - 1)

        m.d.comb += [self.newer.eq(mean(shifted, 0)), self.older.eq(mean(shifted, half))]
        with m.If(self.clear):
            m.d.sync += [leht.eq(0), lceht.eq(0)]
        with m.Else():
            with m.If(self.restore):
                m.d.sync += leht.eq(lceht)
            with m.Elif(self.shift):
                m.d.sync += leht.eq(shifted)
            with m.If(self.commit):
                m.d.sync += lceht.eq(Cat(self.commit_bucket, lceht))
        return m

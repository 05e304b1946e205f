"""The two running sums of a state."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.attention.formats import SUM_BITS

__all__ = ["SETTLE", "RunningSums"]

SETTLE = 4
"""Cycles after an addition until ``second`` has it too."""
STEP_BITS = 6


class RunningSums(wiring.Component):
    """first := (first >> step) + a; second := (second >> step) + (step first >> step) + b, one a cycle.

    The second sum follows three cycles after the first: step x first takes them.

    Members
    -------
    clear : In(1)
    add : In(1)
    a, b : In(signed(52))
    step : In(6)
    exchange : In(1)
        Between additions that have settled: the sums become ``a``, ``b``, and the sums before are added by
        the next ``again``.
    again : In(1)
        Add, with ``step``, what ``exchange`` replaced.
    first, second : Out(signed(52))
    settled : Out(1)
        ``second`` is up to date.
    """

    clear: Signal
    add: Signal
    a: Signal
    b: Signal
    step: Signal
    exchange: Signal
    again: Signal
    first: Signal
    second: Signal
    settled: Signal

    def __init__(self) -> None:
        total = signed(SUM_BITS)
        super().__init__(
            {
                "clear": In(1),
                "add": In(1),
                "a": In(total),
                "b": In(total),
                "step": In(STEP_BITS),
                "exchange": In(1),
                "again": In(1),
                "first": Out(total),
                "second": Out(total),
                "settled": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        total = signed(SUM_BITS)
        half = STEP_BITS // 2
        # The sums that were replaced rest in the first and last registers of the product's pipeline.
        old = Signal(total, reset_less=True)
        rest = Signal(total, reset_less=True)
        low = Signal(signed(SUM_BITS + half), reset_less=True)
        high = Signal(signed(SUM_BITS + half), reset_less=True)
        product = Signal(signed(SUM_BITS + STEP_BITS), reset_less=True)
        waiting = [Signal(total, name=f"waiting_{k}", reset_less=True) for k in range(3)]
        steps = [Signal(STEP_BITS, name=f"step_{k}", reset_less=True) for k in range(SETTLE)]
        flags = [Signal(name=f"follows_{k}") for k in range(SETTLE)]

        m.d.sync += [flags[0].eq(self.add | self.again), steps[0].eq(self.step)]
        with m.If(self.add | self.again):
            m.d.sync += [
                self.first.eq((self.first >> self.step) + Mux(self.again, old, self.a)),
                old.eq(self.first),
                waiting[0].eq(Mux(self.again, rest, self.b)),
            ]
        m.d.sync += [
            low.eq(old * steps[0][:half]),
            high.eq(old * steps[0][half:]),
            waiting[1].eq(waiting[0]),
            product.eq(low + (high << half)),
            waiting[2].eq(waiting[1]),
            rest.eq((product >> steps[2]) + waiting[2]),
            *(later.eq(earlier) for earlier, later in pairwise(flags)),
            *(later.eq(earlier) for earlier, later in pairwise(steps)),
        ]
        with m.If(flags[-1]):
            m.d.sync += self.second.eq((self.second >> steps[-1]) + rest)
        with m.If(self.exchange):
            m.d.sync += [
                old.eq(self.first),
                rest.eq(self.second),
                self.first.eq(self.a),
                self.second.eq(self.b),
            ]
        with m.If(self.clear):
            m.d.sync += [self.first.eq(0), self.second.eq(0)]
        busy = flags[0] | flags[1] | flags[2] | flags[3]
        m.d.comb += self.settled.eq(~busy)
        return m

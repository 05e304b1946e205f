"""The timebase that the control unit reads."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ahasd.models.control.params import UnitParams

__all__ = ["TICK_BITS", "Timebase"]

TICK_BITS = 8
"""Logarithm of clock cycles a tick."""


class Timebase(wiring.Component):
    """Counts ticks of 2^``tick_bits`` cycles (default :data:`TICK_BITS`), modulo 2^32. Its clock never stops.

    Members
    -------
    now : Out(32)
    tick : Out(1)
        ``now`` changes at the end of this cycle.
    """

    now: Signal
    tick: Signal

    def __init__(self, params: UnitParams, tick_bits: int = TICK_BITS) -> None:
        self._tick_bits = tick_bits
        super().__init__({"now": Out(params.time_bits), "tick": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cycle = Signal(self._tick_bits)
        following = Signal(self._tick_bits)
        m.d.comb += following.eq(cycle + 1)
        # Of no bits: every cycle is a tick.
        m.d.sync += [cycle.eq(following), self.tick.eq(following == (1 << self._tick_bits) - 1)]
        with m.If(self.tick):
            m.d.sync += self.now.eq(self.now + 1)
        return m

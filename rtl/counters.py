"""The control unit's counters."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.control.params import UnitParams
from ahasd.models.control.unit import COUNTERS
from ahasd.rtl.signatures import counters_layout

__all__ = ["Counters"]


class Counters(wiring.Component):
    """Eleven 32-bit counters, modulo 2^32. An increment shows in the cycle after.

    Members
    -------
    clear : In(1)
    count : In
        A bit a counter: count one.
    dropped, preverified : In
        Added to the counters of those names with their ``count`` bit.
    values : Out
    """

    clear: Signal
    count: Signal
    dropped: Signal
    preverified: Signal
    values: data.View

    def __init__(self, params: UnitParams) -> None:
        self._params = p = params
        super().__init__(
            {
                "clear": In(1),
                "count": In(len(COUNTERS)),
                "dropped": In(range(p.queue_depth + 1)),
                "preverified": In(range(p.preverify_max + 1)),
                "values": Out(counters_layout(p)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        amounts = {"dropped": self.dropped, "preverified": self.preverified}
        # A register each, not one wide structure: simulators copy a register whole at every change.
        for number, name in enumerate(COUNTERS):
            value = Signal(self._params.counter_bits, name=name)
            m.d.comb += self.values[name].eq(value)
            with m.If(self.clear):
                m.d.sync += value.eq(0)
            with m.Elif(self.count[number]):
                m.d.sync += value.eq(value + amounts.get(name, 1))
        return m

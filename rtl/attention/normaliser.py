"""Shifts a number left until its highest bit is one."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.attention.formats import NORMALISED_BITS

__all__ = ["Normaliser"]

STRIDES = (64, 16, 4, 1)
"""Shift of each cycle: up to three of them, the first at most once."""


class Normaliser(wiring.Component):
    """Four cycles after ``load``: ``value`` << ``count``, with ``count`` the zeros above the highest one.

    Members
    -------
    load : In(1)
    follow : In(1)
        With ``load``: shift by the count that the latest number had, and keep it.
    value : In(80)
    busy : Out(1)
    shifted : Out(80)
    count : Out(7)
        At most 79 for numbers above 0.
    """

    load: Signal
    follow: Signal
    value: Signal
    busy: Signal
    shifted: Signal
    count: Signal

    def __init__(self) -> None:
        super().__init__(
            {
                "load": In(1),
                "follow": In(1),
                "value": In(NORMALISED_BITS),
                "busy": Out(1),
                "shifted": Out(NORMALISED_BITS),
                "count": Out(7),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        follows = Signal()
        step = Signal(range(len(STRIDES) + 1))
        m.d.comb += self.busy.eq(step.any())
        with m.If(self.load):
            m.d.sync += [self.shifted.eq(self.value), follows.eq(self.follow), step.eq(len(STRIDES))]
        with m.Elif(self.busy):
            m.d.sync += step.eq(step - 1)
            with m.Switch(step):
                for number, stride in enumerate(STRIDES):
                    with m.Case(len(STRIDES) - number):
                        self._stride(m, follows, stride)
        return m

    def _stride(self, m: Module, follows: Signal, stride: int) -> None:
        low = stride.bit_length() - 1
        times = Signal(2 if stride * 2 < NORMALISED_BITS else 1, name=f"times_{stride}")
        empty = [~self.shifted[NORMALISED_BITS - k * stride :].any() for k in range(1, 1 << len(times))]
        with m.If(follows):
            m.d.comb += times.eq(self.count[low:])
        with m.Else():
            m.d.comb += times.eq(sum(empty))  # each implies the ones before it
            m.d.sync += self.count[low : low + len(times)].eq(times)
        with m.Switch(times):
            for k in range(1, 1 << len(times)):
                with m.Case(k):
                    m.d.sync += self.shifted.eq(self.shifted << k * stride)

"""Tables with straight lines between their entries."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.attention.formats import POSITION_BITS, SEGMENT_BITS, UNIT_FRACTION
from ahasd.models.attention.tables import Function, segments

__all__ = ["SegmentTable"]

REST_BITS = POSITION_BITS - SEGMENT_BITS


class SegmentTable(wiring.Component):
    """``interpolate(function, position)`` of the golden model: entry in the first cycle, line in the second.

    Parameters
    ----------
    functions : sequence of Function
        What it can be asked for.

    Members
    -------
    function : In
        Place in ``functions``.
    position : In(14)
    complement : In(1)
        1 minus the function.
    value : Out(16)
        Combinational from registers; of the inputs a cycle ago.
    """

    function: Signal
    position: Signal
    complement: Signal
    value: Signal

    def __init__(self, functions: Sequence[Function]) -> None:
        self._functions = tuple(functions)
        super().__init__(
            {
                "function": In(range(len(self._functions))),
                "position": In(POSITION_BITS),
                "complement": In(1),
                "value": Out(UNIT_FRACTION + 1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tables = [segments(function) for function in self._functions]
        entry = Signal(UNIT_FRACTION + 1)
        drop = Signal(range(max(max(table.drops) for table in tables) + 1))
        segment = self.position[REST_BITS:]
        with m.Switch(self.function):
            for number, table in enumerate(tables):
                with m.Case(number), m.Switch(segment):
                    for place, (value, fall) in enumerate(zip(*table, strict=True)):
                        with m.Case(place):
                            m.d.comb += [entry.eq(value), drop.eq(fall)]

        begin = Signal.like(entry, reset_less=True)
        slope = Signal.like(drop, reset_less=True)
        rest = Signal(REST_BITS, reset_less=True)
        rises = Signal(reset_less=True)
        m.d.sync += [
            begin.eq(Mux(self.complement, (1 << UNIT_FRACTION) - entry, entry)),
            slope.eq(drop),
            rest.eq(self.position[:REST_BITS]),
            rises.eq(self.complement),
        ]
        # One addition: begin - change is rounded by adding 127, begin + change by adding 128, and -change is
        # ~change + 1, so both ways add 128.
        change = Signal(signed(len(slope) + REST_BITS + 1))
        half = Const(1 << REST_BITS - 1, REST_BITS)
        m.d.comb += [
            change.eq(slope * rest),
            self.value.eq((Cat(half, begin) + Mux(rises, change, ~change)) >> REST_BITS),
        ]
        return m

"""Running maximum, its index, and the reference of the exponentials."""

from __future__ import annotations

from amaranth.hdl import EnableInserter, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.attention.formats import DEAD, LOWEST_REFERENCE, REFERENCE_BITS, AttentionParams
from ahasd.rtl.attention.lane import GATE_STAGE, SCALED_STAGE
from ahasd.rtl.attention.signatures import ELEMENT, elements_layout, partial_layout
from ahasd.rtl.attention.tree import TREE_STAGES, LargestLane

__all__ = ["RunningMaximum"]


class RunningMaximum(wiring.Component):
    """The part of a state that follows the largest element.

    The reference for a beat is known in the cycle in which its lanes need it: the whole part of the largest
    lane's exponent plus one, or the running one if that is higher.

    Members
    -------
    advance : In(1)
    elements : In
        Stage 1.
    exponents : In(ArrayLayout(signed(18), lanes))
        Stage 5.
    soft : In(1)
        Follow the reference.
    update : In(1)
        A beat of a reduction enters stage 7.
    clear : In(1)
        Become the empty state; the first element has index ``first``.
    first : In(18)
    merge : In(1)
        Take the maximum of ``partial`` if it is larger, or as large with a lower index; its reference if
        higher.
    partial : In
    partial_higher : Out(1)
        The partial's reference is higher.
    reference_for_beat : Out(signed(18))
        Enters stage 7.
    step : Out(6)
        Stage 7: how much the reference rose. After ``merge``: distance of the two references.
    maximum, index, reference : Out
    """

    advance: Signal
    elements: data.View
    exponents: data.View
    soft: Signal
    update: Signal
    clear: Signal
    first: Signal
    merge: Signal
    partial: data.View
    partial_higher: Signal
    reference_for_beat: Signal
    step: Signal
    maximum: Signal
    index: Signal
    reference: Signal

    def __init__(self, params: AttentionParams) -> None:
        self._params = p = params
        reference = signed(REFERENCE_BITS)
        super().__init__(
            {
                "advance": In(1),
                "elements": In(elements_layout(p)),
                "exponents": In(data.ArrayLayout(reference, p.lanes)),
                "soft": In(1),
                "update": In(1),
                "clear": In(1),
                "first": In(p.length_bits),
                "merge": In(1),
                "partial": In(partial_layout(p)),
                "partial_higher": Out(1),
                "reference_for_beat": Out(reference),
                "step": Out(6),
                "maximum": Out(ELEMENT),
                "index": Out(p.length_bits),
                "reference": Out(reference),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        largest = LargestLane(self._params.lanes)
        m.submodules.largest = EnableInserter(self.advance)(largest)
        m.d.comb += largest.elements.eq(self.elements)

        # The tree's result is of stage 3; it waits for the exponents and then for the lanes.
        value, lane = largest.largest, largest.lane
        for stage in range(1 + TREE_STAGES + 1, GATE_STAGE):
            value_next = Signal(ELEMENT, name=f"largest{stage}", reset_less=True)
            lane_next = Signal.like(lane, name=f"lane{stage}", reset_less=True)
            with m.If(self.advance):
                m.d.sync += [value_next.eq(value), lane_next.eq(lane)]
            value, lane = value_next, lane_next
            if stage == SCALED_STAGE:
                lane5 = lane
        exponent = Signal(signed(REFERENCE_BITS))
        with m.Switch(lane5):
            for k in range(self._params.lanes):
                with m.Case(k):
                    m.d.comb += exponent.eq(self.exponents[k])
        beat6 = Signal(signed(REFERENCE_BITS), reset_less=True)
        with m.If(self.advance):
            m.d.sync += beat6.eq(exponent + 1)

        rise = Signal(signed(REFERENCE_BITS + 1))
        other = Signal(signed(REFERENCE_BITS))
        size = Signal(REFERENCE_BITS)
        m.d.comb += [
            other.eq(Mux(self.merge, self.partial.reference, beat6)),
            rise.eq(other - self.reference),
            self.partial_higher.eq(~rise[-1] & rise.any()),
            self.reference_for_beat.eq(Mux(rise[-1], self.reference, other)),
            size.eq(Mux(rise[-1], -rise, rise)),
        ]

        fresh = Signal()
        position = Signal.like(self.index, reset_less=True)
        with m.If(self.clear):
            m.d.sync += [
                self.maximum.eq(-(1 << 15)),
                self.index.eq(-1),
                self.reference.eq(LOWEST_REFERENCE),
                self.step.eq(0),
                fresh.eq(1),
                position.eq(self.first),
            ]
        with m.Elif(self.merge):
            m.d.sync += [self.reference.eq(self.reference_for_beat), self.step.eq(_distance(size))]
            same = self.partial.maximum == self.maximum
            with m.If((self.partial.maximum > self.maximum) | (same & (self.partial.index < self.index))):
                m.d.sync += [self.maximum.eq(self.partial.maximum), self.index.eq(self.partial.index)]
        with m.Elif(self.update & self.advance):
            m.d.sync += [fresh.eq(0), position.eq(position + self._params.lanes)]
            with m.If(fresh | (value > self.maximum)):
                m.d.sync += [self.maximum.eq(value), self.index.eq(position + lane)]
            with m.If(self.soft):
                m.d.sync += [
                    self.reference.eq(self.reference_for_beat),
                    self.step.eq(Mux(rise[-1], 0, _distance(size))),
                ]
        return m


def _distance(size: Signal) -> object:
    """At most 63: what is farther has no weight."""
    return Mux(size[6:].any(), DEAD, size[:6])

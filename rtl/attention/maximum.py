"""Running maximum, its index, and the reference of the exponentials."""

from __future__ import annotations

from amaranth.hdl import EnableInserter, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.attention.formats import DEAD, LOWEST_REFERENCE, REFERENCE_BITS, AttentionParams
from ahasd.rtl.attention.lane import GATE_STAGE, SCALED_STAGE
from ahasd.rtl.attention.signatures import ELEMENT, elements_layout, partial_layout
from ahasd.rtl.attention.tree import TREE_STAGES, LargestLane

__all__ = ["RunningMaximum"]


class RunningMaximum(wiring.Component):
    """The part of a state that follows the largest element.

    The reference for a beat is there when its lanes need it: the whole part of the largest lane's exponent
    plus one, or the running one if that is higher.

    Members
    -------
    advance : In(1)
    elements : In
        Stage 1.
    exponents : In(ArrayLayout(signed(18), lanes))
        Stage 5.
    soft : In(1)
        Follow the reference.
    update_reference, update : In(1)
        A beat of a reduction enters stage 6, stage 7.
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
        Stage 6.
    step : Out(6)
        Stage 7: how much the reference rose. After ``merge``: distance of the two references.
    maximum, index, reference : Out
    """

    advance: Signal
    elements: data.View
    exponents: data.View
    soft: Signal
    update_reference: Signal
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
                "update_reference": In(1),
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
        # The compare is between registers, the lanes' subtraction after it: one after the other is too long.
        rise = Signal(signed(REFERENCE_BITS + 1))
        higher = Signal()
        rise6 = Signal(REFERENCE_BITS, reset_less=True)
        higher6 = Signal(reset_less=True)
        reference6 = Signal.like(self.reference, reset_less=True)
        beat = Signal.like(self.reference)
        m.d.comb += [
            rise.eq(exponent - self.reference),
            higher.eq(~rise[-1]),
            beat.eq(Mux(higher, exponent + 1, self.reference)),
            self.reference_for_beat.eq(reference6),
        ]
        with m.If(self.advance):
            m.d.sync += [rise6.eq(rise), higher6.eq(higher), reference6.eq(beat)]
        gap = Signal(signed(REFERENCE_BITS + 1))
        m.d.comb += [
            gap.eq(self.partial.reference - self.reference),
            self.partial_higher.eq(~gap[-1] & gap.any()),
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
            m.d.sync += self.step.eq(_distance(Mux(gap[-1], -gap, gap)))
            with m.If(self.partial_higher):
                m.d.sync += self.reference.eq(self.partial.reference)
            same = self.partial.maximum == self.maximum
            with m.If((self.partial.maximum > self.maximum) | (same & (self.partial.index < self.index))):
                m.d.sync += [self.maximum.eq(self.partial.maximum), self.index.eq(self.partial.index)]
        with m.Elif(self.advance):
            with m.If(self.update):
                m.d.sync += [fresh.eq(0), position.eq(position + self._params.lanes)]
                with m.If(fresh | (value > self.maximum)):
                    m.d.sync += [self.maximum.eq(value), self.index.eq(position + lane)]
                with m.If(self.soft):
                    m.d.sync += self.step.eq(Mux(higher6, _distance(rise6 + 1), 0))
            with m.If(self.update_reference & self.soft):
                m.d.sync += self.reference.eq(beat)
        return m


def _distance(size: Value) -> Value:
    """At most 63: what is farther has no weight."""
    return Mux(size[6:].any(), DEAD, size[:6])

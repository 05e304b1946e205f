"""One lane: an element from the input to its result and its terms, twelve or thirteen stages."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.attention import formats
from ahasd.models.attention.lanes import CARRY_BITS, CARRY_SHIFT
from ahasd.models.attention.tables import Function
from ahasd.rtl.attention.multiplier import LaneMultiplier
from ahasd.rtl.attention.segment_table import SegmentTable
from ahasd.rtl.attention.signatures import ELEMENT, Second, settings_layout

__all__ = ["GATE_STAGE", "OPERAND_STAGE", "OUTPUT_STAGE", "SCALED_STAGE", "TERM_STAGE", "Lane"]

SCALED_STAGE = 5
"""Registers that hold the shifted first product, counted from 1 for those behind the input."""
GATE_STAGE = 7
"""Registers that hold the distance from the reference, which comes in before them."""
OPERAND_STAGE = 9
"""Registers that take the operand in."""
TERM_STAGE = 12
OUTPUT_STAGE = 13

LOWEST = -(1 << 15)


def _saturated(value: Signal, bits: int) -> object:
    """A signed signal clipped to ``bits`` bits."""
    sign = value[-1]
    fits = (value[bits - 1 :] == 0) | value[bits - 1 :].all()
    return Mux(fits, value[:bits], Cat((~sign).replicate(bits - 1), sign)).as_signed()


class Lane(wiring.Component):
    """Follows ``ahasd.models.attention.lanes``; register names end in their stage.

    Members
    -------
    settings : In
        Stable during a pass.
    x : In(signed(16))
        Enters stage 1.
    past_end : In(1)
        With ``x``: not an element.
    element : Out(signed(16))
        Stage 1, for the maximum: the lowest number past the end.
    exponent : Out(signed(18))
        Stage 5: whole part of the scaled element.
    reference : In(signed(18))
        Enters stage 7.
    dead : In(1)
        Enters stage 7: adds nothing to sums.
    scale, offset : In(signed(16))
        Enter stage 9.
    term, product : Out(signed(34))
        Stage 12: for the two sums.
    output : Out(signed(16))
        Stage 13.
    """

    settings: data.View
    x: Signal
    past_end: Signal
    element: Signal
    exponent: Signal
    reference: Signal
    dead: Signal
    scale: Signal
    offset: Signal
    term: Signal
    product: Signal
    output: Signal

    def __init__(self) -> None:
        super().__init__(
            {
                "settings": In(settings_layout()),
                "x": In(ELEMENT),
                "past_end": In(1),
                "element": Out(ELEMENT),
                "exponent": Out(signed(formats.REFERENCE_BITS)),
                "reference": In(signed(formats.REFERENCE_BITS)),
                "dead": In(1),
                "scale": In(ELEMENT),
                "offset": In(ELEMENT),
                "term": Out(signed(formats.TERM_BITS + 1)),
                "product": Out(signed(formats.TERM_BITS + 1)),
                "output": Out(ELEMENT),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.scaling = scaling = LaneMultiplier()
        m.submodules.table = table = SegmentTable((Function.EXPONENTIAL, Function.SIGMOID, Function.NORMAL))
        m.submodules.weighting = weighting = LaneMultiplier()
        # A copy for the stages from 1 on: one register for all lanes has too much load.
        near: Any = Signal(settings_layout(), reset_less=True)
        m.d.sync += near.eq(self.settings)
        z6, x6 = self._scaled(m, near, scaling)
        self._second_half(m, near, table, weighting, z6, x6)
        return m

    def _scaled(self, m: Module, near: Any, scaling: LaneMultiplier) -> tuple[Signal, Signal]:
        """Stages 1 to 6: ((x - pivot) factor 2^8 + bias) >> shift, and x itself."""
        settings = self.settings
        a1 = Signal(signed(formats.FACTOR_BITS), reset_less=True)
        m.d.sync += a1.eq(Mux(self.past_end, LOWEST, self.x) - settings.pivot)
        m.d.comb += [self.element.eq(a1), scaling.a.eq(a1), scaling.b.eq(near.factor)]
        product3 = scaling.product

        w4 = Signal(signed(2 * formats.FACTOR_BITS + formats.PRODUCT_GUARD + 1), reset_less=True)
        x4 = Signal(ELEMENT, reset_less=True)
        m.d.sync += [
            w4.eq((product3 << formats.PRODUCT_GUARD) + settings.bias),
            x4.eq(product3[formats.GATE_FACTOR.bit_length() - 1 :]),
        ]

        shifted = Signal.like(w4)
        m.d.comb += shifted.eq(w4 >> near.shift)
        z5 = Signal(signed(formats.SCALED_BITS), reset_less=True)
        x5 = Signal(ELEMENT, reset_less=True)
        z6 = Signal.like(z5, reset_less=True)
        x6 = Signal(ELEMENT, reset_less=True)
        m.d.sync += [z5.eq(_saturated(shifted, formats.SCALED_BITS)), x5.eq(x4), z6.eq(z5), x6.eq(x5)]
        m.d.comb += self.exponent.eq(z5[formats.POSITION_BITS :].as_signed())
        return z6, x6

    def _second_half(
        self, m: Module, near: Any, table: SegmentTable, weighting: LaneMultiplier, z6: Signal, x6: Signal
    ) -> None:
        settings = near
        factor = signed(formats.FACTOR_BITS)
        place_bits = formats.POSITION_BITS

        # Stage 7: distance from the reference, or size of the gate's argument, or a factor of 17 bits.
        distance = Signal(formats.SCALED_BITS + 1)
        m.d.comb += distance.eq((self.reference << place_bits) - z6)
        far = distance[place_bits + 6 :].any()
        size = Signal(formats.SCALED_BITS)
        m.d.comb += size.eq(Mux(z6[-1], -z6, z6))
        fine = (z6[formats.FACTOR_BITS - 1 :] == 0) | z6[formats.FACTOR_BITS - 1 :].all()
        coarse = Signal(signed(formats.SCALED_BITS - formats.COARSE_STEP))
        m.d.comb += coarse.eq(z6 >> formats.COARSE_STEP)
        clipped = distance[CARRY_BITS + CARRY_SHIFT :].any()

        position7 = Signal(place_bits, reset_less=True)
        positive7 = Signal(reset_less=True)
        shift7 = Signal(6, reset_less=True)
        carry7 = Signal(factor, reset_less=True)
        m.d.sync += positive7.eq(settings.gate & ~z6[-1])
        with m.If(settings.soft):
            m.d.sync += [
                position7.eq(distance[:place_bits]),
                shift7.eq(Mux(self.dead | far, formats.DEAD, distance[place_bits : place_bits + 6])),
                carry7.eq(Mux(clipped, (1 << CARRY_BITS) - 1, distance[CARRY_SHIFT:][:CARRY_BITS])),
            ]
        with m.Else():
            m.d.sync += [
                position7.eq(Mux(size[place_bits:].any(), (1 << place_bits) - 1, size[:place_bits])),
                shift7.eq(Mux(settings.windowed & fine, formats.COARSE_STEP, 0)),
                carry7.eq(Mux(self.dead, 0, x6)),
            ]
            with m.If(settings.windowed):
                m.d.sync += carry7.eq(
                    Mux(fine, z6[: formats.FACTOR_BITS].as_signed(), _saturated(coarse, formats.FACTOR_BITS))
                )

        # Stages 8 and 9: table, then the factors of the second product.
        m.d.comb += [
            table.function.eq(Mux(settings.soft, 0, Mux(settings.normal, 2, 1))),
            table.position.eq(position7),
            table.complement.eq(positive7),
        ]
        shift8 = Signal.like(shift7, reset_less=True)
        carry8 = Signal.like(carry7, reset_less=True)
        a9 = Signal(factor, reset_less=True)
        b9 = Signal(factor, reset_less=True)
        shift9 = Signal.like(shift7, reset_less=True)
        offset9 = Signal(ELEMENT, reset_less=True)
        m.d.sync += [
            shift8.eq(shift7),
            carry8.eq(carry7),
            a9.eq(Mux(settings.soft | settings.gate, table.value, carry8)),
            shift9.eq(shift8),
            offset9.eq(Mux(settings.windowed, self.offset, 0)),
        ]
        with m.Switch(settings.second):
            for kind, value in (
                (Second.CARRY, carry8),
                (Second.RECIPROCAL, self.settings.reciprocal),
                (Second.SCALE, self.scale),
                (Second.ONE, Const(formats.ONE)),
            ):
                with m.Case(kind):
                    m.d.sync += b9.eq(value)

        # Stages 10 and 11: the second product, and what waits for it.
        m.d.comb += [weighting.a.eq(a9), weighting.b.eq(b9)]
        a10 = Signal(factor, reset_less=True)
        a11 = Signal(factor, reset_less=True)
        shift10 = Signal(7, reset_less=True)
        shift11 = Signal.like(shift7, reset_less=True)
        offset10 = Signal(ELEMENT, reset_less=True)
        offset11 = Signal(ELEMENT, reset_less=True)
        m.d.sync += [
            a10.eq(a9),
            a11.eq(a10),
            shift10.eq(shift9 + settings.final),
            shift11.eq(Mux(shift10[-1], formats.DEAD, shift10[:-1])),
            offset10.eq(offset9),
            offset11.eq(offset10),
        ]

        # Stages 12 and 13: shifts, then rounding and offset. Where exponentials are summed ``final`` is 0.
        twice12 = Signal(signed(2 * formats.FACTOR_BITS + formats.TERM_GUARD + 1), reset_less=True)
        term12 = Signal.like(self.term, reset_less=True)
        offset12 = Signal(ELEMENT, reset_less=True)
        output13 = Signal(ELEMENT, reset_less=True)
        spread = formats.TERM_FRACTION - formats.UNIT_FRACTION
        total = Signal(signed(len(twice12)))
        m.d.sync += [
            twice12.eq((weighting.product << formats.TERM_GUARD + 1) >> shift11),
            term12.eq(Mux(settings.soft, (a11 << spread) >> shift11, a11)),
            offset12.eq(offset11),
            output13.eq(_saturated(total, 16)),
        ]
        m.d.comb += [
            total.eq((twice12 >> 1) + twice12[0] + offset12),
            self.term.eq(term12),
            self.product.eq(twice12 >> 1),
            self.output.eq(output13),
        ]

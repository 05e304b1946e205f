"""What is worked out between the passes: reciprocal, entropy, mean and deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.attention import formats
from ahasd.models.attention.commands import ENTROPY_STEPS, SCALE_BITS, SCALE_FRACTION
from ahasd.models.attention.formats import DIGIT_BITS, NORMALISED_BITS, UNIT_FRACTION, AttentionParams
from ahasd.models.attention.scalars import DROPPED
from ahasd.models.attention.tables import Function
from ahasd.rtl.attention.mean import MeanDivider
from ahasd.rtl.attention.normaliser import Normaliser
from ahasd.rtl.attention.scalar_multiplier import ScalarMultiplier
from ahasd.rtl.attention.segment_table import SegmentTable
from ahasd.rtl.attention.signatures import OpCode, partial_layout

__all__ = ["Scalars"]

FUNCTIONS = (Function.RECIPROCAL, Function.LOGARITHM, Function.ROOT_EVEN, Function.ROOT_ODD)


@dataclass(frozen=True)
class _Parts:
    """What the steps share."""

    m: Module
    mean: MeanDivider
    normaliser: Normaliser
    multiplier: ScalarMultiplier
    table: SegmentTable
    top: Signal
    """Place of the highest one of the normalised number, signed."""

    def multiply(self, a: Any, b: Any, bits: int) -> None:
        """Start a x b; b has ``bits`` bits."""
        self.m.d.comb += [
            self.multiplier.start.eq(1),
            self.multiplier.a.eq(a),
            self.multiplier.b.eq(b),
            self.multiplier.digits.eq(-(-bits // DIGIT_BITS)),
        ]

    def normalise(self, value: Any, follow: int = 0) -> None:
        """Start normalising, or shift as the number before."""
        self.m.d.comb += [
            self.normaliser.load.eq(1),
            self.normaliser.value.eq(value),
            self.normaliser.follow.eq(follow),
        ]

    def look_up(self, function: Any) -> None:
        """Ask the table, for its value in the next cycle."""
        self.m.d.comb += self.table.function.eq(function)


class Scalars(wiring.Component):
    """``ahasd.models.attention.scalars`` as a sequence of steps on one normaliser, multiplier and table.

    ``start`` when the state's first sum is complete; the second may follow. ``busy`` from the next cycle on.

    Members
    -------
    start : In(1)
    op : In(OpCode)
    parameter : In(40)
    state : In
    settled : In(1)
        ``state.second`` is complete.
    busy : Out(1)
    top : Out(7)
        Softmax: place of the highest one in the first sum.
    reciprocal : Out(16)
    entropy : Out(8)
    factor, offset, shift, pivot : Out
        Norms: what the lanes multiply by, subtract after and before, and shift by.
    """

    start: Signal
    op: Signal
    parameter: Signal
    state: data.View
    settled: Signal
    busy: Signal
    top: Signal
    reciprocal: Signal
    entropy: Signal
    factor: Signal
    offset: Signal
    shift: Signal
    pivot: Signal

    def __init__(self, params: AttentionParams) -> None:
        self._params = params
        super().__init__(
            {
                "start": In(1),
                "op": In(OpCode),
                "parameter": In(formats.PARAMETER_BITS),
                "state": In(partial_layout(params)),
                "settled": In(1),
                "busy": Out(1),
                "top": Out(7),
                "reciprocal": Out(UNIT_FRACTION + 1),
                "entropy": Out(8),
                "factor": Out(UNIT_FRACTION + 1),
                "offset": Out(formats.PRODUCT_GUARD + formats.MEAN_FRACTION),
                "shift": Out(6),
                "pivot": Out(signed(formats.FACTOR_BITS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.mean = mean = MeanDivider(self._params)
        m.submodules.normaliser = normaliser = Normaliser()
        m.submodules.multiplier = multiplier = ScalarMultiplier()
        m.submodules.table = table = SegmentTable(FUNCTIONS)
        state = self.state
        centred = Signal()
        size = Signal(self._params.length_bits + 16)
        top = Signal(signed(8))
        position = normaliser.shifted[NORMALISED_BITS - 1 - formats.POSITION_BITS : NORMALISED_BITS - 1]
        m.d.comb += [
            centred.eq(self.op == OpCode.LAYER_NORM),
            size.eq(Mux(state.first[-1], -state.first, state.first)),
            mean.total.eq(state.first),
            mean.count.eq(state.count),
            top.eq(NORMALISED_BITS - 1 - normaliser.count),
            table.position.eq(position),
            self.busy.eq(1),
            self.pivot.eq(Mux(centred, mean.whole, 0)),
        ]

        parts = _Parts(m, mean, normaliser, multiplier, table, top)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.busy.eq(0)
                with m.If(self.start), m.Switch(self.op):
                    with m.Case(OpCode.SOFTMAX, OpCode.LOGITS):
                        parts.normalise(state.first)
                        m.next = "SUM"
                    with m.Case(OpCode.LAYER_NORM):
                        m.d.comb += mean.start.eq(1)
                        parts.multiply(size, size, len(size))
                        m.next = "SUM OF SQUARES"
                    with m.Case(OpCode.RMS_NORM):
                        m.next = "SUM OF SQUARES"
            self._soft(parts)
            self._norm(parts)
        return m

    def _soft(self, p: _Parts) -> None:
        """Reciprocal; after LOGITS the entropy, log2(sum) + second / first, too."""
        m, state = p.m, self.state
        with m.State("SUM"), m.If(~p.normaliser.busy):
            p.look_up(FUNCTIONS.index(Function.RECIPROCAL))
            m.d.sync += self.top.eq(p.top)
            m.next = "RECIPROCAL"
        with m.State("RECIPROCAL"):
            p.look_up(FUNCTIONS.index(Function.LOGARITHM))
            m.d.sync += self.reciprocal.eq(p.table.value)
            m.next = "LOGARITHM"
            with m.If(self.op == OpCode.SOFTMAX):
                m.next = "IDLE"
        bits = Signal(signed(UNIT_FRACTION + 8), reset_less=True)
        logarithm = Signal.like(p.table.value, reset_less=True)
        with m.State("LOGARITHM"):
            m.d.sync += logarithm.eq(p.table.value)
            m.next = "MEAN DISTANCE"
        with m.State("MEAN DISTANCE"), m.If(self.settled):
            whole = (self.top - (formats.TERM_FRACTION - 1)).as_signed()
            m.d.sync += bits.eq((whole << UNIT_FRACTION) - logarithm)
            p.multiply(state.second[: formats.SUM_BITS - 1], self.reciprocal, len(self.reciprocal))
            m.next = "ALIGN"
        with m.State("ALIGN"), m.If(~p.multiplier.busy):
            p.normalise(p.multiplier.product[DROPPED:], 1)
            m.next = "ADD"
        with m.State("ADD"), m.If(~p.normaliser.busy):
            mean_bits = p.normaliser.shifted[NORMALISED_BITS - 1 - DROPPED :]
            m.d.sync += bits.eq(bits + mean_bits)
            m.next = "SCALE"
        with m.State("SCALE"):
            p.multiply(self.parameter[:SCALE_BITS], Mux(bits[-1], 0, bits[:-1]), len(bits) - 1)
            m.next = "ENTROPY"
        with m.State("ENTROPY"), m.If(~p.multiplier.busy):
            steps = p.multiplier.product[UNIT_FRACTION + SCALE_FRACTION :]
            m.d.sync += self.entropy.eq(Mux(steps[8:].any(), ENTROPY_STEPS - 1, steps[:8]))
            m.next = "IDLE"

    def _norm(self, p: _Parts) -> None:
        """n / sqrt(n Q - P^2), and what is left of the mean times it."""
        m, state = p.m, self.state
        sum_bits = self._params.length_bits + 16
        square = Signal(2 * sum_bits, reset_less=True)
        spread = Signal(signed(NORMALISED_BITS))
        half = Signal(signed(7), reset_less=True)
        nothing = Signal(reset_less=True)
        exponent = Signal(signed(9))
        m.d.comb += [
            spread.eq(p.multiplier.product - (square << formats.EPSILON_FRACTION)),
            exponent.eq(p.top - formats.EPSILON_FRACTION),
        ]
        with m.State("SUM OF SQUARES"), m.If(~p.multiplier.busy & self.settled):
            m.d.sync += square.eq(Mux(self.op == OpCode.LAYER_NORM, p.multiplier.product, 0))
            squares = state.second[: formats.SUM_BITS - 1] << formats.EPSILON_FRACTION
            p.multiply(squares + self.parameter, state.count, len(state.count))
            m.next = "SPREAD"
        with m.State("SPREAD"), m.If(~p.multiplier.busy):
            p.normalise(spread)
            m.d.sync += nothing.eq(spread <= 0)
            m.next = "DEVIATION"
        with m.State("DEVIATION"), m.If(~p.normaliser.busy):
            odd = FUNCTIONS.index(Function.ROOT_ODD)
            p.look_up(Mux(exponent[0], odd, FUNCTIONS.index(Function.ROOT_EVEN)))
            m.d.sync += half.eq(exponent >> 1)
            m.next = "ROOT"
        root = Signal.like(p.table.value, reset_less=True)
        with m.State("ROOT"):
            m.d.sync += root.eq(p.table.value)
            m.next = "TIMES ROOT"
        with m.State("TIMES ROOT"):
            p.multiply(state.count, root, len(root))
            m.next = "TIMES COUNT"
        with m.State("TIMES COUNT"), m.If(~p.multiplier.busy):
            p.normalise(p.multiplier.product)
            m.next = "FACTOR"
        shift = Signal(signed(10))
        m.d.comb += shift.eq(2 * UNIT_FRACTION + formats.PRODUCT_GUARD - formats.NORM_FRACTION + half - p.top)
        with m.State("FACTOR"), m.If(~p.normaliser.busy & ~p.mean.busy):
            factor = p.normaliser.shifted[NORMALISED_BITS - 1 - UNIT_FRACTION :]
            m.d.sync += [
                self.factor.eq(Mux(nothing, 0, factor)),
                self.shift.eq(Mux(nothing, 1, Mux(shift[-1], 0, shift[:6]))),
            ]
            p.multiply(factor, p.mean.fraction, len(p.mean.fraction))
            m.next = "OFFSET"
        with m.State("OFFSET"), m.If(~p.multiplier.busy):
            product = p.multiplier.product[formats.MEAN_FRACTION - formats.PRODUCT_GUARD :]
            with m.If((self.op == OpCode.LAYER_NORM) & ~nothing):
                m.d.sync += self.offset.eq(product)
            with m.Else():
                m.d.sync += self.offset.eq(0)
            m.next = "IDLE"

"""What the lanes are told for a pass, worked out from command and scalars."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.attention import formats
from ahasd.models.attention.formats import AttentionParams
from ahasd.models.attention.unit import NORM_FINAL, ONE_FINAL
from ahasd.rtl.attention.signatures import OpCode, Second, command_layout, settings_layout

__all__ = ["PassSettings"]


class PassSettings(wiring.Component):
    """``pass_scaling`` and the end of ``norm_scaling`` of the golden model, in a register.

    Members
    -------
    load : In(1)
    command : In
    last_pass : In(1)
        Else the reduction.
    top, reciprocal, factor, offset, shift, pivot : In
        From :class:`~ahasd.rtl.attention.scalars.Scalars`; read in the last pass of softmax and norms.
    settings : Out
        From the cycle after ``load``.
    """

    load: Signal
    command: data.View
    last_pass: Signal
    top: Signal
    reciprocal: Signal
    factor: Signal
    offset: Signal
    shift: Signal
    pivot: Signal
    settings: data.View

    def __init__(self, params: AttentionParams) -> None:
        layout = settings_layout()
        super().__init__(
            {
                "load": In(1),
                "command": In(command_layout(params)),
                "last_pass": In(1),
                "top": In(7),
                "reciprocal": In(layout["reciprocal"].shape),
                "factor": In(formats.UNIT_FRACTION + 1),
                "offset": In(formats.PRODUCT_GUARD + formats.MEAN_FRACTION),
                "shift": In(6),
                "pivot": In(layout["pivot"].shape),
                "settings": Out(layout),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command, op = self.command, self.command.op
        own: Any = Signal(settings_layout())
        half = Signal(formats.BIAS_BITS)
        rest = Signal(len(self.offset))
        m.d.comb += [
            own.soft.eq((op == OpCode.SOFTMAX) | (op == OpCode.LOGITS)),
            own.gate.eq((op == OpCode.GELU) | (op == OpCode.SILU)),
            own.normal.eq(op == OpCode.GELU),
            own.reciprocal.eq(self.reciprocal),
            half.eq((Const(1) << own.shift) >> 1),
            own.bias.eq(half - rest),
        ]
        plain = formats.UNIT_FRACTION + formats.PRODUCT_GUARD - formats.POSITION_BITS
        m.d.comb += [own.shift.eq(plain + command.fraction), own.factor.eq(formats.GATE_FACTOR)]
        with m.Switch(op):
            with m.Case(OpCode.SOFTMAX, OpCode.LOGITS):
                guards = formats.TERM_GUARD + formats.UNIT_FRACTION
                m.d.comb += own.factor.eq(formats.LOG2E)
                with m.If(self.last_pass):
                    m.d.comb += [
                        own.second.eq(Second.RECIPROCAL),
                        own.final.eq(guards + self.top - formats.TERM_FRACTION),
                    ]
            with m.Case(OpCode.LAYER_NORM, OpCode.RMS_NORM):
                with m.If(self.last_pass):
                    m.d.comb += [
                        own.windowed.eq(1),
                        own.second.eq(Second.SCALE),
                        own.factor.eq(self.factor),
                        own.shift.eq(self.shift),
                        rest.eq(self.offset),
                        own.pivot.eq(self.pivot),
                        own.final.eq(NORM_FINAL + command.scale_fraction - command.out_fraction),
                    ]
                with m.Else():
                    m.d.comb += own.final.eq(formats.TERM_GUARD)
            with m.Case(OpCode.GELU, OpCode.SILU):
                guards = formats.TERM_GUARD + formats.UNIT_FRACTION
                m.d.comb += own.final.eq(guards + command.fraction - command.out_fraction)
            with m.Case(OpCode.SCALED_ADD):
                fractions: Value = command.fraction + command.scale_fraction
                m.d.comb += [
                    own.windowed.eq(1),
                    own.second.eq(Second.ONE),
                    own.factor.eq(command.parameter[:16].as_signed()),
                    own.shift.eq(formats.PRODUCT_GUARD + fractions - command.out_fraction),
                    own.final.eq(ONE_FINAL),
                ]
            with m.Case(OpCode.REDUCE):
                m.d.comb += own.final.eq(formats.TERM_GUARD)
        with m.If(self.load):
            m.d.sync += self.settings.eq(own)
        return m

"""Layouts and signatures of the attention unit. Benches pack and unpack with the same objects."""

from __future__ import annotations

from amaranth.hdl import signed
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.attention import formats
from ahasd.models.attention.formats import AttentionParams

__all__ = [
    "ELEMENT",
    "AttentionSignature",
    "OpCode",
    "Second",
    "command_layout",
    "elements_layout",
    "operand_layout",
    "output_layout",
    "partial_layout",
    "result_layout",
    "settings_layout",
]

ELEMENT = signed(16)


class OpCode(enum.Enum, shape=3):
    """As :class:`ahasd.models.attention.Op`."""

    SOFTMAX = 0
    LOGITS = 1
    LAYER_NORM = 2
    RMS_NORM = 3
    GELU = 4
    SILU = 5
    SCALED_ADD = 6
    REDUCE = 7


class Second(enum.Enum, shape=2):
    """Second factor of a lane's second product."""

    CARRY = 0
    RECIPROCAL = 1
    SCALE = 2
    ONE = 3


def command_layout(params: AttentionParams) -> data.StructLayout:
    """A command: the fields of :class:`ahasd.models.attention.Command`, ``parameter`` in two's complement.

    A pass that the operation does not have is skipped. A ``length`` of 0 counts as 2^18.
    """
    return data.StructLayout(
        {
            "op": OpCode,
            "reduce": 1,
            "apply": 1,
            "partials": 5,
            "length": params.length_bits + 1,
            "first": params.length_bits,
            "fraction": 4,
            "scale_fraction": 4,
            "out_fraction": 4,
            "parameter": formats.PARAMETER_BITS,
        }
    )


def elements_layout(params: AttentionParams) -> data.ArrayLayout:
    """A beat of elements, the first in the lowest bits; those past the length may be anything."""
    return data.ArrayLayout(ELEMENT, params.lanes)


def operand_layout(params: AttentionParams) -> data.StructLayout:
    """A beat of norms' factors and offsets."""
    return data.StructLayout({"scale": elements_layout(params), "offset": elements_layout(params)})


def output_layout(params: AttentionParams) -> data.StructLayout:
    """A beat of the result; elements past the length may be anything."""
    return data.StructLayout({"elements": elements_layout(params), "last": 1})


def partial_layout(params: AttentionParams) -> data.StructLayout:
    """A reduction's state: :class:`ahasd.models.attention.State`."""
    return data.StructLayout(
        {
            "maximum": ELEMENT,
            "index": params.length_bits,
            "count": params.length_bits + 1,
            "reference": signed(formats.REFERENCE_BITS),
            "first": signed(formats.SUM_BITS),
            "second": signed(formats.SUM_BITS),
        }
    )


def result_layout(params: AttentionParams) -> data.StructLayout:
    """State, entropy in 1/256 of H_max, probability of the maximum (15 fraction bits)."""
    return data.StructLayout({"state": partial_layout(params), "entropy": 8, "probability": 16})


def settings_layout() -> data.StructLayout:
    """What the lanes are told for a pass. They are empty while it changes."""
    return data.StructLayout(
        {
            "soft": 1,
            "gate": 1,
            "normal": 1,
            "windowed": 1,
            "second": Second,
            "factor": signed(formats.FACTOR_BITS),
            "shift": 6,
            "bias": signed(formats.BIAS_BITS),
            "pivot": signed(formats.FACTOR_BITS),
            "final": 6,
            "reciprocal": 16,
        }
    )


class AttentionSignature(wiring.Signature):
    """The attention unit's ports, seen from inside.

    Members
    -------
    command : In(stream)
        Taken while the unit is idle.
    x : In(stream)
        Elements: all beats of the vector for the reduction, and (again) for the last pass.
    operand : In(stream)
        One beat for each beat of ``x`` in the last pass of norms and SCALED_ADD; taken some cycles after it.
    partial : In(stream)
        States to merge.
    output : Out(stream)
        The vector, of commands that ``apply``.
    result : Out(stream)
        One beat, of the other commands.
    busy : Out(1)
        A command is under way.
    """

    def __init__(self, params: AttentionParams) -> None:
        self.params = params
        super().__init__(
            {
                "command": In(stream.Signature(command_layout(params))),
                "x": In(stream.Signature(elements_layout(params))),
                "operand": In(stream.Signature(operand_layout(params))),
                "partial": In(stream.Signature(partial_layout(params))),
                "output": Out(stream.Signature(output_layout(params))),
                "result": Out(stream.Signature(result_layout(params))),
                "busy": Out(1),
            }
        )

"""Attention unit: number formats, tables and the bit-exact golden model."""

from ahasd.models.attention.commands import Command, Op, entropy_scale, epsilon_sum
from ahasd.models.attention.formats import AttentionParams
from ahasd.models.attention.state import State
from ahasd.models.attention.unit import AttentionUnit, Outcome, Result

__all__ = [
    "AttentionParams",
    "AttentionUnit",
    "Command",
    "Op",
    "Outcome",
    "Result",
    "State",
    "entropy_scale",
    "epsilon_sum",
]

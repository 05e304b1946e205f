"""Golden model of the attention unit: bit-exact, on whole vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ahasd.models.attention import lanes
from ahasd.models.attention.commands import Command, Op
from ahasd.models.attention.formats import (
    COARSE_STEP,
    DEAD,
    GATE_FACTOR,
    LOG2E,
    LOWEST_REFERENCE,
    ONE,
    POSITION_BITS,
    PRODUCT_GUARD,
    TERM_GUARD,
    UNIT_FRACTION,
    AttentionParams,
)
from ahasd.models.attention.lanes import Integers, Scaling
from ahasd.models.attention.scalars import entropy, norm_scaling, reciprocal
from ahasd.models.attention.state import State
from ahasd.models.attention.tables import Function
from ahasd.models.errors import ConfigError

__all__ = ["NORM_FINAL", "ONE_FINAL", "AttentionUnit", "Outcome", "Result", "pass_scaling"]

NORM_FINAL = 12
"""Right shift of a norm's last product at equal fractions of scale and result: 6 guard bits + 13 - 7."""
ONE_FINAL = TERM_GUARD + ONE.bit_length() - 1 - COARSE_STEP
"""Of a scaled element's product with ONE: what ``windowed`` adds makes it whole."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a command without a vector as its result answers; the last two after LOGITS only."""

    state: State
    entropy: int = 0
    """In 1/256 of H_max."""
    probability: int = 0
    """Of the maximum, 15 fraction bits."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A command's vector, or else its result."""

    out: NDArray[np.int16] | None = None
    result: Result | None = None


def pass_scaling(command: Command) -> Scaling:
    """The lanes' settings that follow from the command alone (all but a norm's last pass)."""
    if command.op is Op.SCALED_ADD:
        shift = PRODUCT_GUARD + command.fraction + command.scale_fraction - command.out_fraction
        return Scaling.rounded(factor=command.parameter, shift=shift, final=ONE_FINAL)
    shift = command.fraction + UNIT_FRACTION + PRODUCT_GUARD - POSITION_BITS
    if command.op.soft:
        return Scaling.rounded(factor=LOG2E, shift=shift)
    final = TERM_GUARD
    if command.op in (Op.GELU, Op.SILU):
        final += UNIT_FRACTION + command.fraction - command.out_fraction
    return Scaling.rounded(factor=GATE_FACTOR, shift=shift, final=final)


class AttentionUnit:
    """One attention unit; its state stays from command to command.

    Parameters
    ----------
    params : AttentionParams, optional
        Lanes matter: a beat's exponentials share a reference.
    """

    def __init__(self, params: AttentionParams | None = None) -> None:
        self.params = params or AttentionParams()
        self.state = State()

    def run(
        self,
        command: Command,
        x: ArrayLike = (),
        scale: ArrayLike = (),
        offset: ArrayLike = (),
        partials: Sequence[State] = (),
    ) -> Outcome:
        """One command.

        Parameters
        ----------
        command : Command
        x : array of int16
            The elements, ``command.length`` of them, if there is a pass over them.
        scale, offset : array of int16
            Norms: the two factors of y x scale + offset. SCALED_ADD: the offset.
        partials : sequence of State
            What other units found, ``command.partials`` of them.

        Raises
        ------
        ConfigError
            If an array's or the partials' number is not the command's, or nothing was reduced yet.
        """
        if len(partials) != command.partials:
            raise ConfigError(f"partials: got {len(partials)}, the command says {command.partials}")
        elements = self._vector("x", x, command, command.reduce or command.apply)
        if command.reduce:
            self.state = self._reduced(command, elements)
        elif command.partials:
            self.state = State()
        for partial in partials:
            self.state = self.state.merged(partial)
        needs = command.op is Op.LOGITS or (command.apply and command.op.reduces)
        if needs and not self.state.count:
            raise ConfigError(f"state: empty, nothing was reduced before this {command.op.name}")
        if not command.apply:
            return Outcome(result=self._result(command))
        factors = self._vector("scale", scale, command, command.op.norm)
        offsets = self._vector("offset", offset, command, command.op.takes_operand)
        return Outcome(out=self._applied(command, elements, factors, offsets))

    def _vector(self, name: str, values: ArrayLike, command: Command, needed: bool) -> Integers:
        array = np.asarray(values, dtype=np.int16).astype(np.int64)
        if needed and array.shape != (command.length,):
            raise ConfigError(f"{name}: {array.shape} elements, the command says {command.length}")
        return array

    def _reduced(self, command: Command, x: Integers) -> State:
        where = int(np.argmax(x))
        index = (command.first + where) % self.params.max_length
        common: dict[str, Any] = {"maximum": int(x[where]), "index": index, "count": command.length}
        if not command.op.soft:
            return State(first=int(x.sum()), second=int((x * x).sum()), **common)
        z = lanes.scaled(x, pass_scaling(command))
        beats = range(0, command.length, self.params.lanes)
        references = np.maximum.accumulate(np.maximum.reduceat(z >> POSITION_BITS, beats) + 1)
        beat = np.arange(command.length) // self.params.lanes
        exponential, product = lanes.terms(lanes.distances(z, references[beat]))
        # A run of beats with one reference is a plain sum; between runs the sums are rescaled.
        starts = np.flatnonzero(np.diff(references, prepend=LOWEST_REFERENCE))
        elements = starts * self.params.lanes
        state = State()
        runs = zip(np.add.reduceat(exponential, elements), np.add.reduceat(product, elements), strict=True)
        for start, (first, second) in zip(starts, runs, strict=True):
            run = State(reference=int(references[start]), first=int(first), second=int(second))
            state = state.merged(run)
        return State(reference=state.reference, first=state.first, second=state.second, **common)

    def _result(self, command: Command) -> Result:
        if command.op is not Op.LOGITS:
            return Result(state=self.state)
        maximum = np.array([self.state.maximum], dtype=np.int64)
        return Result(
            state=self.state,
            entropy=entropy(self.state, command.parameter),
            probability=int(self._softmax(command, maximum)[0]),
        )

    def _softmax(self, command: Command, x: Integers) -> NDArray[np.int16]:
        z = lanes.scaled(x, pass_scaling(command))
        beats = range(0, len(x), self.params.lanes)
        own = (
            np.maximum.reduceat(z >> POSITION_BITS, beats) + 1
        )  # higher than the state's on wrong input only
        reference = np.maximum(self.state.reference, own)[np.arange(len(x)) // self.params.lanes]
        mantissa, shift = lanes.exponentials(lanes.distances(z, reference))
        factor, final = reciprocal(self.state)
        return lanes.output(mantissa * factor, np.minimum(shift + final, DEAD))

    def _applied(self, command: Command, x: Integers, scale: Integers, offset: Integers) -> NDArray[np.int16]:
        op = command.op
        if op is Op.SOFTMAX:
            return self._softmax(command, x)
        scaling = pass_scaling(command)
        if op.norm:
            final = NORM_FINAL + command.scale_fraction - command.out_fraction
            scaling = norm_scaling(self.state, command.parameter, op is Op.LAYER_NORM, final)
        z = lanes.scaled(x, scaling)
        if op in (Op.GELU, Op.SILU):
            function = Function.NORMAL if op is Op.GELU else Function.SIGMOID
            return lanes.output(lanes.gate(z, function) * x, scaling.final)
        factor, shift = lanes.windowed(z)
        return lanes.output(factor * (scale if op.norm else ONE), shift + scaling.final, offset)

"""Random commands and vectors for benches of the attention unit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ahasd.models.attention import (
    AttentionParams,
    AttentionUnit,
    Command,
    Op,
    State,
    entropy_scale,
    epsilon_sum,
)

__all__ = ["Case", "beats_of", "random_command", "random_partials", "random_vector", "sends_of"]

LOW, HIGH = -(1 << 15), (1 << 15) - 1

Elements = NDArray[np.int16]


def beats_of(values: Elements, lanes: int, source: random.Random) -> list[int]:
    """A vector as beats; what is past its end is noise."""
    rest = -len(values) % lanes
    noise = np.array([source.randint(LOW, HIGH) for _ in range(rest)], dtype="<i2")
    raw = np.concatenate([values.astype("<i2"), noise]).tobytes()
    return [int.from_bytes(raw[k : k + 2 * lanes], "little") for k in range(0, len(raw), 2 * lanes)]


def random_vector(source: random.Random, length: int) -> Elements:
    """A vector of one of the kinds with which arithmetic goes wrong."""
    rng = np.random.default_rng(source.getrandbits(32))
    kind = source.randrange(7)
    x: NDArray[Any]
    if kind == 0:
        x = np.full(length, source.choice([LOW, 0, HIGH, source.randint(LOW, HIGH)]))
    elif kind == 1:
        x = np.full(length, LOW)
        x[source.randrange(length)] = HIGH
    elif kind == 2:
        x = np.sort(rng.integers(LOW, HIGH + 1, length))
    elif kind == 3:
        x = source.randint(-30000, 30000) + rng.integers(0, 2, length)
    elif kind == 4:
        x = rng.choice([LOW, HIGH], length)
    else:
        mean, spread = source.randint(-5000, 5000), source.choice([5, 300, 8000])
        x = np.clip(rng.normal(mean, spread, length), LOW, HIGH)
    return x.astype(np.int16)


def random_command(source: random.Random, op: Op, lengths: Sequence[int]) -> Command:
    """A legal command of ``op``; one in five reductions is a merge alone."""
    length = source.choice(lengths)
    fraction, scale_fraction, out_fraction = (source.randint(0, 15) for _ in range(3))
    reduce = op.reduces and source.random() < 0.8
    partials = 0
    if op.reduces:
        partials = source.choice([0, 0, 1, 3]) if reduce else source.randint(1, 3)
    parameter = 0
    if op is Op.SCALED_ADD:
        out_fraction = min(out_fraction, fraction + scale_fraction + 8)
        parameter = source.randint(LOW, HIGH)
    elif op is Op.LOGITS:
        parameter = entropy_scale(source.choice([2, 17, 32000, 1 << 18]))
    elif op.norm:
        out_fraction = min(out_fraction, scale_fraction + 12)
        parameter = epsilon_sum(source.choice([0, 1e-6, 1e-5, 3.0]), length, fraction)
    return Command(
        op=op,
        length=length,
        reduce=reduce,
        partials=partials,
        apply=op.applies and (source.random() < 0.7 or not op.reduces),
        first=source.choice([0, 0, source.randrange(1 << 17)]),
        fraction=fraction,
        scale_fraction=scale_fraction,
        out_fraction=out_fraction,
        parameter=parameter,
    )


def random_partials(source: random.Random, command: Command, params: AttentionParams) -> list[State]:
    """What other units found in their parts, ``command.partials`` of them."""
    states = []
    for _ in range(command.partials):
        length, first = source.choice([1, 7, 40]), source.randrange(1000)
        part = Command(op=command.op, length=length, apply=False, fraction=command.fraction, first=first)
        result = AttentionUnit(params).run(part, random_vector(source, length)).result
        assert result is not None
        states.append(result.state)
    return states


class Case:
    """A command with its inputs, and what the golden unit makes of them."""

    def __init__(self, golden: AttentionUnit, command: Command, source: random.Random) -> None:
        length = command.length if command.reduce or command.apply else 0
        self.command = command
        self.lanes = golden.params.lanes
        self.x, self.scale, self.offset = (random_vector(source, command.length)[:length] for _ in range(3))
        self.partials = random_partials(source, command, golden.params)
        self.expected = golden.run(command, self.x, self.scale, self.offset, self.partials)


def sends_of(case: Case, layouts: dict[str, Any], source: random.Random) -> dict[str, list[int]]:
    """Payloads for each input stream; ``layouts`` are those of ``command`` and ``partial``."""
    command = case.command
    fields = {name: getattr(command, name) for name, _ in layouts["command"]}
    states = [{name: getattr(state, name) for name, _ in layouts["partial"]} for state in case.partials]
    operand: list[int] = []
    if command.apply and command.op.takes_operand:
        scale, offset = (beats_of(v, case.lanes, source) for v in (case.scale, case.offset))
        operand = [a | b << 16 * case.lanes for a, b in zip(scale, offset, strict=True)]
    return {
        "command": [int(layouts["command"].const(fields).as_bits())],
        "x": beats_of(case.x, case.lanes, source) * (command.reduce + command.apply),
        "operand": operand,
        "partial": [int(layouts["partial"].const(state).as_bits()) for state in states],
    }

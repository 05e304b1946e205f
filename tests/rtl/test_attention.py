"""The attention unit is the golden model, bit by bit, under any pressure, and as quick as promised."""

from __future__ import annotations

import random

import pytest

from ahasd.models.attention import AttentionParams, Op

from .attention_bench import random_command, run_commands

LENGTHS = (1, 2, 15, 16, 17, 31, 33, 48, 100)
SMALL = AttentionParams(lanes=4)


@pytest.mark.parametrize("op", list(Op), ids=lambda op: op.name.lower())
@pytest.mark.parametrize("pressure", [0.0, 0.4])
def test_one_operation(op: Op, pressure: float) -> None:
    source = random.Random(f"{op} {pressure}")
    first = random_command(source, op, LENGTHS)
    run_commands([first, *(random_command(source, op, LENGTHS) for _ in range(11))], source, SMALL, pressure)

"""The attention unit is the golden model, bit by bit, under any pressure, and as quick as promised."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal

from ahasd.models.attention import AttentionParams, Command, Op
from ahasd.models.attention import AttentionUnit as GoldenUnit
from ahasd.models.platform import Aau
from ahasd.rtl.attention.unit import AttentionUnit
from ahasd.sim.benches.attention_cases import Case, random_command

from .attention_bench import Side, run_commands
from .bench import simulate

LENGTHS = (1, 2, 3, 4, 5, 15, 16, 17, 31, 64, 100)
SMALL = AttentionParams(lanes=4)
FULL = AttentionParams()


@pytest.mark.parametrize("op", list(Op), ids=lambda op: op.name.lower())
@pytest.mark.parametrize("pressure", [0.0, 0.4])
def test_one_operation(op: Op, pressure: float) -> None:
    source = random.Random(f"{op} {pressure}")
    run_commands([random_command(source, op, LENGTHS) for _ in range(12)], source, SMALL, pressure)


def test_operations_in_any_order_on_all_lanes() -> None:
    source = random.Random(1)
    ops = [source.choice(list(Op)) for _ in range(16)]
    run_commands([random_command(source, op, LENGTHS) for op in ops], source, FULL, 0.2)


def test_a_last_pass_alone_uses_the_state_before() -> None:
    source = random.Random(2)
    reduction = Command(op=Op.SOFTMAX, length=30, fraction=11, apply=False)
    last = Command(op=Op.SOFTMAX, length=30, fraction=11, reduce=False)
    between = Command(op=Op.SILU, length=9, reduce=False)
    run_commands([reduction, last, between, last, last], source, SMALL, 0.1)


def plain(op: Op, length: int) -> Command:
    """All passes of ``op``."""
    return Command(op=op, length=length, reduce=op.reduces, apply=op.applies, fraction=8, scale_fraction=8)


def test_cycles() -> None:
    """A beat a cycle in every pass, and at most the platform's pipeline over that."""
    lengths = (1, 16, 161)
    commands = [plain(op, length) for op in Op for length in lengths]
    cycles = run_commands(commands, random.Random(3), FULL, 0.0)
    over: dict[Op, set[int]] = {op: set() for op in Op}
    for command, taken in zip(commands, cycles, strict=True):
        over[command.op].add(taken - (command.reduce + command.apply) * FULL.beats(command.length))
    assert over == {
        Op.SOFTMAX: {35},
        Op.LOGITS: {54},
        Op.LAYER_NORM: {62},
        Op.RMS_NORM: {59},
        Op.GELU: {13},
        Op.SILU: {13},
        Op.SCALED_ADD: {13},
        Op.REDUCE: {20},
    }
    assert max(map(max, over.values())) <= Aau().pipeline
    assert FULL.lanes == Aau().lanes


def test_reset_in_the_middle() -> None:
    source = random.Random(4)
    unit: Any = AttentionUnit(SMALL)
    reset = Signal()

    async def bench(ctx: Any) -> None:
        for cycles in (1, 7, 30, 55):
            for op in (Op.LOGITS, Op.LAYER_NORM):
                side = Side(ctx, unit, source, 0.0)
                layout = side.layouts["command"]
                fields = {name: getattr(plain(op, 60), name) for name, _ in layout}
                ctx.set(unit.command.payload, fields)
                for name in ("command", "x", "operand"):
                    ctx.set(getattr(unit, name).valid, 1)
                ctx.set(unit.output.ready, 1)
                for _ in range(cycles):
                    await ctx.tick()
                for name in ("command", "x", "operand"):
                    ctx.set(getattr(unit, name).valid, 0)
                ctx.set(reset, 1)
                await ctx.tick()
                ctx.set(reset, 0)
                assert not ctx.get(unit.busy | unit.output.valid | unit.result.valid)
                golden = GoldenUnit(SMALL)
                for check in (Op.LOGITS, Op.SOFTMAX):
                    await side.run(Case(golden, plain(check, 21), source))

    simulate(ResetInserter(reset)(unit), bench)


def test_garbage_commands_end() -> None:
    """Random bits as commands, with ends to both streams that a command may use: never a hang."""
    source = random.Random(5)
    unit: Any = AttentionUnit(SMALL)

    async def bench(ctx: Any) -> None:
        for name in ("x", "operand", "partial"):
            ctx.set(getattr(unit, name).valid, 1)
        for name in ("output", "result"):
            ctx.set(getattr(unit, name).ready, 1)
        payload = unit.command.payload.as_value()
        for _ in range(60):
            ctx.set(payload, source.getrandbits(len(payload)))
            ctx.set(unit.command.payload.length, source.choice([1, 4, 9, 40]))
            for name in ("x", "operand", "partial"):
                port = getattr(unit, name).payload.as_value()
                ctx.set(port, source.getrandbits(len(port)))
            ctx.set(unit.command.valid, 1)
            await ctx.tick()
            ctx.set(unit.command.valid, 0)
            for _ in range(400):
                if not ctx.get(unit.busy):
                    break
                await ctx.tick()
            assert not ctx.get(unit.busy)

    simulate(unit, bench)

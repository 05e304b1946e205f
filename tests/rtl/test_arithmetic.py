"""The serial unit multiplies and divides as Python does, in 32 cycles."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from ahasd.rtl.arithmetic import SerialArithmetic

from .bench import PARAMS, corners, cycles_while, idle, pulse, simulate

BITS = PARAMS.ratio_bits
TOP = (1 << BITS) - 1


def expected(multiply: int, a: int, b: int) -> int:
    if multiply:
        return a * b
    return a // b if b else TOP


@pytest.mark.parametrize("multiply", [0, 1], ids=["divide", "multiply"])
def test_corner_and_random_operands(multiply: int) -> None:
    dut = SerialArithmetic(PARAMS)
    source = random.Random(multiply)
    operands = list(product(corners(BITS), repeat=2))
    operands += [(source.getrandbits(BITS), source.getrandbits(source.randint(1, BITS))) for _ in range(60)]

    async def bench(ctx: Any) -> None:
        output = dut.product if multiply else dut.quotient
        for a, b in operands:
            await pulse(ctx, dut, start=1, multiply=multiply, a=a, b=b)
            assert await cycles_while(ctx, dut.busy) == BITS
            assert ctx.get(output) == expected(multiply, a, b), (a, b)

    simulate(dut, bench)


def test_results_hold_until_the_next_start() -> None:
    dut = SerialArithmetic(PARAMS)

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, start=1, a=1_000_003, b=17)
        await cycles_while(ctx, dut.busy)
        for junk in range(100):
            ctx.set(dut.a, junk)
            ctx.set(dut.b, ~junk & TOP)
            ctx.set(dut.multiply, junk & 1)
            await ctx.tick()
            assert ctx.get(dut.quotient) == 1_000_003 // 17
            assert not ctx.get(dut.busy)

    simulate(dut, bench)


@pytest.mark.parametrize("after", [1, 7, 31])
def test_start_while_busy_restarts(after: int) -> None:
    dut = SerialArithmetic(PARAMS)

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, start=1, multiply=1, a=TOP, b=TOP)
        await idle(ctx, after - 1)
        assert ctx.get(dut.busy)
        await pulse(ctx, dut, start=1, multiply=0, a=98_765_432, b=1234)
        assert await cycles_while(ctx, dut.busy) == BITS
        assert ctx.get(dut.quotient) == 98_765_432 // 1234

    simulate(dut, bench)


def test_back_to_back_without_a_pause() -> None:
    dut = SerialArithmetic(PARAMS)
    operations = [(1, 3, 5), (0, 100, 7), (0, TOP, 1), (1, TOP, TOP), (0, 5, 0)]

    async def bench(ctx: Any) -> None:
        for multiply, a, b in operations:
            await pulse(ctx, dut, start=1, multiply=multiply, a=a, b=b)
            await idle(ctx, BITS)
            assert not ctx.get(dut.busy)
            assert ctx.get(dut.product if multiply else dut.quotient) == expected(multiply, a, b)

    simulate(dut, bench)

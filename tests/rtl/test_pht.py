"""The pattern history table: 512 saturating counters behind a two-cycle pipeline."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ahasd.rtl.pht import ROW_COUNTERS, PatternHistoryTable

from .bench import PARAMS, cycles_while, pulse, simulate

ENTRIES = PARAMS.pht_entries
WEAKLY_GO_ON = 2


async def cleared(ctx: Any, dut: PatternHistoryTable) -> None:
    await pulse(ctx, dut, clear=1)
    assert await cycles_while(ctx, dut.busy) == ENTRIES // ROW_COUNTERS


async def look(ctx: Any, dut: PatternHistoryTable, index: int) -> int:
    """Look, two cycles; the answer."""
    assert not ctx.get(dut.answered)
    await pulse(ctx, dut, look=1, index=index)
    assert not ctx.get(dut.answered)
    assert ctx.get(dut.at) == index
    await ctx.tick()
    assert ctx.get(dut.answered)
    return ctx.get(dut.go_on)


async def train(ctx: Any, dut: PatternHistoryTable, index: int, up: bool) -> None:
    """Train, two cycles, the least there is between operations."""
    await pulse(ctx, dut, train=1, up=int(up), index=index)
    assert ctx.get(dut.at) == index
    await ctx.tick()


def trained(counter: int, up: bool) -> int:
    return min(counter + 1, 3) if up else max(counter - 1, 0)


async def measure(ctx: Any, dut: PatternHistoryTable, index: int) -> int:
    """A counter's value, found by counting it down to where it says stop and up again."""
    downs = 0
    while await look(ctx, dut, index):
        await ctx.tick()
        await train(ctx, dut, index, up=False)
        await ctx.tick()
        downs += 1
        assert downs <= 2
    for _ in range(downs):
        await ctx.tick()
        await train(ctx, dut, index, up=True)
    await ctx.tick()
    return 1 + downs  # 0 and 1 look alike


@pytest.mark.parametrize("spread", [1, 16, ENTRIES], ids=["one", "two-rows", "all"])
def test_random_operations_two_cycles_apart(spread: int) -> None:
    dut = PatternHistoryTable(PARAMS)
    source = random.Random(spread)
    table = [WEAKLY_GO_ON] * ENTRIES
    base = source.randrange(ENTRIES)

    async def bench(ctx: Any) -> None:
        await cleared(ctx, dut)
        expected = None  # of the look two cycles ago
        for _ in range(1000):
            index = (base + source.randrange(spread)) % ENTRIES
            kind = source.choice(["look", "up", "up", "down", "down", "none"])
            assert ctx.get(dut.answered) == (expected is not None)
            if expected is not None:
                assert ctx.get(dut.go_on) == expected
            expected = None
            if kind == "look":
                expected = table[index] >= WEAKLY_GO_ON
                await pulse(ctx, dut, look=1, index=index)
            elif kind == "none":
                await pulse(ctx, dut, up=1, index=index)
            else:
                table[index] = trained(table[index], kind == "up")
                await pulse(ctx, dut, train=1, up=int(kind == "up"), index=index)
            await ctx.tick()

    simulate(dut, bench)


def test_counters_saturate() -> None:
    dut = PatternHistoryTable(PARAMS)

    async def bench(ctx: Any) -> None:
        await cleared(ctx, dut)
        for index in (0, 7, 8, ENTRIES - 1):
            for _ in range(6):
                await train(ctx, dut, index, up=True)
            await train(ctx, dut, index, up=False)
            assert await look(ctx, dut, index)  # 3 - 1
            await ctx.tick()
            await train(ctx, dut, index, up=False)
            assert not await look(ctx, dut, index)
            await ctx.tick()
            for _ in range(6):
                await train(ctx, dut, index, up=False)
            await train(ctx, dut, index, up=True)
            assert not await look(ctx, dut, index)  # 0 + 1
            await ctx.tick()
            await train(ctx, dut, index, up=True)
            assert await look(ctx, dut, index)
            await ctx.tick()

    simulate(dut, bench)


def test_clear_sets_every_counter_to_weakly_go_on() -> None:
    dut = PatternHistoryTable(PARAMS)
    source = random.Random(5)

    async def bench(ctx: Any) -> None:
        await cleared(ctx, dut)
        for index in range(ENTRIES):
            for _ in range(2):
                await train(ctx, dut, index, up=bool(source.getrandbits(1)))
        await cleared(ctx, dut)
        for index in range(ENTRIES):
            assert await measure(ctx, dut, index) == WEAKLY_GO_ON, index

    simulate(dut, bench)


def test_neighbours_in_a_row_are_untouched() -> None:
    dut = PatternHistoryTable(PARAMS)
    row = 5 * ROW_COUNTERS

    async def bench(ctx: Any) -> None:
        await cleared(ctx, dut)
        for column in range(ROW_COUNTERS):
            await train(ctx, dut, row + column, up=False)
            answers = []
            for other in range(ROW_COUNTERS):
                answers.append(await look(ctx, dut, row + other))
                await ctx.tick()
            assert answers == [int(other > column) for other in range(ROW_COUNTERS)]

    simulate(dut, bench)

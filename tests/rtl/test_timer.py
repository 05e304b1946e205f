"""Cycle tables and pre-verify timer against the golden arithmetic."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ahasd.models.control.timer import CycleTable, duration, longest_fit
from ahasd.rtl.timer import PreverifyTimer, Table

from .bench import PARAMS, corners, cycles_while, pulse, simulate

TIME_MASK = (1 << PARAMS.time_bits) - 1
RATIO_TOP = (1 << PARAMS.ratio_bits) - 1
LENGTH_BITS = PARAMS.context_position_bits
TOP = PARAMS.duration_max
LOAD, RECORD, ANSWER = 12, 34, 49


class Pair:
    """A timer and the three golden tables, given the same operations."""

    def __init__(self, ctx: Any, dut: PreverifyTimer) -> None:
        self.ctx, self.dut = ctx, dut
        self.tables = {table: CycleTable(PARAMS) for table in Table}

    async def load(self, npu: int = 0, draft: int = 0, preverify: int = 0) -> None:
        for table, ratio in zip(Table, (npu, draft, preverify), strict=True):
            self.tables[table].preset(ratio)
        presets = {"npu_preset": npu, "draft_preset": draft, "preverify_preset": preverify}
        for name, value in presets.items():
            self.ctx.set(getattr(self.dut, name), value)  # configuration: stable
        assert not self.ctx.get(self.dut.busy)
        await pulse(self.ctx, self.dut, load=1)
        assert await cycles_while(self.ctx, self.dut.busy) == LOAD

    async def record(self, table: Table, since: int, now: int, length: int) -> None:
        self.tables[table].record(duration(now, since, PARAMS), length)
        self.ctx.set(self.dut.now, now)
        await pulse(self.ctx, self.dut, record=1, table=table, since=since, length=length)
        assert await cycles_while(self.ctx, self.dut.busy) == RECORD

    def left(self, since: int, now: int, length: int) -> int:
        tables = self.tables
        return (
            tables[Table.NVCT].predict(length) - duration(now, since, PARAMS) - tables[Table.PDCT].predict(1)
        )

    async def ask(self, since: int, now: int, length: int, most: int) -> int:
        """Ask; the answer, which must be right, in the documented cycle and from then on."""
        ctx, dut = self.ctx, self.dut
        expected = longest_fit(self.left(since, now, length), self.tables[Table.PVCT].predict(1), most)
        ctx.set(dut.now, now)
        await pulse(ctx, dut, ask=1, since=since, length=length, most=most)
        for _ in range(ANSWER - 1):
            assert ctx.get(dut.busy)
            assert not ctx.get(dut.answered)
            await ctx.tick()
        assert ctx.get(dut.answered)
        assert ctx.get(dut.tokens) == expected
        await ctx.tick()
        assert not ctx.get(dut.busy)
        assert not ctx.get(dut.answered)
        assert ctx.get(dut.tokens) == expected
        return expected


@pytest.mark.parametrize("seed", range(3))
def test_random_operations_back_to_back(seed: int) -> None:
    """Ratios of all sizes, and questions near the border of what fits."""
    dut = PreverifyTimer(PARAMS)
    source = random.Random(seed)

    async def bench(ctx: Any) -> None:
        pair = Pair(ctx, dut)
        await pair.load(*(source.getrandbits(source.choice([8, 16, 32])) for _ in Table))
        answers = set()
        for _ in range(70):
            since = source.getrandbits(32)
            if source.random() < 0.4:
                table = source.choice(list(Table))
                ticks = source.getrandbits(source.choice([4, 12, 24, 28, 32]))
                length = source.randint(1, (16, 1 << LENGTH_BITS - 1)[table is Table.NVCT])
                await pair.record(table, since, since + ticks & TIME_MASK, length)
                continue
            length = source.randint(1, (1 << LENGTH_BITS) - 1)
            most = source.randint(1, PARAMS.preverify_max)
            cost = pair.tables[Table.PVCT].predict(1)
            # Elapsed such that n tokens, give or take one tick, fit.
            elapsed = pair.left(0, 0, length) - cost * source.randint(0, 9) + source.randint(-1, 1)
            answers.add(await pair.ask(since, since + max(elapsed, 0) & TIME_MASK, length, most))
        assert len(answers) > 4

    simulate(dut, bench)


@pytest.mark.parametrize("ticks", [0, 1, TOP - 1, TOP, TOP + 1, 1 << 31, TIME_MASK])
@pytest.mark.parametrize("since", [0, TIME_MASK - 5])
def test_durations_wrap_and_saturate(since: int, ticks: int) -> None:
    """All four entries recorded, then the border found by asking on both sides of it."""
    dut = PreverifyTimer(PARAMS)

    async def bench(ctx: Any) -> None:
        pair = Pair(ctx, dut)
        await pair.load(npu=5, preverify=1 << 8)
        for _ in range(PARAMS.cycle_entries):
            await pair.record(Table.NVCT, since, since + ticks & TIME_MASK, 100)
        time = min(min(ticks, TOP) * 256 // 100 * 100 // 256, TOP)
        assert pair.tables[Table.NVCT].predict(100) == time
        for elapsed in {max(time - 3, 0), max(time - 1, 0), time, time + 1}:
            await pair.ask(since, since + elapsed & TIME_MASK, 100, 8)

    simulate(dut, bench)


@pytest.mark.parametrize("ratio", corners(PARAMS.ratio_bits))
def test_predictions_saturate(ratio: int) -> None:
    dut = PreverifyTimer(PARAMS)

    async def bench(ctx: Any) -> None:
        pair = Pair(ctx, dut)
        await pair.load(npu=ratio, preverify=1 << 8)
        for length in corners(LENGTH_BITS)[1:]:
            time = pair.tables[Table.NVCT].predict(length)
            for elapsed in {max(time - 2, 0), time}:
                await pair.ask(0, elapsed, length, 8)

    simulate(dut, bench)


def test_an_elapsed_time_beyond_24_bits_leaves_nothing() -> None:
    dut = PreverifyTimer(PARAMS)

    async def bench(ctx: Any) -> None:
        pair = Pair(ctx, dut)
        await pair.load(npu=RATIO_TOP, draft=0, preverify=0)
        assert await pair.ask(0, TOP + 9, 4, 8) == 8  # both saturated: 0 left, tokens cost nothing
        await pair.load(npu=RATIO_TOP, draft=0, preverify=1 << 8)
        assert await pair.ask(0, TOP + 9, 4, 8) == 0
        await pair.load(npu=RATIO_TOP, draft=RATIO_TOP, preverify=RATIO_TOP)
        assert await pair.ask(0, 0, 4, 8) == 0

    simulate(dut, bench)


def test_zero_costs_and_negative_left() -> None:
    dut = PreverifyTimer(PARAMS)

    async def bench(ctx: Any) -> None:
        pair = Pair(ctx, dut)
        await pair.load()
        for most in range(1, PARAMS.preverify_max + 1):
            assert await pair.ask(7, 7, 1000, most) == most  # 0 >= n x 0
        assert await pair.ask(7, 8, 1000, 8) == 0  # -1 < 0
        await pair.load(draft=1 << 8)
        assert await pair.ask(7, 7, 1000, 8) == 0
        await pair.load(npu=256, draft=255, preverify=256)
        assert await pair.ask(0, 0, 3, 8) == 3
        assert await pair.ask(0, 0, 3, 2) == 2
        assert await pair.ask(0, 1, 3, 8) == 2

    simulate(dut, bench)


def test_each_table_replaces_its_oldest_entry() -> None:
    dut = PreverifyTimer(PARAMS)

    async def bench(ctx: Any) -> None:
        pair = Pair(ctx, dut)
        await pair.load(npu=1 << 20, draft=3 << 8, preverify=5 << 8)
        for number in range(PARAMS.cycle_entries + 3):
            for table, length in ((Table.NVCT, 40), (Table.PDCT, 3), (Table.PVCT, 2)):
                await pair.record(table, 0, (number + 2) ** 3 * length, length)
                left = pair.left(0, 0, 40)
                cost = pair.tables[Table.PVCT].predict(1)
                await pair.ask(0, max(left - 4 * cost, 0), 40, 8)
                await pair.ask(0, max(left - 4 * cost + 1, 0), 40, 8)

    simulate(dut, bench)


def test_load_starts_the_rings_anew() -> None:
    """After an odd number of records, ``load`` makes entry 0 the oldest again."""
    dut = PreverifyTimer(PARAMS)

    async def bench(ctx: Any) -> None:
        pair = Pair(ctx, dut)
        await pair.load(npu=1)
        for table in Table:
            await pair.record(table, 0, 500, 1)
        await pair.load(npu=1 << 12, draft=1 << 8, preverify=1 << 8)
        for ticks in (900, 10, 10, 10, 10):
            await pair.record(Table.PVCT, 0, ticks, 1)
            left = pair.left(0, 0, 64)
            await pair.ask(0, 0, 64, 8)
            await pair.ask(0, max(left - 4 * pair.tables[Table.PVCT].predict(1), 0), 64, 8)

    simulate(dut, bench)

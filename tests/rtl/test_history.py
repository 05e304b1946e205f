"""LEHT and LCEHT are the golden predictor's."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ahasd.models.control.predictor import EntropyHistoryPredictor
from ahasd.rtl.history import EntropyHistory

from .bench import PARAMS, pulse, simulate

BUCKETS = 1 << PARAMS.bucket_bits


def halves(leht: list[int]) -> tuple[int, int]:
    half = len(leht) // 2
    return sum(leht[half:]) // half, sum(leht[:half]) // half


def read(ctx: Any, dut: EntropyHistory) -> tuple[int, int]:
    return ctx.get(dut.older), ctx.get(dut.newer)


@pytest.mark.parametrize("seed", range(3))
def test_random_operations_every_cycle(seed: int) -> None:
    dut = EntropyHistory(PARAMS)
    golden = EntropyHistoryPredictor(PARAMS)
    source = random.Random(seed)

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, clear=1)
        for _ in range(1500):
            bucket, committed = source.randrange(BUCKETS), source.randrange(BUCKETS)
            operation = source.choice(["shift"] * 6 + ["restore", "none", "clear" if seed == 0 else "none"])
            commit = source.random() < 0.3 and operation != "clear"
            lceht = list(golden.lceht)
            match operation:
                case "shift":
                    golden.close(bucket, 0)
                case "restore":
                    golden.leht = lceht  # as it was before this cycle's commit
                case "clear":
                    golden.start_sequence()
            if commit:
                golden.lceht = [committed, *lceht[:-1]]
            inputs = {"bucket": bucket, "commit": int(commit), "commit_bucket": committed}
            if operation != "none":
                inputs[operation] = 1
            await pulse(ctx, dut, **inputs)
            assert read(ctx, dut) == halves(golden.leht)

    simulate(dut, bench)


def test_the_bucket_being_shifted_in_counts_at_once() -> None:
    dut = EntropyHistory(PARAMS)
    golden = EntropyHistoryPredictor(PARAMS)

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, clear=1)
        for bucket in [7, 7, 0, 3, 7, 1, 5, 2, 6, 7, 7, 7]:
            before = halves(golden.leht)
            golden.close(bucket, 0)
            ctx.set(dut.bucket, bucket)
            assert read(ctx, dut) == before
            ctx.set(dut.shift, 1)
            assert read(ctx, dut) == halves(golden.leht)
            await ctx.tick()
            ctx.set(dut.shift, 0)
            assert read(ctx, dut) == halves(golden.leht)

    simulate(dut, bench)


def test_saturated_history_and_means_round_down() -> None:
    dut = EntropyHistory(PARAMS)
    top = BUCKETS - 1

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, clear=1)
        for _ in range(PARAMS.history):
            await pulse(ctx, dut, shift=1, bucket=top)
        assert read(ctx, dut) == (top, top)
        await pulse(ctx, dut, shift=1, bucket=top - 1)
        assert read(ctx, dut) == (top, top - 1)  # 27 / 4 rounds down
        await pulse(ctx, dut, restore=1)
        assert read(ctx, dut) == (0, 0)

    simulate(dut, bench)

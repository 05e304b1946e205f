"""The average entropy's bucket is the golden model's, three cycles after the last token."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ahasd.models.control.predictor import bucket_of
from ahasd.rtl.entropy import EntropyAverage

from .bench import PARAMS, idle, pulse, simulate

TOP = (1 << PARAMS.entropy_bits) - 1
DIVISION = PARAMS.bucket_bits


def spread(total: int, tokens: int) -> list[int]:
    """``tokens`` entropies that sum to ``total``."""
    each, rest = divmod(total, tokens)
    return [each + (k < rest) for k in range(tokens)]


def batches_at_thresholds() -> list[list[int]]:
    """For every length, sums just below, at and above each multiple of 32 n, and the extremes."""
    found = []
    for tokens in range(1, PARAMS.max_draft + 1):
        sums = {0, TOP * tokens}
        for bucket in range(1, 1 << PARAMS.bucket_bits):
            border = (bucket << PARAMS.entropy_bits - PARAMS.bucket_bits) * tokens
            sums |= {border - 1, border, border + 1}
        found += [spread(total, tokens) for total in sorted(sums)]
    return found


def random_batches(seed: int, count: int) -> list[list[int]]:
    source = random.Random(seed)
    lengths = (source.randint(1, PARAMS.max_draft) for _ in range(count))
    return [[source.randint(0, TOP) for _ in range(length)] for length in lengths]


async def add_batch(ctx: Any, dut: EntropyAverage, entropies: list[int], gap: int = 0) -> None:
    """Add a batch's tokens; returns in the cycle after the last."""
    for number, entropy in enumerate(entropies, 1):
        assert ctx.get(dut.count) == number - 1
        await pulse(ctx, dut, add=1, entropy=entropy, last=int(number == len(entropies)))
        if number < len(entropies):
            await idle(ctx, gap)


@pytest.mark.parametrize(
    "batches", [batches_at_thresholds(), random_batches(1, 150)], ids=["thresholds", "random"]
)
def test_bucket_back_to_back(batches: list[list[int]]) -> None:
    dut = EntropyAverage(PARAMS)

    async def bench(ctx: Any) -> None:
        for entropies in batches:
            await add_batch(ctx, dut, entropies)
            await idle(ctx, DIVISION)
            assert ctx.get(dut.bucket) == bucket_of(sum(entropies), len(entropies), PARAMS), entropies
            assert ctx.get(dut.count) == 0

    simulate(dut, bench)


def test_tokens_may_come_with_pauses_and_the_bucket_holds() -> None:
    dut = EntropyAverage(PARAMS)

    async def bench(ctx: Any) -> None:
        previous = None
        for entropies in random_batches(2, 20):
            for number, entropy in enumerate(entropies, 1):
                if previous is not None:
                    assert ctx.get(dut.bucket) == previous
                await pulse(ctx, dut, add=1, entropy=entropy, last=int(number == len(entropies)))
                await idle(ctx, DIVISION if number == len(entropies) else 3)
            previous = bucket_of(sum(entropies), len(entropies), PARAMS)
            assert ctx.get(dut.bucket) == previous

    simulate(dut, bench)


def test_entropy_and_last_count_only_with_add() -> None:
    dut = EntropyAverage(PARAMS)

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, add=1, entropy=200)
        await pulse(ctx, dut, entropy=255, last=1)
        assert ctx.get(dut.count) == 1
        await pulse(ctx, dut, add=1, entropy=100, last=1)
        await idle(ctx, DIVISION)
        assert ctx.get(dut.bucket) == bucket_of(300, 2, PARAMS)

    simulate(dut, bench)


@pytest.mark.parametrize("wait", range(DIVISION + 1))
def test_clear_drops_the_open_batch_and_a_division(wait: int) -> None:
    dut = EntropyAverage(PARAMS)

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, add=1, entropy=255)
        await pulse(ctx, dut, clear=1)
        assert ctx.get(dut.count) == 0
        await add_batch(ctx, dut, [255] * 5)
        await idle(ctx, wait)
        await pulse(ctx, dut, clear=1)
        assert ctx.get(dut.count) == 0
        await add_batch(ctx, dut, [64, 65])
        await idle(ctx, DIVISION)
        assert ctx.get(dut.bucket) == bucket_of(129, 2, PARAMS)

    simulate(dut, bench)

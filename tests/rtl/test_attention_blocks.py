"""Parts of the attention unit, each against what it says it computes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from ahasd.models.attention import AttentionParams, State
from ahasd.models.attention.formats import MEAN_FRACTION, NORMALISED_BITS, POSITION_BITS
from ahasd.models.attention.tables import Function, interpolate
from ahasd.rtl.attention.mean import MeanDivider
from ahasd.rtl.attention.multiplier import LaneMultiplier
from ahasd.rtl.attention.normaliser import Normaliser
from ahasd.rtl.attention.scalar_multiplier import A_BITS, B_DIGITS, ScalarMultiplier
from ahasd.rtl.attention.segment_table import SegmentTable
from ahasd.rtl.attention.sums import SETTLE, RunningSums
from ahasd.rtl.attention.tree import TREE_STAGES, LaneSum, LargestLane

from .bench import corners, cycles_while, idle, pulse, simulate

PARAMS = AttentionParams()


def test_lane_multiplier() -> None:
    """All corners, a product a cycle, two cycles later."""
    dut = LaneMultiplier()
    sides = [-(1 << 16), -(1 << 16) + 1, -257, -1, 0, 1, 255, 256, (1 << 16) - 1]
    pairs = [(a, b) for a in sides for b in sides]

    async def bench(ctx: Any) -> None:
        found = []
        for a, b in [*pairs, (0, 0), (0, 0)]:
            ctx.set(dut.a, a)
            ctx.set(dut.b, b)
            await ctx.tick()
            found.append(ctx.get(dut.product))
        assert found[1:-1] == [a * b for a, b in pairs]

    simulate(dut, bench)


@pytest.mark.parametrize("function", list(Function), ids=lambda function: function.name.lower())
def test_segment_table(function: Function) -> None:
    dut = SegmentTable([function])
    positions = [*range(0, 1 << POSITION_BITS, 61), (1 << POSITION_BITS) - 1]

    async def bench(ctx: Any) -> None:
        for complement in (0, 1):
            ctx.set(dut.complement, complement)
            for position in positions:
                ctx.set(dut.position, position)
                await ctx.tick()
                value = int(interpolate(function, position))
                assert ctx.get(dut.value) == ((1 << 15) - value if complement else value)

    simulate(dut, bench)


@pytest.mark.parametrize("lanes", [2, 16, 64])
def test_trees(lanes: int) -> None:
    rng = np.random.default_rng(lanes)
    total, largest = LaneSum(lanes, 16), LargestLane(lanes)
    low, high = -(1 << 15), (1 << 15) - 1
    vectors = [np.full(lanes, low), np.full(lanes, high), *rng.integers(low, high + 1, (20, lanes))]
    vectors += list(rng.integers(0, 2, (20, lanes)))  # many ties

    async def sums(ctx: Any) -> None:
        for vector in vectors:
            for k, value in enumerate(vector):
                ctx.set(total.terms[k], int(value))
            await idle(ctx, TREE_STAGES)
            assert ctx.get(total.total) == vector.sum()

    async def maxima(ctx: Any) -> None:
        for vector in vectors:
            for k, value in enumerate(vector):
                ctx.set(largest.elements[k], int(value))
            await idle(ctx, TREE_STAGES)
            assert (ctx.get(largest.largest), ctx.get(largest.lane)) == (vector.max(), np.argmax(vector))

    simulate(total, sums)
    simulate(largest, maxima)


def test_running_sums_follow_the_state() -> None:
    """Additions every cycle with references that rise, and exchanges in between."""
    dut = RunningSums()
    source = random.Random(1)

    def term() -> State:
        return State(first=source.getrandbits(37), second=source.getrandbits(37), reference=reference)

    async def bench(ctx: Any) -> None:
        nonlocal reference
        await pulse(ctx, dut, clear=1)
        state = State(reference=0)
        for _ in range(40):
            for _ in range(source.randint(1, 6)):
                step = source.choice([0, 0, 1, 5, 31, 63])
                reference += step
                beat = term()
                state = state.merged(beat)
                await pulse(ctx, dut, add=1, a=beat.first, b=beat.second, step=step)
            assert ctx.get(dut.first) == state.first
            assert not ctx.get(dut.settled)
            assert await cycles_while(ctx, ~dut.settled) == SETTLE
            assert ctx.get(dut.second) == state.second
            # A partial with a lower reference: it is what gets shifted.
            step = source.choice([0, 1, 17, 63])
            low = State(
                first=source.getrandbits(50), second=source.getrandbits(50), reference=reference - step
            )
            state = state.merged(low)
            await pulse(ctx, dut, exchange=1, a=low.first, b=low.second)
            await pulse(ctx, dut, again=1, step=step)
            await idle(ctx, SETTLE)
            assert (ctx.get(dut.first), ctx.get(dut.second)) == (state.first, state.second)

    reference = 0
    simulate(dut, bench)


def test_normaliser() -> None:
    dut = Normaliser()
    source = random.Random(2)
    values = [1 << k for k in range(NORMALISED_BITS)] + [(1 << k) - 1 for k in range(1, NORMALISED_BITS + 1)]

    async def bench(ctx: Any) -> None:
        for value in values:
            await pulse(ctx, dut, load=1, value=value)
            assert await cycles_while(ctx, dut.busy) == 4
            count = NORMALISED_BITS - value.bit_length()
            assert (ctx.get(dut.count), ctx.get(dut.shifted)) == (count, value << count)
            other = source.getrandbits(NORMALISED_BITS)
            await pulse(ctx, dut, load=1, follow=1, value=other)
            await cycles_while(ctx, dut.busy)
            assert ctx.get(dut.count) == count
            assert ctx.get(dut.shifted) == (other << count) % (1 << NORMALISED_BITS)

    simulate(dut, bench)


def test_scalar_multiplier() -> None:
    dut = ScalarMultiplier()

    async def bench(ctx: Any) -> None:
        for digits in range(1, B_DIGITS + 1):
            for a in corners(min(A_BITS, NORMALISED_BITS - 8 * digits)):
                for b in corners(8 * digits):
                    await pulse(ctx, dut, start=1, a=a, b=b, digits=digits)
                    assert await cycles_while(ctx, dut.busy) == digits + 1
                    assert ctx.get(dut.product) == a * b

    simulate(dut, bench)


def test_mean_divider() -> None:
    dut = MeanDivider(PARAMS)
    source = random.Random(3)
    cases = []
    for count in (1, 2, 3, 7, 768, 4096, 5461, (1 << 18) - 1, 1 << 18):
        low, high = -(count << 15), count * ((1 << 15) - 1)
        cases += [(total, count) for total in (low, low + 1, -1, 0, 1, count - 1, high - 1, high)]
        cases += [(source.randint(low, high), count) for _ in range(5)]

    async def bench(ctx: Any) -> None:
        for total, count in cases:
            ctx.set(dut.count, count)
            await pulse(ctx, dut, start=1, total=total)
            assert await cycles_while(ctx, dut.busy) == 18
            mean = (total << MEAN_FRACTION) // count
            assert ctx.get(dut.whole) == mean >> MEAN_FRACTION
            assert ctx.get(dut.fraction) == mean % (1 << MEAN_FRACTION)

    simulate(dut, bench)

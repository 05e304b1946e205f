"""Counters count what they are told, modulo their width."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ahasd.models.control.params import UnitParams
from ahasd.models.control.unit import COUNTERS
from ahasd.rtl.counters import Counters
from ahasd.synth.formal.opened import Opened

from .bench import PARAMS, pulse, simulate


def values(ctx: Any, dut: Counters) -> dict[str, int]:
    return {name: ctx.get(dut.values[name]) for name in COUNTERS}


@pytest.mark.parametrize("bits", [5, 32])
def test_random_increments_every_cycle(bits: int) -> None:
    params = UnitParams(counter_bits=bits)
    dut = Counters(params)
    source = random.Random(bits)
    expected = dict.fromkeys(COUNTERS, 0)

    async def bench(ctx: Any) -> None:
        wraps = 0
        for _ in range(800):
            count = source.getrandbits(len(COUNTERS))
            dropped = source.randint(0, params.queue_depth)
            preverified = source.randint(0, params.preverify_max)
            amounts = {"dropped": dropped, "preverified": preverified}
            for number, name in enumerate(COUNTERS):
                if count >> number & 1:
                    total = expected[name] + amounts.get(name, 1)
                    wraps += total >> bits
                    expected[name] = total % (1 << bits)
            await pulse(ctx, dut, count=count, dropped=dropped, preverified=preverified)
            assert values(ctx, dut) == expected
        assert wraps > 0 or bits == 32

    simulate(dut, bench)


def test_each_bit_is_its_own_counter_in_the_formats_order() -> None:
    dut = Counters(PARAMS)

    async def bench(ctx: Any) -> None:
        for number, name in enumerate(COUNTERS):
            await pulse(ctx, dut, clear=1)
            await pulse(ctx, dut, count=1 << number, dropped=100, preverified=7)
            amount = {"dropped": 100, "preverified": 7}.get(name, 1)
            assert values(ctx, dut) == dict.fromkeys(COUNTERS, 0) | {name: amount}

    simulate(dut, bench)


def test_clear_wins() -> None:
    dut = Counters(PARAMS)

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, count=(1 << len(COUNTERS)) - 1, dropped=128, preverified=8)
        await pulse(ctx, dut, clear=1, count=(1 << len(COUNTERS)) - 1, dropped=128, preverified=8)
        assert values(ctx, dut) == dict.fromkeys(COUNTERS, 0)

    simulate(dut, bench)


def test_every_bit_is_carried_into() -> None:
    """Set near each power of two, since no simulation counts that far; also done to mutants."""
    dut = Counters(PARAMS)
    opened = Opened(dut)
    top = 1 << PARAMS.counter_bits

    async def bench(ctx: Any) -> None:
        for bit in range(PARAMS.counter_bits + 1):
            for below in range(1, 4):
                before = ((1 << bit) - below) % top
                for name in COUNTERS:
                    ctx.set(opened.signal(name), before)
                await pulse(ctx, dut, count=(1 << len(COUNTERS)) - 1, dropped=100, preverified=7)
                amounts = dict.fromkeys(COUNTERS, 1) | {"dropped": 100, "preverified": 7}
                assert values(ctx, dut) == {name: (before + amounts[name]) % top for name in COUNTERS}

    simulate(opened, bench)

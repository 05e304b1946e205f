"""The timebase: ticks of any power of two of cycles, each announced in the cycle before."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from ahasd.models.control.params import UnitParams
from ahasd.rtl.timebase import Timebase

from .bench import simulate


@pytest.mark.parametrize("bits", [0, 1, 3])
def test_ticks(bits: int) -> None:
    dut = Timebase(UnitParams(), bits)

    async def bench(ctx: Any) -> None:
        now = ctx.get(dut.now)
        ticks = []
        for cycle in range(40):
            announced = ctx.get(dut.tick)
            await ctx.tick()
            assert ctx.get(dut.now) == now + announced
            now += announced
            if announced:
                ticks.append(cycle)
        assert len(ticks) >= 40 // 2**bits - 1
        assert {later - tick for tick, later in pairwise(ticks)} == {2**bits}

    simulate(dut, bench)

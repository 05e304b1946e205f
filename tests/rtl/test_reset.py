"""A reset in the middle of anything, over memories full of old values, gives a unit like a new one."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal

from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import ControlUnit as GoldenControlUnit
from ahasd.rtl.control_unit import ControlUnit
from ahasd.sim.port_bits import SLOTS

from .bench import simulate
from .environment import Npu, Pim
from .pins import Pins, Watched
from .scoreboard import Scoreboard
from .streams import random_config


@pytest.mark.parametrize("seed", range(2))
def test_reset_over_dirty_memories(seed: int) -> None:
    source = random.Random(seed)
    unit = ControlUnit()
    watched = Watched(unit)
    reset = Signal()

    async def bench(ctx: Any) -> None:
        for cycles in (700, 33, 400, 1, 600):
            ctx.set(reset, 1)
            for slot in SLOTS:
                ctx.set(getattr(unit, slot).valid, 0)
            await ctx.tick()
            ctx.set(reset, 0)
            pins = Pins(
                ctx,
                watched,
                Scoreboard(GoldenControlUnit()),
                Npu(source),
                Pim(source, ControlConfig()),
                source,
            )
            assert ctx.get(unit.clk_req), "memories are not initialised after the reset"
            await pins.reset_done()
            await pins.start(random_config(source, edc=True, max_draft=2, npu_preset=1 << 20))
            await pins.run(cycles)

    simulate(ResetInserter(reset)(watched), bench)

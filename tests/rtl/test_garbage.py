"""Random bits on every input of the unit: no hang, errors stay until cleared, and it can be stopped."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ahasd.models.control.params import ControlConfig
from ahasd.rtl.control_unit import ControlUnit
from ahasd.rtl.signatures import ResultKind
from ahasd.sim.port_bits import config_bits, port_map

from .bench import simulate
from .pins import Watched

CYCLES = 2500
INPUTS = ("token", "feedback", "result")


@pytest.mark.parametrize("seed", range(2))
def test_garbage_on_every_input(seed: int) -> None:
    source = random.Random(seed)
    unit: Any = ControlUnit()
    watched = Watched(unit)
    config = ControlConfig(max_draft=3, context=9, preverify_preset=0)

    async def bench(ctx: Any) -> None:
        ctx.set(unit.config.as_value(), config_bits(config, port_map(unit.params)))
        cause = 0
        seen = 0
        taken = dict.fromkeys(INPUTS, 0)
        waits = dict.fromkeys(INPUTS, 0)
        for _ in range(CYCLES):
            ctx.set(unit.now, source.getrandbits(32))
            for name in ("task", "verify", "commit"):
                ctx.set(getattr(unit, name).ready, source.random() < 0.8)
            commands = source.getrandbits(5) if source.random() < 0.01 else 0
            if source.random() < 0.02:
                commands |= 1  # start
            ctx.set(unit.command.as_value(), commands)
            for name in INPUTS:
                port = getattr(unit, name)
                if not ctx.get(port.valid) and source.random() < 0.3:
                    payload = port.payload.as_value()
                    ctx.set(payload, source.getrandbits(len(payload)))
                    ctx.set(port.valid, 1)
            passed = {name: ctx.get(getattr(unit, name).ready & getattr(unit, name).valid) for name in INPUTS}
            cleared = ctx.get(unit.command.clear_errors)
            await ctx.tick()
            for name in INPUTS:
                waits[name] = 0 if passed[name] else waits[name] + ctx.get(getattr(unit, name).valid)
                if passed[name]:
                    taken[name] += 1
                    ctx.set(getattr(unit, name).valid, 0)
            now = ctx.get(unit.cause)
            assert cleared or now & cause == cause, "an error bit fell by itself"
            assert ctx.get(unit.error) == bool(now)
            cause = now
            seen |= now
            assert waits["feedback"] < 400, "a verdict waits in vain"
        assert min(taken.values()) > 5
        assert bin(seen).count("1") >= 6

        # Sense again: stop, answer what is outstanding, and the unit is at rest without errors.
        for name in INPUTS:
            ctx.set(getattr(unit, name).valid, 0)
        for name in ("task", "verify", "commit"):
            ctx.set(getattr(unit, name).ready, 1)
        ctx.set(unit.command.as_value(), 0)
        ctx.set(unit.command.stop, 1)
        await ctx.tick()
        ctx.set(unit.command.stop, 0)
        for _ in range(2000):
            if not ctx.get(unit.status.running) and not ctx.get(unit.clk_req):
                break
            ctx.set(unit.feedback.payload.as_value(), 0)
            ctx.set(unit.feedback.valid, ctx.get(unit.status.npu_busy))
            ctx.set(unit.result.payload.as_value(), 0)
            ctx.set(unit.result.payload.kind, ResultKind.ABORTED)
            ctx.set(unit.result.valid, ctx.get(unit.abort))
            await ctx.tick()
        assert not ctx.get(unit.status.running)
        ctx.set(unit.feedback.valid, 0)
        ctx.set(unit.result.valid, 0)
        ctx.set(unit.command.clear_errors, 1)
        await ctx.tick()
        ctx.set(unit.command.clear_errors, 0)
        assert not ctx.get(unit.error)

    simulate(watched, bench)

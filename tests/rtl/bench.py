"""Runs test benches on one component in Amaranth's simulator."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from amaranth.hdl import Elaboratable
from amaranth.lib.wiring import Component
from amaranth.sim import Simulator

from ahasd.models.control.params import UnitParams

__all__ = ["PARAMS", "Testbench", "corners", "cycles_while", "idle", "pulse", "simulate"]

PARAMS = UnitParams()
PERIOD = 1.25e-9

Testbench = Callable[[Any], Awaitable[None]]


def simulate(dut: Elaboratable, *benches: Testbench, background: Iterable[Testbench] = ()) -> None:
    """Run ``benches`` on ``dut`` until all of them have ended."""
    simulator = Simulator(dut)
    simulator.add_clock(PERIOD)
    for bench in benches:
        simulator.add_testbench(bench)
    for bench in background:
        simulator.add_testbench(bench, background=True)
    simulator.run()


async def pulse(ctx: Any, dut: Component, **inputs: int) -> None:
    """One cycle with these inputs; zero again after it, so that nothing can depend on them later."""
    for name, value in inputs.items():
        ctx.set(getattr(dut, name), value)
    await ctx.tick()
    for name in inputs:
        ctx.set(getattr(dut, name), 0)


async def idle(ctx: Any, cycles: int) -> None:
    """Let ``cycles`` pass, none included."""
    for _ in range(cycles):
        await ctx.tick()


async def cycles_while(ctx: Any, signal: Any, limit: int = 10_000) -> int:
    """Cycles for which ``signal`` stays high, from the present one on."""
    cycles = 0
    while ctx.get(signal):
        cycles += 1
        assert cycles < limit, "the signal never falls"
        await ctx.tick()
    return cycles


def corners(bits: int) -> list[int]:
    """Values of ``bits`` bits at which arithmetic goes wrong first."""
    top = (1 << bits) - 1
    return sorted({0, 1, 2, 3, top >> 1, (top >> 1) + 1, top - 1, top})

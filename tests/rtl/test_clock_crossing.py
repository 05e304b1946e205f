# amaranth: UnusedElaboratable=no
"""Queue and link between two clocks, with resets of either side at any time."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, ClockSignal, Elaboratable, Module, Signal
from amaranth.lib.cdc import ResetSynchronizer
from amaranth.sim import Simulator

from ahasd.rtl.clock_crossing import POINTER_STAGES, AsyncQueue, LinkEnd

BITS = 24
CLOCKS = [(1.25, 1.0), (1.25, 1.26), (1.25, 7.3), (9.1, 1.25), (1.0, 1.0)]


class Crossing(Elaboratable):
    """A queue from domain ``w`` to domain ``r``, a link, and both sides' resets."""

    def __init__(self, depth: int = 4, withdraw: bool = True) -> None:
        self.queue = AsyncQueue(BITS, depth, write_domain="w", read_domain="r", withdraw=withdraw)
        self.ends = {name: LinkEnd(name) for name in "wr"}
        self.clocks = {name: Signal(name=f"{name}_clock") for name in "wr"}
        self.resets = {name: Signal(name=f"{name}_reset", init=1) for name in "wr"}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = self.queue
        for name, peer in ("wr", "rw"):
            m.domains += ClockDomain(name, async_reset=True)
            m.d.comb += ClockSignal(name).eq(self.clocks[name])
            m.submodules += ResetSynchronizer(self.resets[name], domain=name)
            end, other = self.ends[name], self.ends[peer]
            m.submodules[f"{name}_end"] = end
            # The flush is caught an edge later than a pointer that changes with it.
            m.d[name] += end.peer_flush.eq(other.flush)
            m.d.comb += end.peer_acknowledge.eq(other.acknowledge)
        m.d.comb += [
            self.queue.i_clear.eq(self.ends["w"].clear),
            self.queue.o_clear.eq(self.ends["r"].clear),
        ]
        return m


async def oscillate(ctx: Any, clock: Signal, period: float, phase: float) -> None:
    await ctx.delay(phase)
    while True:
        ctx.set(clock, 1)
        await ctx.delay(period / 2)
        ctx.set(clock, 0)
        await ctx.delay(period / 2)


def run(
    dut: Crossing, periods: tuple[float, float], phase: float, *benches: Any, background: Any = ()
) -> None:
    simulator = Simulator(dut)
    for name, period in zip("wr", periods, strict=True):

        async def clock(ctx: Any, name: str = name, period: float = period) -> None:
            await oscillate(ctx, dut.clocks[name], period, phase if name == "r" else period)

        simulator.add_testbench(clock, background=True)
    for bench in benches:
        simulator.add_testbench(bench)
    for bench in background:
        simulator.add_testbench(bench, background=True)
    simulator.run()


@pytest.mark.parametrize(
    ("periods", "withdraw"), [(periods, number % 2 == 0) for number, periods in enumerate(CLOCKS)], ids=str
)
def test_in_order_through_resets_of_either_side(periods: tuple[float, float], withdraw: bool) -> None:
    dut = Crossing(withdraw=withdraw)
    rng = random.Random(f"{periods} {withdraw}")
    sent: list[int] = []
    barrier = 0  # numbers below it were sent before a reset
    crossed = 0
    up = {"w": 0, "r": 0}
    state = {"chance": 0.5}

    async def send(ctx: Any) -> None:
        # Samples before the edge, by the falling one; nothing changes from there but by a reset.
        number = 0
        while True:
            number += 1
            ctx.set(dut.queue.i.payload, number)
            while True:
                ctx.set(dut.queue.i.valid, rng.random() < 0.6)
                await ctx.negedge(dut.clocks["w"])
                taken = ctx.get(dut.queue.i.valid & dut.queue.i.ready) and not ctx.get(dut.resets["w"])
                up["w"] += not ctx.get(dut.ends["w"].clear)
                await ctx.posedge(dut.clocks["w"])
                if taken:
                    sent.append(number)
                    break

    async def receive(ctx: Any) -> None:
        nonlocal crossed
        last, held, floor = 0, None, 0
        while True:
            await ctx.negedge(dut.clocks["r"])
            ready = rng.random() < state["chance"]
            ctx.set(dut.queue.o.ready, ready)
            down = ctx.get(dut.ends["r"].clear)
            up["r"] += not down
            if not ctx.get(dut.queue.o.valid):
                assert withdraw or held is None or ctx.get(dut.resets["r"]) or reset_seen["r"]
                held = None
            else:
                number = ctx.get(dut.queue.o.payload)
                assert number in sent, "invented"
                assert number > last, "twice, or out of order"
                if held is None:
                    assert number >= floor or not withdraw, "from before the reset"
                else:
                    assert number == held, "changes while it is held"
                held = number
                if ready and not ctx.get(dut.resets["r"]):
                    crossed += 1
                    last, held = number, None
            if down:  # the sender's half is empty, too, before this ends
                floor = barrier
            reset_seen["r"] = False
            await ctx.posedge(dut.clocks["r"])

    reset_seen = {"r": False}

    async def main(ctx: Any) -> None:
        nonlocal barrier
        for name in rng.sample("wr", 2):
            await ctx.delay(rng.random() * 20)
            ctx.set(dut.resets[name], 0)
        for _ in range(8):
            state["chance"] = rng.choice((1.0, 0.5, 0.1))
            await ctx.delay(rng.choice((3, 30, 100)) * rng.random() * max(periods))
            names = rng.choice(("w", "r", "wr"))
            for name in names:
                ctx.set(dut.resets[name], 1)
            if "r" in names:
                reset_seen["r"] = True
            barrier = (sent[-1] if sent else 0) + 1
            await ctx.delay(rng.choice((0.1, 1, 20, 100)))
            for name in names:
                ctx.set(dut.resets[name], 0)
                await ctx.delay(rng.choice((0, 30)))
        state["chance"] = 1.0
        before = crossed
        await ctx.delay(40 * sum(periods))
        assert crossed > before + 5, "the link stays down"
        assert min(up.values()) > 20

    run(dut, periods, 0.37, main, background=[send, receive])


def test_latency_and_depth() -> None:
    dut = Crossing(depth=4)

    async def main(ctx: Any) -> None:
        for name in "wr":
            ctx.set(dut.resets[name], 0)
        await ctx.delay(60)
        queue = dut.queue
        await ctx.negedge(dut.clocks["w"])
        ctx.set(queue.i.payload, 5)
        ctx.set(queue.i.valid, 1)
        await ctx.posedge(dut.clocks["w"])
        ctx.set(queue.i.payload, 6)
        cycles = 0
        while not ctx.get(queue.o.valid):
            await ctx.negedge(dut.clocks["r"])
            cycles += 1
        assert cycles <= POINTER_STAGES + 2
        # One is offered and four wait; the queue takes no more, and gives them back in order.
        for _ in range(40):
            await ctx.negedge(dut.clocks["w"])
        assert not ctx.get(queue.i.ready)
        ctx.set(queue.i.valid, 0)
        found = []
        ctx.set(queue.o.ready, 1)
        for _ in range(40):
            await ctx.negedge(dut.clocks["r"])
            if ctx.get(queue.o.valid):
                found.append(ctx.get(queue.o.payload))
        assert found in ([5, 6, 6, 6, 6], [6, 6, 6, 6])  # the first edge may have taken one already

    run(dut, (1.25, 1.0), 0.2, main)


@pytest.mark.parametrize("depth", [0, 1, 3, 12])
def test_depth_is_a_power_of_two(depth: int) -> None:
    with pytest.raises(ValueError, match=f"depth: {depth} must be a power of two of at least 2"):
        AsyncQueue(BITS, depth, write_domain="w", read_domain="r", withdraw=True)

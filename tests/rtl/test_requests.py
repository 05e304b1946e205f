"""A request sender's beats: order, latency, and patience."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from ahasd.rtl.requests import RequestSender
from ahasd.rtl.signatures import TaskKind, header_layout

from .bench import PARAMS, simulate

DEPTH = PARAMS.queue_depth
HEADER = header_layout(PARAMS)
LONGEST = PARAMS.verify_max + 1


@dataclass(frozen=True)
class Beat:
    header: int
    last: int
    kind: int
    data: int


@dataclass
class Request:
    kind: TaskKind
    position: int
    address: int
    count: int
    beats: list[Beat] = field(default_factory=list)


def expected(request: Request, ring: list[int]) -> list[Beat]:
    kind = request.kind.value
    head = HEADER.const({"position": request.position, "tokens": request.count}).as_bits()
    tokens = [ring[(request.address + k) % DEPTH] for k in range(request.count)]
    return [
        Beat(1, 0, kind, head),
        *(Beat(0, int(k == request.count), kind, token) for k, token in enumerate(tokens, 1)),
    ]


class Port:
    """Drives a sender one cycle at a time; it gives no token without a grant, and none from elsewhere."""

    def __init__(self, ctx: Any, dut: RequestSender, ring: list[int]) -> None:
        self.ctx, self.dut, self.ring = ctx, dut, ring
        self.cycle = 0
        self.taken: list[tuple[int, Beat]] = []
        self.held: Beat | None = None

    def beat(self) -> Beat:
        payload = self.dut.o.payload
        get = self.ctx.get
        return Beat(get(payload.header), get(payload.last), int(get(payload.kind).value), get(payload.data))

    async def step(self, ready: bool, granted: bool) -> None:
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.o.ready, ready)
        ctx.set(dut.granted, granted)
        valid = bool(ctx.get(dut.o.valid))
        if self.held is not None:
            assert valid, "an offered beat was withdrawn"
            assert self.beat() == self.held, "an offered beat changed"
        self.held = self.beat() if valid and not ready else None
        assert ctx.get(dut.stalled) == (valid and not ready)
        if valid and ready:
            self.taken.append((self.cycle, self.beat()))
        reads = ctx.get(dut.wants) and granted
        address = ctx.get(dut.next)
        await ctx.tick()
        self.cycle += 1
        if reads:
            ctx.set(dut.data, self.ring[address])

    async def start(self, request: Request, ready: bool = True) -> None:
        ctx, dut = self.ctx, self.dut
        assert not ctx.get(dut.busy)
        self.cycle, self.taken = 0, []
        for name in ("kind", "position", "address", "count"):
            ctx.set(getattr(dut, name), getattr(request, name))
        ctx.set(dut.start, 1)
        await self.step(ready, True)
        ctx.set(dut.start, 0)
        for name in ("position", "address", "count"):
            ctx.set(getattr(dut, name), 0)


def random_request(source: random.Random) -> Request:
    return Request(
        source.choice(list(TaskKind)),
        source.getrandbits(PARAMS.context_position_bits),
        source.randrange(DEPTH),
        source.choice([1, 2, 3, LONGEST, source.randint(1, LONGEST)]),
    )


def random_ring(source: random.Random) -> list[int]:
    return [source.getrandbits(PARAMS.token_bits) for _ in range(DEPTH)]


def test_latency_with_a_ready_consumer() -> None:
    """Header in the cycle after ``start``, the k-th token 2 k cycles after it; then at once the next one."""
    dut = RequestSender(PARAMS)
    source = random.Random(0)
    ring = random_ring(source)

    async def bench(ctx: Any) -> None:
        port = Port(ctx, dut, ring)
        for _ in range(40):
            request = random_request(source)
            await port.start(request)
            while ctx.get(dut.busy):
                await port.step(True, True)
            assert [cycle for cycle, _ in port.taken] == [1 + 2 * k for k in range(request.count + 1)]
            assert [beat for _, beat in port.taken] == expected(request, ring)

    simulate(dut, bench)


@pytest.mark.parametrize(("ready", "granted"), [(0.3, 0.9), (0.9, 0.3), (0.5, 0.5)])
def test_random_pressure_from_both_sides(ready: float, granted: float) -> None:
    dut = RequestSender(PARAMS)
    source = random.Random(int(100 * ready + granted))
    ring = random_ring(source)

    async def bench(ctx: Any) -> None:
        port = Port(ctx, dut, ring)
        for _ in range(40):
            request = random_request(source)
            await port.start(request, source.random() < ready)
            while ctx.get(dut.busy):
                assert port.cycle < 2000, "the request never leaves"
                await port.step(source.random() < ready, source.random() < granted)
            assert [beat for _, beat in port.taken] == expected(request, ring)
            for _ in range(source.randrange(3)):
                await port.step(source.random() < ready, True)
                assert not ctx.get(dut.busy)

    simulate(dut, bench)


def test_two_senders_share_the_port_every_other_cycle() -> None:
    """It wants the read port at most every other cycle, and never while its beat is stuck."""
    dut = RequestSender(PARAMS)
    ring = random_ring(random.Random(3))

    async def bench(ctx: Any) -> None:
        port = Port(ctx, dut, ring)
        await port.start(Request(TaskKind.DRAFT, 5, DEPTH - 2, 8))
        wanted = []
        while ctx.get(dut.busy):
            ctx.set(dut.o.ready, 1)
            wanted.append(ctx.get(dut.wants))
            await port.step(True, True)
        assert all(not (one and following) for one, following in pairwise(wanted))
        assert sum(wanted) == 8
        await port.start(Request(TaskKind.DRAFT, 5, 0, 2), ready=False)
        for _ in range(20):
            await port.step(False, True)
            assert not ctx.get(dut.wants)
            assert ctx.get(dut.busy)

    simulate(dut, bench)

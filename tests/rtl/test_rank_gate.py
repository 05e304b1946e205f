"""The rank gate under random requests, ranks and memory controller: order, exclusion, hand-over, latency."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from ahasd.rtl.rank_gate import RANKS, SWITCH_CYCLES, RankGate, RankMode
from ahasd.rtl.signatures import request_layout

from .bench import PARAMS, simulate

LAYOUT = request_layout(PARAMS)
DRAFT, TARGET = 0x3333, 0xCCCC
DRAIN_CYCLES = 700
"""0.9 us, under the bound of a switch that the PIM's drain leaves."""


def beats(kind: int, tokens: int) -> list[int]:
    """A request's beats as payloads."""
    fields = [{"header": 1, "last": 0, "kind": kind, "data": tokens}]
    fields += [{"header": 0, "last": int(k == tokens), "kind": kind, "data": k} for k in range(1, tokens + 1)]
    return [LAYOUT.const(beat).as_bits() for beat in fields]


class World:
    """Control unit, PIM and memory controller around a gate; checks every cycle."""

    def __init__(self, ctx: Any, dut: RankGate, seed: int, drain: int = 40) -> None:
        self.ctx, self.dut, self.rng, self.drain = ctx, dut, random.Random(seed), drain
        self.draft, self.target = DRAFT, TARGET
        self.sends: list[int] = []
        self.expected: list[int] = []
        self.taken: list[int] = []
        self.held: int | None = None
        self.busy = [0] * RANKS
        self.open = [0] * RANKS
        self.work: int | None = None  # cycles until the task's end
        self.grant_in = 0
        self.cycle = 0
        self.request_ready = 0.7
        self.grant_delay = 20
        self.seen: Counter[str] = Counter()
        self.before: tuple[int, int, int, int] | None = None
        self.idle_since = 0
        self.switch_latencies: list[int] = []
        ctx.set(dut.rank_closed, (1 << RANKS) - 1)
        ctx.set(dut.running, 1)
        self.masks(DRAFT, TARGET)

    def masks(self, draft: int, target: int) -> None:
        self.draft, self.target = draft, target
        self.ctx.set(self.dut.draft_ranks, draft)
        self.ctx.set(self.dut.target_ranks, target)

    async def step(self) -> None:
        ctx, dut, rng = self.ctx, self.dut, self.rng
        get, set_ = ctx.get, ctx.set
        self._ranks()
        ready = rng.random() < self.request_ready
        set_(dut.requests.ready, ready)
        set_(dut.tasks.valid, bool(self.sends))
        if self.sends:
            set_(dut.tasks.payload.as_value(), self.sends[0])
        enable, request, mode = get(dut.rank_enable), get(dut.target_request), get(dut.mode)
        active = get(dut.rank_busy) | ~get(dut.rank_closed)
        grant = get(dut.target_grant)
        assert not (enable & self.draft and enable & self.target), "both sets are on"
        assert enable in (0, self.draft, self.target)
        if enable == self.target and self.target:
            assert request, "target ranks without a request"
            assert grant, "target ranks without a grant"
        if self.before is not None:
            old, old_active, old_grant, old_request = self.before
            gone, new = old & ~enable, enable & ~old
            assert not gone & old_active, "a busy or open rank is gated"
            if new:
                others = self.target if new & self.draft else self.draft
                assert not others & old_active, "make before break"
                self.seen["draft on" if new & self.draft else "target on"] += 1
            if request and not old_request:
                assert not old_grant, "asks while the last grant stands"
        self.before = (enable, active, grant, request)
        if get(dut.tasks.valid) or get(dut.requests.valid) or mode == RankMode.SWITCHING:
            assert get(dut.clk_req)
        # Streams.
        if get(dut.tasks.valid) and get(dut.tasks.ready):
            self.expected.append(self.sends.pop(0))
        if get(dut.requests.valid):
            beat = get(dut.requests.payload.as_value())
            assert self.held in (None, beat), "a held beat changes"
            self.held = None if ready else beat
            kind = LAYOUT.from_bits(beat).kind.value
            assert enable == (self.target if kind else self.draft), "a beat passes with its ranks off"
            self.seen["held"] += not ready
            if ready:
                self.taken.append(beat)
                self._work(beat)
        else:
            assert self.held is None, "a beat is withdrawn"
        # The memory controller; a held grant keeps host accesses away.
        if request and not grant:
            self.grant_in -= 1
            if self.grant_in <= 0:
                set_(dut.target_grant, 1)
        elif not request:
            self.grant_in = rng.randint(0, self.grant_delay)
            if grant and rng.random() < 0.3:
                set_(dut.target_grant, 0)
        await ctx.tick()
        self.cycle += 1

    def _work(self, beat: int) -> None:
        fields = LAYOUT.from_bits(beat)
        if fields.header:
            mask = self.target if fields.kind.value else self.draft
            for rank in range(RANKS):
                if mask >> rank & 1:
                    self.busy[rank] = 1 << 30
        if fields.last:
            self.work = self.rng.randint(1, 60)

    def _ranks(self) -> None:
        ctx, dut, rng = self.ctx, self.dut, self.rng
        if self.work is not None:
            self.work -= 1
            if self.work == 0:
                self.work = None
                ctx.set(dut.outstanding, 0)
                for rank in range(RANKS):
                    if self.busy[rank]:
                        self.busy[rank] = rng.randint(1, self.drain)
                        self.open[rank] = self.busy[rank] + rng.randint(0, self.drain)
        for rank in range(RANKS):
            self.busy[rank] = max(0, self.busy[rank] - 1)
            self.open[rank] = max(0, self.open[rank] - 1)
        busy = sum(bool(left) << rank for rank, left in enumerate(self.busy))
        if busy or any(self.open):
            self.idle_since = self.cycle + 1
        ctx.set(dut.rank_busy, busy)
        opened = sum(
            bool(a or b) << rank for rank, (a, b) in enumerate(zip(self.open, self.busy, strict=True))
        )
        ctx.set(dut.rank_closed, ~opened & ((1 << RANKS) - 1))

    async def task(self, kind: int, tokens: int) -> None:
        """Send a request and wait until the PIM reports its end; ranks may still be busy then."""
        self.ctx.set(self.dut.outstanding, 1)
        self.sends += beats(kind, tokens)
        count = len(self.taken) + tokens + 1
        for _ in range(20_000):
            await self.step()
            if len(self.taken) == count and self.work is None:
                return
        raise AssertionError("the task never ends")


@pytest.mark.parametrize("seed", range(3))
def test_random_tasks(seed: int) -> None:
    dut = RankGate()

    async def bench(ctx: Any) -> None:
        world = World(ctx, dut, seed)
        for _ in range(40):
            world.request_ready = world.rng.choice((1.0, 0.7, 0.1))
            await world.task(world.rng.random() < 0.4, world.rng.randint(1, 9))
            for _ in range(world.rng.choice((0, 0, 1, 100))):
                await world.step()
            if world.rng.random() < 0.1:
                ctx.set(dut.running, 0)
                for _ in range(200):
                    await world.step()
                assert ctx.get(dut.rank_enable) == 0, "ranks stay on after the sequence"
                assert not ctx.get(dut.clk_req)
                draft = world.rng.getrandbits(RANKS)
                world.masks(draft, world.rng.getrandbits(RANKS) & ~draft)
                ctx.set(dut.running, 1)
        assert world.taken == world.expected
        assert min(world.seen[name] for name in ("draft on", "target on", "held")) > 5, world.seen

    simulate(dut, bench)


@pytest.mark.parametrize("kind", [0, 1])
def test_switch_takes_few_cycles_after_the_last_rank_is_idle(kind: int) -> None:
    dut = RankGate()

    async def bench(ctx: Any) -> None:
        world = World(ctx, dut, 5, drain=DRAIN_CYCLES // 2)
        world.request_ready, world.grant_delay = 1.0, 0
        await world.task(1 - kind, 2)
        ctx.set(dut.outstanding, 1)
        world.sends += beats(kind, 2)
        asked = world.cycle
        wanted = TARGET if kind else DRAFT
        while ctx.get(dut.rank_enable) != wanted:
            await world.step()
        assert world.cycle - world.idle_since <= SWITCH_CYCLES
        assert (world.cycle - asked) * 1.25 < 1000, "more than a microsecond"

    simulate(dut, bench)


def test_target_ranks_go_back_to_the_host_when_their_task_is_over() -> None:
    dut = RankGate()

    async def bench(ctx: Any) -> None:
        world = World(ctx, dut, 7)
        await world.task(1, 3)
        for _ in range(120):
            await world.step()
        assert ctx.get(dut.mode) == RankMode.OFF
        assert ctx.get(dut.target_request) == 0
        assert not ctx.get(dut.clk_req)
        await world.task(0, 3)
        for _ in range(120):
            await world.step()
        assert ctx.get(dut.mode) == RankMode.DRAFT, "draft ranks stay on between drafts"
        assert not ctx.get(dut.clk_req)

    simulate(dut, bench)


def test_overlapping_masks_let_nothing_through() -> None:
    dut = RankGate()

    async def bench(ctx: Any) -> None:
        world = World(ctx, dut, 9)
        world.masks(0x00FF, 0x0080)
        world.sends += beats(0, 2)
        for _ in range(100):
            await world.step()
        assert ctx.get(dut.overlap)
        assert ctx.get(dut.rank_enable) == 0
        assert world.taken == []
        world.masks(0x007F, 0x0080)
        for _ in range(20):
            await world.step()
        assert not ctx.get(dut.overlap)
        assert world.taken == beats(0, 2)

    simulate(dut, bench)


def test_passes_at_the_control_units_rate() -> None:
    dut = RankGate()

    async def bench(ctx: Any) -> None:
        world = World(ctx, dut, 11)
        world.request_ready = 1.0
        ctx.set(dut.outstanding, 1)
        world.sends += beats(0, 16)
        while not world.taken:
            await world.step()
        begin = world.cycle
        while len(world.taken) < 17:
            await world.step()
        assert world.cycle - begin == 2 * 16

    simulate(dut, bench)

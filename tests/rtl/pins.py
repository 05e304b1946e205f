"""The whole unit at its pins, one cycle at a time, between a random environment and a scoreboard."""

from __future__ import annotations

import random
from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ahasd.models.control.events import Draft, Event, Preverified, Preverify
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import COUNTERS
from ahasd.rtl.control_unit import ControlUnit
from ahasd.sim.port_bits import SLOTS, config_bits, event_bits, field, port_map, slot_of

from .environment import Npu, Pim
from .scoreboard import Beat, Scoreboard

__all__ = ["Pins", "Watched"]

OUTPUTS = ("task", "verify", "commit")
TIMEBASE = 1 << 32
STUCK = 4000
"""Cycles without any transfer after which the unit hangs."""


class Watched(wiring.Component):
    """A unit whose handshake outputs are read in one go."""

    def __init__(self, unit: ControlUnit) -> None:
        self.unit = unit
        super().__init__({"flags": Out(len(SLOTS) + len(OUTPUTS) + 2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = self.unit
        bits: list[Signal] = [getattr(unit, slot).ready for slot in SLOTS]
        bits += [getattr(unit, port).valid for port in OUTPUTS]
        m.d.comb += self.flags.eq(Cat(*bits, unit.abort, unit.clk_req))
        return m


class Pins:
    """Runs environment, unit and scoreboard together, and checks the handshake rules in every cycle."""

    def __init__(
        self, ctx: Any, dut: Watched, scoreboard: Scoreboard, npu: Npu, pim: Pim, source: random.Random
    ) -> None:
        self.ctx, self.unit, self.flags = ctx, dut.unit, dut.flags
        self.ports = port_map(dut.unit.params)
        self.scoreboard, self.npu, self.pim, self.source = scoreboard, npu, pim, source
        self.commit_ready = 0.7
        self.cycle = self.quiet = 0
        self.now = TIMEBASE - 3000
        self.waiting: dict[str, Event] = {}
        self.held: dict[str, int] = {}
        self.before: tuple[set[str], set[str]] = (set(), set())
        self.stop_at: int | None = None
        self.result_waits = 0
        self.contests = 0
        self.aborts = 0
        self.abort = False

    # Commands.

    async def reset_done(self) -> None:
        while self.ctx.get(self.unit.clk_req):
            await self.ctx.tick()

    async def start(self, config: ControlConfig) -> None:
        """Start a sequence on a unit at rest."""
        self.pim.config = config
        golden = self.scoreboard.golden
        self.ctx.set(self.unit.config.as_value(), config_bits(config, self.ports))
        assert golden.configure(config) is None
        self.stop_at = None
        await self.step(start=1)
        self.scoreboard.start(self.now)  # read in the coming cycle, which steps it on

    async def stop(self) -> None:
        self.stop_at = self.cycle
        await self.step(stop=1)

    # Cycles.

    def present(self, event: Event) -> None:
        """Make an event wait at its input."""
        slot = slot_of(event)
        assert slot not in self.waiting
        self.waiting[slot] = event
        stream = getattr(self.unit, slot)
        self.ctx.set(stream.payload.as_value(), event_bits(event, self.ports))
        self.ctx.set(stream.valid, 1)

    async def step(self, **command: int) -> None:
        ctx, unit = self.ctx, self.unit
        for name, value in command.items():
            ctx.set(unit.command[name], value)
        ctx.set(unit.now, self.now)
        self.pim.sees(self.abort)
        for agent in (self.npu, self.pim):
            event = agent.offer()
            if event is not None:
                self.present(event)
        ready = {}
        for port, chance in zip(OUTPUTS, (self.pim.ready, self.npu.ready, self.commit_ready), strict=True):
            ready[port] = self.source.random() < chance
            ctx.set(getattr(unit, port).ready, ready[port])

        flags = ctx.get(self.flags)
        abort = bool(flags >> 6 & 1)
        self.aborts += abort and not self.abort
        self.abort = abort
        if self.waiting or flags & 0b111000:
            assert flags >> 7 & 1, "clk_req is low with something to do"
        snapshot = (set(self.waiting), {port for port in OUTPUTS if self.scoreboard.owed[port]})
        self._outputs(flags, ready)
        self._inputs(flags)
        self.before = snapshot
        self.quiet += 1
        assert self.quiet < STUCK or self.npu.ready == 0, "the unit hangs"
        await ctx.tick()
        for name in command:
            ctx.set(unit.command[name], 0)
        self.cycle += 1
        self.now = (self.now + self.source.choice([0, 0, 1, 5])) % TIMEBASE

    def _inputs(self, flags: int) -> None:
        taken = [slot for bit, slot in enumerate(SLOTS) if flags >> bit & 1 and slot in self.waiting]
        assert len(taken) <= 1, "two events at once"
        for slot in taken:
            event = self.waiting.pop(slot)
            self._check_choice(slot, event)
            golden = self.scoreboard.golden
            if self.stop_at is not None and self.cycle - 1 > self.stop_at:
                self._golden_stop()
            task = golden.task
            assert self.abort == (task is not None and task.aborting), "abort"
            self.scoreboard.event(event, self.now)
            self.ctx.set(getattr(self.unit, slot).valid, 0)
            if slot != "feedback":
                self.pim.was_taken(event, self.abort)
            self.quiet = 0
        waits = isinstance(self.waiting.get("result"), Preverified)
        self.result_waits += waits and bool(self.scoreboard.owed["verify"])

    def _golden_stop(self) -> None:
        self.scoreboard.decided(self.scoreboard.golden.stop())
        self.stop_at = None

    def _check_choice(self, slot: str, event: Event) -> None:
        """The unit chose in the cycle before: feedback first, then a token, then a result."""
        waiting, owed = self.before
        assert slot in waiting, "taken without a look at it"
        self.contests += len(waiting) > 1
        allowed = {
            "feedback": "verify" not in owed,
            "token": "task" not in owed,
            "result": "task" not in owed and not (isinstance(event, Preverified) and "verify" in owed),
        }
        assert allowed[slot], f"{slot} taken before the request that it answers, or that it could change"
        for other in ("feedback", "token"):
            if other == slot:
                return
            assert not (other in waiting and allowed[other]), f"{slot} taken before {other}"

    def _outputs(self, flags: int, ready: dict[str, bool]) -> None:
        for bit, port in enumerate(OUTPUTS, len(SLOTS)):
            valid = bool(flags >> bit & 1)
            if not valid:
                assert port not in self.held, f"{port}: an offered beat was withdrawn"
                continue
            raw = self.ctx.get(getattr(self.unit, port).payload.as_value())
            assert self.held.get(port, raw) == raw, f"{port}: an offered beat changed"
            self.held[port] = raw
            if ready[port]:
                del self.held[port]
                self.quiet = 0
                self._took(port, raw)

    def _took(self, port: str, raw: int) -> None:
        if port == "commit":
            layout = self.ports["commit"]
            self.scoreboard.beat(port, Beat(field(raw, layout["token"]), bool(field(raw, layout["last"]))))
            return
        layout, header = self.ports["request"], self.ports["header"]
        data = field(raw, layout["data"])
        message = self.scoreboard.beat(
            port,
            Beat(
                data,
                bool(field(raw, layout["last"])),
                bool(field(raw, layout["header"])),
                bool(field(raw, layout["kind"])),
                field(data, header["position"]),
                field(data, header["tokens"]),
            ),
        )
        if message is None:
            return
        if port == "verify":
            self.npu.took_request(message.taken)
        else:
            kind = Preverify if isinstance(message.decision, Preverify) else Draft
            self.pim.took_request(kind, message.taken, self.abort)

    async def run(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()

    async def finish(self) -> None:
        """Stop, let everything end, and compare what is left to compare."""
        if self.stop_at is None:
            await self.stop()
        golden = self.scoreboard.golden
        for _ in range(STUCK):
            await self.step()
            if not self.ctx.get(self.unit.clk_req):
                if self.stop_at is not None:
                    self._golden_stop()
                if not golden.running and self.scoreboard.idle():
                    break
        self.check_rest()
        assert not self.ctx.get(self.unit.status.running)

    def check_rest(self) -> None:
        ctx, unit, golden = self.ctx, self.unit, self.scoreboard.golden
        assert self.scoreboard.idle(), self.scoreboard.owed
        assert not self.waiting
        assert ctx.get(unit.cause) == 0
        assert {name: ctx.get(unit.counters[name]) for name in COUNTERS} == golden.counters
        assert ctx.get(unit.status.committed) == golden.head
        assert ctx.get(unit.status.level) == golden.tail - golden.head
        assert self.aborts == self.scoreboard.aborts
        self.scoreboard.check_queue()

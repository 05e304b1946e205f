"""The top with its clocks and resets, a driver over AXI4-Lite, PIM, NPU and host, beside the golden model."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from random import Random
from typing import Any

from cocotb.triggers import FallingEdge, Timer
from cocotbext.axi import AxiLiteBus, AxiLiteMaster  # type: ignore[import-untyped]  # no stubs

import cocotb
from ahasd.models.control.events import Abort, Commit, Decision, Draft, Event, Feedback, Preverify, Verify
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import COUNTERS, ControlUnit
from ahasd.models.replay import Replay
from ahasd.rtl.registers.ahasd_map import REGISTERS, config_words
from ahasd.sim.benches.agents import Pin, Sink, Source
from ahasd.sim.benches.live import LiveNpu, LivePim, Ranks
from ahasd.sim.benches.scoreboard import Assembler
from ahasd.sim.benches.scripted import Script, ScriptedNpu, ScriptedPim
from ahasd.sim.port_bits import PortMap, event_bits, field, slot_of

__all__ = ["TOP_BINS", "Driver", "TopBench"]

MEM_PS = 1250
HANG = 40_000
"""Cycles without an event after which the top hangs."""
PINS = ("mem_clk", "core_clk", "npu_clk", "mem_rst", "npu_rst", "abort", "clk_req", "irq", "npu_flush")
GATE_PINS = ("rank_enable", "rank_busy", "rank_closed", "target_request", "target_grant")
TOP_BINS = (
    "clock gated",
    "commit held by the host",
    "verify held by the NPU",
    "task held by the PIM",
    "draft ranks on",
    "target ranks on",
    "verdict taken",
    "pre-verification taken",
    "abort",
    "NPU reset while a verification runs",
    "NPU reset while none runs",
    "NPU reset within a request",
    "memory reset while a verification runs",
    "memory reset within a commit",
)


class Driver:
    """What software does: registers by name."""

    def __init__(self, dut: Any) -> None:
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "axi_"), dut.mem_clk, dut.mem_rst)

    async def read(self, register: str) -> int:
        answer = await self.master.read(REGISTERS[register].offset, 4)
        assert answer.resp == 0, f"{register}: {answer.resp}"
        return int.from_bytes(answer.data, "little")

    async def fields(self, register: str) -> dict[str, int]:
        return REGISTERS[register].unpack(await self.read(register))

    async def write(self, register: str, word: int) -> None:
        answer = await self.master.write(REGISTERS[register].offset, word.to_bytes(4, "little"))
        assert answer.resp == 0, f"{register}: {answer.resp}"

    async def command(self, name: str) -> None:
        await self.write("CONTROL", REGISTERS["CONTROL"].pack({name: 1}))

    async def start(self, config: ControlConfig) -> None:
        for register, word in config_words(config).items():
            await self.write(register, word)
        await self.command("start")

    async def counters(self) -> dict[str, int]:
        await self.command("snapshot")
        return {name: await self.read(name.upper()) for name in COUNTERS}


class TopBench:
    """Runs agents at the falling edges of their clocks; ``golden`` sees events where the unit takes them."""

    def __init__(self, dut: Any, ports: PortMap, seed: str, npu_ps: int) -> None:
        self.dut, self.ports = dut, ports
        self.expected: dict[str, deque[Decision]] = {"verify": deque()}
        self.rng = Random(seed)
        self.npu_ps = npu_ps
        self.bins: Counter[str] = Counter()
        self.cycles = 0
        self.golden = ControlUnit()
        self.config = ControlConfig()
        self.script: Script | None = None
        self.sequence: list[int] = []
        """Tokens that the host has of the present sequence."""
        self.pins = {name: Pin(dut, name) for name in PINS}
        self.gate = {name: Pin(dut, name) for name in GATE_PINS}
        inner = dut.control_unit
        self.inner = {
            name: Pin(inner, name)
            for name in ("status", "feedback__valid", "feedback__ready", "feedback__payload")
        }
        self.inner["now"] = Pin(dut.timebase, "now")
        self.driver = Driver(dut)
        self._fresh_memory_side()
        self._fresh_npu_side()
        for name in ("mem_clk", "core_clk", "npu_clk"):
            self.pins[name].set(0)
        for name in ("mem_rst", "npu_rst"):
            self.pins[name].set(1)
        self.gate["rank_busy"].set(0)
        self.gate["rank_closed"].set(0xFFFF)
        self.gate["target_grant"].set(0)
        self._nows: deque[int] = deque([0, 0], maxlen=2)

    def _fresh_memory_side(self) -> None:
        rng, dut = self.rng, self.dut
        self.commit = Sink(dut, "commit", Random(rng.random()))
        self.task = Sink(dut, "task", Random(rng.random()))
        self.sources = {name: Source(dut, name) for name in ("token", "result")}
        self.offered: dict[str, Event] = {}
        self.pim: LivePim | ScriptedPim = LivePim(rng, self.config.max_draft)
        self.ranks = Ranks(rng, 0x3333, 0xCCCC)
        self.assembler = Assembler(self.ports)
        verify = self.expected["verify"]  # what is under way goes on until the NPU side hears of it
        self.expected = {"commit": deque(), "abort": deque(), "task": deque(), "verify": verify}
        self._partial: list[int] = []
        self._abort = self._stopping = self._running = self._cancelled = False
        self.quiet = 0

    def _fresh_npu_side(self) -> None:
        self.verify = Sink(self.dut, "verify", Random(self.rng.random()))
        self.feedback = Source(self.dut, "feedback")
        self.npu: LiveNpu | ScriptedNpu = LiveNpu(self.rng)
        self.npu_assembler = Assembler(self.ports)
        self.sent: deque[int] = deque()
        self.within_request = False

    def play(self, recording: Replay) -> Script:
        """From the next sequence on, PIM and NPU do what a recording says."""
        self.script = script = Script(recording)
        self.pim, self.npu = ScriptedPim(script), ScriptedNpu(script)
        return script

    # Clocks.

    def begin(self) -> None:
        """Start clocks and agents."""
        cocotb.start_soon(self._memory_clock())
        cocotb.start_soon(self._npu_clock())
        cocotb.start_soon(self._memory_side())
        cocotb.start_soon(self._npu_side())

    async def _memory_clock(self) -> None:
        # The core's clock is gated as an integrator would do it.
        mem, core = self.pins["mem_clk"], self.pins["core_clk"]
        while True:
            await Timer(MEM_PS // 2, "ps")
            needed = self.pins["clk_req"].get() if self.cycles else 1
            self.bins["clock gated"] += not needed
            mem.set(1)
            core.set(needed)
            await Timer(MEM_PS - MEM_PS // 2, "ps")
            mem.set(0)
            core.set(0)

    async def _npu_clock(self) -> None:
        while True:
            await Timer(self.npu_ps // 2, "ps")
            self.pins["npu_clk"].set(1)
            await Timer(self.npu_ps - self.npu_ps // 2, "ps")
            self.pins["npu_clk"].set(0)

    # The memory side.

    async def _memory_side(self) -> None:
        await Timer(MEM_PS, "ps")  # a clock that is driven low at time 0 falls
        while True:
            await FallingEdge(self.dut.mem_clk)
            self.cycles += 1
            if self.pins["mem_rst"].get():
                continue
            self.quiet += 1
            assert self.quiet < HANG or not self._running, f"nothing happens; missing {self.expected}"
            if self.script is not None:
                self.inner["now"].deposit(self.script.at)
            now = self._now()
            self._sequence()
            self._events()
            self._beats()
            ranks = self.ranks
            ranks.cycle(self.gate["rank_enable"].get(), bool(self.gate["target_request"].get()))
            self.gate["rank_busy"].set(ranks.busy)
            self.gate["rank_closed"].set(~ranks.open & 0xFFFF)
            self.gate["target_grant"].set(ranks.grant)
            self._nows.append(now)

    def _now(self) -> int:
        """The timebase that counts at the coming edge; a recording's is set in every cycle."""
        return self.inner["now"].get() if self.script is None else self.script.at

    def status(self, name: str) -> int:
        return field(self.inner["status"].get(), self.ports["status"][name])

    def _sequence(self) -> None:
        """Start and stop, when the unit takes them."""
        running, stopping = bool(self.status("running")), bool(self.status("stopping"))
        if running and not self._running:
            self.golden.configure(self.config)
            self._expect(self.golden.start(self._nows[0]).decisions)
            if self.script is not None:
                self.script.started = True
        if stopping and not self._stopping:
            self._expect(self.golden.stop().decisions)
        self._running, self._stopping = running, stopping

    def _expect(self, decisions: list[Decision]) -> None:
        for decision in decisions:
            name = {Commit: "commit", Abort: "abort", Verify: "verify"}.get(type(decision), "task")
            self.expected[name].append(decision)

    def _next(self, channel: str) -> Decision:
        assert self.expected[channel], f"{channel}: nothing explains this, at cycle {self.cycles}"
        return self.expected[channel].popleft()

    def _events(self) -> None:
        for slot, source in self.sources.items():
            if source.settle():
                self._taken(self.offered.pop(slot), self._nows[-1])
                self.pim.taken(self._abort)
                if not self.pim.working:
                    self.ranks.end()
        abort = bool(self.pins["abort"].get())
        if abort and not self._abort:
            self._next("abort")
            self.bins["abort"] += 1
        self._abort = abort
        self.pim.sees(abort)
        event = self.pim.offer()
        if event is not None:
            slot = slot_of(event)
            self.offered[slot] = event
            self.sources[slot].offer(event_bits(event, self.ports))
        for source in self.sources.values():
            source.sample()
        if self.inner["feedback__valid"].get() and self.inner["feedback__ready"].get():
            bits = self.inner["feedback__payload"].get()
            assert bits in self.sent, "a verdict that nobody gave"
            while self.sent.popleft() != bits:
                pass
            port = self.ports["feedback"]
            self._taken(Feedback(field(bits, port["accepted"]), field(bits, port["next"])), self._now())
            self.bins["verdict taken"] += 1

    def _taken(self, event: Event, now: int) -> None:
        self.quiet = 0
        if self.script is not None:
            self.script.taken += 1
        outcome = self.golden.step(event, now)
        assert outcome.violation is None, f"{event}: {outcome.violation}"
        self._expect(outcome.decisions)

    def _beats(self) -> None:
        beat = self.commit.cycle()
        self.bins["commit held by the host"] += self.commit.held
        if beat is not None:
            token = field(beat, self.ports["commit"]["token"])
            last = field(beat, self.ports["commit"]["last"])
            expected = self.expected["commit"][0]
            assert isinstance(expected, Commit)
            self._partial.append(token)
            assert expected.tokens[: len(self._partial)] == tuple(self._partial), "committed tokens"
            assert bool(last) == (len(self._partial) == len(expected.tokens))
            self.sequence.append(token)
            if last:
                self.expected["commit"].popleft()
                self._partial = []
        beat = self.task.cycle()
        self.bins["task held by the PIM"] += self.task.held
        if self.task.offered:
            self._cancelled |= self._abort
        if beat is None:
            return
        port = self.ports["request"]
        if field(beat, port["header"]):
            kind = bool(field(beat, port["kind"]))
            self.bins["pre-verification taken"] += kind
            assert self.gate["rank_enable"].get() == self.ranks.masks[kind], "a task without its ranks"
            self.ranks.begin(kind)
        found = self.assembler.beat("task", beat)
        if found is not None:
            assert isinstance(found, Draft | Preverify)
            wanted = self._next("task")
            same = self._cancelled and shape(found) == shape(wanted)
            assert found == wanted or same, f"expected {wanted}, found {found}"
            self._cancelled = False
            self.pim.took(found, self._abort)

    # The NPU side.

    async def _npu_side(self) -> None:
        await Timer(self.npu_ps, "ps")
        while True:
            await FallingEdge(self.dut.npu_clk)
            if self.pins["npu_rst"].get() or self.pins["npu_flush"].get():
                self.expected["verify"].clear()
                kept = self.sent  # the unit may have been offered the last verdict
                self._fresh_npu_side()
                self.sent = kept
                continue
            if self.feedback.settle() or self.feedback.waiting:
                pass
            elif (verdict := self.npu.offer()) is not None:
                bits = event_bits(verdict, self.ports)
                self.sent.append(bits)
                self.feedback.offer(bits)
            self.feedback.sample()
            beat = self.verify.cycle()
            self.bins["verify held by the NPU"] += self.verify.held
            if beat is not None:
                found = self.npu_assembler.beat("verify", beat)
                self.within_request = found is None
                if found is not None:
                    wanted = self._next("verify")
                    assert found == wanted, f"expected {wanted}, found {found}"
                    self.npu.took(len(found.tokens))  # type: ignore[union-attr]

    # What happens to the whole.

    async def restart(self, config: ControlConfig) -> None:
        """As a driver does it, at the beginning or after what has been committed."""
        self.config = config
        self.pim.max_draft = config.max_draft
        self.expected["verify"].clear()
        self.sequence = []
        await self.driver.start(config)

    async def reset_memory_side(self, length: float) -> None:
        """For so many cycles; its agents are reset, too."""
        self.pins["mem_rst"].set(1)
        self._fresh_memory_side()
        self.golden = ControlUnit()
        await Timer(int(length * MEM_PS), "ps")
        self.pins["mem_rst"].set(0)
        await Timer(80 * MEM_PS + 12 * self.npu_ps, "ps")
        self.sent.clear()

    def following(self) -> ControlConfig:
        """The configuration that goes on where the host is."""
        if not self.sequence:
            return self.config
        context = self.config.context + len(self.sequence)
        return replace(self.config, context=context, prompt_token=self.sequence[-1])


def shape(request: Decision) -> tuple[str, int, int]:
    """What counts of a request that is aborted before it is taken."""
    assert isinstance(request, Draft | Preverify)
    return type(request).__name__, request.position, len(request.tokens)

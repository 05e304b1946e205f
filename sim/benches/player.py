"""Plays a recording into the control unit, as fast or slowly as random agents let it."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from cocotb.triggers import FallingEdge

from ahasd.models.control.events import Abort, Event, Feedback, Preverified
from ahasd.models.control.unit import COUNTERS
from ahasd.models.replay import Replay
from ahasd.sim.benches.agents import Pin, Sink, Source
from ahasd.sim.benches.scoreboard import Assembler, Scoreboard, needs
from ahasd.sim.port_bits import SLOTS, PortMap, config_bits, event_bits, field, slot_of

__all__ = ["PRESSURE_BINS", "Player", "Unit"]

PRESSURE_BINS = (
    "commit held by the host",
    "verify request held by the NPU",
    "task request held by the PIM",
    "task request taken while abort is high",
    "event taken while a request is held",
    "result waits for the verify request",
    "verdict and PIM event at once",
    "event offered while the unit is busy",
    "start while memories are initialised",
    "clock not requested",
)
"""What random agents must have brought about, beside ``ahasd.models.control.coverage.BINS``."""

PATIENCE = 30_000
"""Cycles without a transfer after which the unit hangs."""
RESET_CYCLES = 3


class Unit:
    """The control unit's pins other than its streams."""

    def __init__(self, dut: Any, ports: PortMap) -> None:
        self.dut, self.ports = dut, ports
        self.clk = dut.clk
        self.reset, self.now = Pin(dut, "rst"), Pin(dut, "now")
        self.config, self.command = Pin(dut, "config"), Pin(dut, "command")
        self.abort, self.clk_req = Pin(dut, "abort"), Pin(dut, "clk_req")
        self.error, self.cause, self.counters = Pin(dut, "error"), Pin(dut, "cause"), Pin(dut, "counters")
        self.sources = {name: Source(dut, name) for name in SLOTS}
        for pin in (self.now, self.config, self.command):
            pin.set(0)

    async def reset_cycles(self) -> None:
        """Reset; memories are initialised after it."""
        self.reset.set(1)
        for _ in range(RESET_CYCLES):
            await FallingEdge(self.clk)
        self.reset.set(0)

    def strobe(self, *names: str) -> None:
        """Set command strobes, and no others."""
        self.command.set(sum(1 << self.ports["command"][name][0] for name in names))

    def counter_values(self) -> dict[str, int]:
        """All counters by name."""
        bits = self.counters.get()
        return {name: field(bits, self.ports["counters"][name]) for name in COUNTERS}


class Player:
    """One recording on one unit; ``bins`` counts :data:`PRESSURE_BINS`, ``cycles`` clock cycles."""

    def __init__(self, unit: Unit, recording: Replay, seed: str) -> None:
        self.unit, self.recording = unit, recording
        self.bins: Counter[str] = Counter()
        self.cycles = 0
        self._steps = recording.steps
        self._needs = needs(recording.steps)
        self._board = Scoreboard(recording)
        self._assembler = Assembler(unit.ports)
        self._sinks = [
            Sink(unit.dut, name, Random(f"{seed} {name}")) for name in ("commit", "verify", "task")
        ]
        self._rng = Random(f"{seed} events")
        self._offered = 0  # steps offered; the start is the first
        self._gap = 0
        self._quiet = 0
        self._aborting = False
        self._cancelled = False
        self._started = False

    async def run(self) -> None:
        """Reset, play all, and check what is left at the end."""
        unit = self.unit
        await unit.reset_cycles()
        unit.config.set(config_bits(self.recording.config, unit.ports))
        unit.now.set(self._steps[0].at)
        for _ in range(self._rng.choice((0, 1, 20, 100))):
            await FallingEdge(unit.clk)
        self.bins["start while memories are initialised"] += unit.clk_req.get()
        unit.strobe("start")
        await FallingEdge(unit.clk)
        unit.strobe()
        self._board.taken, self._offered = 0, 1
        while self._board.taken + 1 < len(self._steps) or not self._board.drained:
            self._cycle()
            await FallingEdge(unit.clk)
            self.cycles += 1
        while unit.clk_req.get():
            self._cycle()
            await FallingEdge(unit.clk)
        assert unit.counter_values() == self.recording.counters
        assert (unit.error.get(), unit.cause.get()) == (0, 0)

    def _cycle(self) -> None:
        self._quiet += 1
        self._settle()
        self._look_at_clock()
        self._take_beats()
        self._look_at_abort()
        self._offer()
        for source in self.unit.sources.values():
            source.sample()
        assert self._quiet < PATIENCE, (
            f"no transfer for {PATIENCE} cycles after step {self._board.taken}; "
            f"missing: {self._board.describe_missing() or 'the next event is not taken'}"
        )

    def _settle(self) -> None:
        """Note which events the last edge took; the timebase may now show anything."""
        unit = self.unit
        for name, source in unit.sources.items():
            if source.settle():
                number = self._board.taken = self._board.taken + 1
                event = self._steps[number].event
                assert event is not None
                assert slot_of(event) == name, f"step {number}: {name} was taken before it"
                self.bins["event taken while a request is held"] += any(s.held for s in self._sinks[1:])
                waits = self._offered > number + 1
                unit.now.set(self._steps[number + 1].at if waits else self._rng.getrandbits(32))
                self._quiet = 0

    def _look_at_clock(self) -> None:
        """``clk_req`` is high with any input that waits and any output that is offered."""
        waiting = any(source.waiting for source in self.unit.sources.values())
        if self.unit.clk_req.get():
            return
        assert not waiting, "clk_req is low while an input waits"
        assert not any(sink.held for sink in self._sinks), "clk_req is low while an output is offered"
        self.bins["clock not requested"] += 1

    def _take_beats(self) -> None:
        aborting = bool(self.unit.abort.get())
        for sink in self._sinks:
            beat = sink.cycle()
            if sink.held:
                self.bins[HELD[sink.name]] += 1
            if sink.name == "task":
                self._started |= sink.offered
                self._cancelled |= sink.offered and aborting
            if beat is None:
                continue
            self._quiet = 0
            decision = self._assembler.beat(sink.name, beat)
            if decision is not None:
                cancelled = self._cancelled and sink.name == "task"
                self._board.decided(decision, cancelled)
                if cancelled:
                    self.bins["task request taken while abort is high"] += 1
                    self._cancelled = False

    def _look_at_abort(self) -> None:
        aborting = bool(self.unit.abort.get())
        if aborting and not self._aborting:
            self._board.decided(Abort())
        self._aborting = aborting

    # Events.

    def _offer(self) -> None:
        """Offer the next event, or a verdict and the PIM event after it at once."""
        if self._offered >= len(self._steps) or not self._started:
            return
        if self._gap:
            self._gap -= 1
            return
        number = self._offered
        event, waiting = self._steps[number].event, self._board.taken + 1 < number
        assert event is not None
        if waiting:  # the event before is still waiting
            before = self._steps[number - 1].event
            if not isinstance(before, Feedback) or isinstance(event, Feedback) or not self._may(number):
                return
            self.bins["verdict and PIM event at once"] += 1
        elif not self._may(number):
            return
        else:
            self.unit.now.set(self._steps[number].at)
        self._present(event)

    def _present(self, event: Event) -> None:
        self.bins["event offered while the unit is busy"] += self.unit.clk_req.get()
        if isinstance(event, Preverified):
            verify = self._sinks[1]
            self.bins["result waits for the verify request"] += verify.held
        self.unit.sources[slot_of(event)].offer(event_bits(event, self.unit.ports))
        self._offered += 1
        if not isinstance(event, Feedback) or self._rng.random() < 0.3:
            self._gap = self._rng.choice((0, 0, 0, 1, 5, 40, 200)) if self._rng.random() < 0.5 else 0

    def _may(self, number: int) -> bool:
        """The environment has seen all that the event answers."""
        needed, seen = self._needs[number], self._board.seen
        return (
            seen["task"] >= needed.tasks
            and seen["verify"] >= needed.verifies
            and seen["abort"] >= needed.aborts
        )


HELD = {
    "commit": "commit held by the host",
    "verify": "verify request held by the NPU",
    "task": "task request held by the PIM",
}

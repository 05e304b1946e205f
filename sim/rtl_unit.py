"""The RTL control unit in Amaranth's simulator, driven edge by edge from outside a test bench.

Simulated time stands still unless a VCD is written: nothing in the design depends on it, and an edge costs
two design steps. With a VCD, time passes between edges as in the whole system, so waves stay true.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, ClockDomain, Module, Signal, Value
from amaranth.sim import Simulator

from ahasd.models.control.events import (
    Abort,
    Commit,
    Draft,
    Event,
    Preverify,
    Verify,
)
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import COUNTERS
from ahasd.rtl.control_unit import ControlUnit
from ahasd.sim.engine import CLOCK_PS, Decided, Output, Taken
from ahasd.sim.port_bits import SLOTS, config_bits, event_bits, field, port_map, slot_of
from ahasd.sim.waves import save_file, settle_names

__all__ = ["PysimUnit"]

STREAMS = ("token", "feedback", "result", "task", "verify", "commit")
"""Of the unit, inputs first."""


class PysimUnit:
    """A control unit that runs one clock edge at a time.

    After construction it has been reset and has initialised its memories; edges are counted from there.

    Parameters
    ----------
    make : callable
        Makes the RTL unit (another predictor, other sizes).
    vcd : Path, optional
        Write waves there and a GTKWave save file beside it. Close with :meth:`close`.
    """

    def __init__(self, make: Callable[[], ControlUnit] = ControlUnit, vcd: Path | None = None) -> None:
        self.dut = make()
        self.ports = port_map(self.dut.params)
        self.edge = 0
        self.driven = 0
        self._events: dict[str, Event] = {}
        self._commit: list[int] = []
        self._request: dict[str, tuple[int, list[int]]] = {}
        self._abort = False
        module = Module()
        self._clock: Any = ClockDomain("sync")
        module.domains.sync = self._clock
        module.submodules.control_unit = dut = self.dut
        # One look an edge tells whether anything happens at it.
        self._flags = Signal(8)
        module.d.comb += self._flags.eq(
            Cat(
                dut.clk_req,
                dut.abort,
                dut.token.valid & dut.token.ready,
                dut.feedback.valid & dut.feedback.ready,
                dut.result.valid & dut.result.ready,
                dut.commit.valid & dut.commit.ready,
                dut.verify.valid & dut.verify.ready,
                dut.task.valid & dut.task.ready,
            )
        )
        simulator: Any = Simulator(module)
        self._simulator = simulator
        self._delay = 0.0
        self._time_ps = 0
        self._vcd = vcd
        self._timed = vcd is not None
        self._context: Any = None
        self._writer: Any = None
        self._simulator.add_testbench(self._bench)
        if vcd is not None:
            self._writer = self._simulator.write_vcd(str(vcd), str(save_file(vcd)), traces=self._traces())
            self._writer.__enter__()
        self._simulator.advance()
        self._reset()

    async def _bench(self, context: Any) -> None:
        # The context is used from outside while this coroutine waits; it only makes time pass.
        self._context = context
        while True:
            await context.delay(self._delay)

    def _traces(self) -> dict[str, list[Any]]:
        """What the save file shows, by group."""
        dut = self.dut
        streams = {name: getattr(dut, name) for name in STREAMS}
        return {
            "clock": [self._clock.clk, self._clock.rst, dut.clk_req, dut.now],
            **{name: [s.valid, s.ready, Value.cast(s.payload)] for name, s in streams.items()},
            "abort": [dut.abort],
            "state": [Value.cast(dut.status), dut.cause],
        }

    def close(self) -> None:
        """Finish the VCD and its save file."""
        if self._writer is not None:
            self._writer.__exit__(None, None, None)
            self._writer = None
            assert self._vcd is not None
            settle_names(self._vcd)

    def _pass(self, to_ps: int) -> None:
        """Let simulated time reach ``to_ps``."""
        if self._timed and to_ps > self._time_ps:
            self._delay = (to_ps - self._time_ps) * 1e-12
            self._simulator.advance()
            self._time_ps = to_ps

    def _tick(self) -> None:
        set_ = self._context.set
        self._pass(self.edge * CLOCK_PS)
        set_(self._clock.clk, 1)
        self._pass(self.edge * CLOCK_PS + CLOCK_PS // 2)
        set_(self._clock.clk, 0)
        self.driven += 1

    def _reset(self) -> None:
        set_, dut = self._context.set, self.dut
        for stream in (dut.task, dut.verify, dut.commit):
            set_(stream.ready, 1)
        set_(self._clock.rst, 1)
        self._tick()
        set_(self._clock.rst, 0)
        while True:
            self.edge += 1
            self._tick()
            if not self.clk_req:
                break
        # Edges are counted from here; with waves, power-up is before time zero of the run.
        self.edge = self.driven = 0
        self._origin = self._time_ps

    # Inputs.

    def configure(self, config: ControlConfig) -> None:
        """Set the configuration port."""
        self._context.set(self.dut.config.as_value(), config_bits(config, self.ports))

    def command(self, **strobes: int) -> None:
        """Set command strobes; they are cleared after the next edge."""
        for name, value in strobes.items():
            self._context.set(self.dut.command[name], value)

    def present(self, event: Event) -> None:
        """Make an event wait at its input."""
        slot = slot_of(event)
        if slot in self._events:
            raise RuntimeError(f"an event waits at the {slot} input already")
        self._events[slot] = event
        stream = getattr(self.dut, slot)
        self._context.set(stream.payload.as_value(), event_bits(event, self.ports))
        self._context.set(stream.valid, 1)

    @property
    def clk_req(self) -> bool:
        """The unit asks for its clock."""
        return bool(self._context.get(self._flags) & 1)

    # Clock.

    def clock(self, edge: int, now: int) -> list[Output]:
        """Run the edge with number ``edge`` at timebase ``now``; what was taken or took effect at it."""
        context = self._context
        self.edge = edge
        context.set(self.dut.now, now)
        flags = context.get(self._flags)
        outputs: list[Output] = []
        taken: list[str] = []
        if flags >> 1 & 1 != self._abort:
            self._abort = not self._abort
        else:
            flags &= ~2  # abort stays as it is
        if flags & 0xFC:
            for bit, slot in enumerate(SLOTS, 2):
                if flags >> bit & 1:
                    outputs.append(Taken(edge, self._events.pop(slot), now))
                    taken.append(slot)
            if flags >> 5 & 1:
                self._take_commit(edge, outputs)
        if flags & 2:
            outputs.append(Decided(edge, Abort()))
        if flags & 0xC0:
            for bit, slot in ((6, "verify"), (7, "task")):
                if flags >> bit & 1:
                    self._take_request(slot, edge, outputs)
        self._tick()
        for slot in taken:
            context.set(getattr(self.dut, slot).valid, 0)
        return outputs

    def pulse(self, edge: int, now: int, **strobes: int) -> list[Output]:
        """Run an edge with command strobes."""
        self.command(**strobes)
        outputs = self.clock(edge, now)
        self.command(**dict.fromkeys(strobes, 0))
        return outputs

    def _take_commit(self, edge: int, outputs: list[Output]) -> None:
        port = self.ports["commit"]
        beat = self._context.get(self.dut.commit.payload.as_value())
        self._commit.append(field(beat, port["token"]))
        if field(beat, port["last"]):
            outputs.append(Decided(edge, Commit(tuple(self._commit))))
            self._commit = []

    def _take_request(self, slot: str, edge: int, outputs: list[Output]) -> None:
        port, header = self.ports["request"], self.ports["header"]
        beat = self._context.get(getattr(self.dut, slot).payload.as_value())
        data = field(beat, port["data"])
        if field(beat, port["header"]):
            self._request[slot] = (field(data, header["position"]), [])
            return
        position, tokens = self._request[slot]
        tokens.append(data)
        if field(beat, port["last"]):
            kind: type[Verify] | type[Preverify] | type[Draft] = Verify
            if slot == "task":
                kind = Preverify if field(beat, port["kind"]) else Draft
            outputs.append(Decided(edge, kind(position, tuple(tokens))))

    # Outputs that are levels.

    def counters(self) -> dict[str, int]:
        """All counters by name."""
        return {name: self._context.get(self.dut.counters[name]) for name in COUNTERS}

    def cause(self) -> int:
        """The sticky violation bits."""
        return int(self._context.get(self.dut.cause))

    def status(self, name: str) -> int:
        """One field of the status port."""
        return int(self._context.get(Cat(getattr(self.dut.status, name))))

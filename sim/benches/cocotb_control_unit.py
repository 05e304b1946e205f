"""cocotb tests of the control unit's Verilog. ``ahasd.sim.benches.runner`` starts them and says on what.

Every recording is played with back-pressure on every stream and compared, decision by decision, with the
golden model, which also counts what the events bring about.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

import cocotb
from ahasd.models.control.coverage import BINS, CoveredUnit
from ahasd.models.control.environment import Environment
from ahasd.models.control.events import Aborted, Event, Feedback, Preverified, Token
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.work import Violation
from ahasd.models.replay import GoldenUnit, Replay, describe, first_difference, read_replay, replay
from ahasd.sim.benches.player import PRESSURE_BINS, Player, Unit
from ahasd.sim.port_bits import config_bits, event_bits, slot_of

SETTINGS: dict[str, Any] = json.loads(Path(os.environ["AHASD_BENCH"]).read_text(encoding="utf-8"))
PERIOD_NS = 10
REACTION = 2_000
"""Cycles within which the unit has reacted to anything, its consumers being ready."""

_bins: Counter[str] = Counter()
_totals: Counter[str] = Counter()


async def play(dut: Any, recording: Replay, name: str) -> None:
    """Compare with the golden model, count what happens."""
    golden = CoveredUnit()
    difference = first_difference(recording, replay(recording, golden, name))
    assert difference is None, f"{name} is not what the golden model decides: {difference}"
    unit = Unit(dut, SETTINGS["ports"])
    Clock(dut.clk, PERIOD_NS, unit="ns").start(start_high=False)
    player = Player(unit, recording, f"{SETTINGS['seed']} {name}")
    try:
        await player.run()
    finally:
        _totals.update(events=len(recording.steps), cycles=player.cycles)
    _bins.update(golden.bins)
    _bins.update(player.bins)


@cocotb.test()
@cocotb.parametrize(number=range(len(SETTINGS["vectors"])))
async def vector(dut: Any, number: int) -> None:
    """A conformance vector or a recorded run."""
    path = Path(SETTINGS["vectors"][number])
    dut._log.info("plays %s", path)
    await play(dut, read_replay(path), path.name)


@cocotb.test()
@cocotb.parametrize(number=range(SETTINGS["streams"]))
async def stream(dut: Any, number: int) -> None:
    """A random environment of its own."""
    seed = Random(f"{SETTINGS['seed']} {number}").getrandbits(32)
    dut._log.info("plays the random environment with seed %d", seed)
    await play(dut, Environment(seed).run(GoldenUnit(), SETTINGS["events"]), f"environment {seed}")


class _Violations:
    """Sends what the protocol forbids, with consumers that are always ready."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.seen: set[Violation] = set()

    async def _rest(self) -> None:
        for _ in range(REACTION):
            await FallingEdge(self.unit.clk)
            for source in self.unit.sources.values():
                source.settle()
                source.sample()
            if not self.unit.clk_req.get():
                return
        raise AssertionError(f"the unit does not come to rest within {REACTION} cycles")

    async def event(self, event: Event) -> None:
        source = self.unit.sources[slot_of(event)]
        source.offer(event_bits(event, self.unit.ports))
        source.sample()
        await self._rest()
        assert not source.waiting, f"{event} is not consumed"
        assert self.unit.cause.get() == 0, f"{event}: cause {self.unit.cause.get():#x}"

    async def command(self, *strobes: str) -> None:
        self.unit.strobe(*strobes)
        await FallingEdge(self.unit.clk)
        self.unit.strobe()
        await self._rest()

    async def forbidden(self, what: Event | str, violation: Violation) -> None:
        """Sets its bit and changes no counter, other than of a token that lacks ``last``."""
        before = self.unit.counter_values()
        if isinstance(what, str):
            await self.command(what)
        else:
            source = self.unit.sources[slot_of(what)]
            source.offer(event_bits(what, self.unit.ports))
            source.sample()
            await self._rest()
        found = self.unit.cause.get(), self.unit.error.get()
        assert found == (1 << violation, 1), f"{describe(violation)}: cause {found[0]:#x}, error {found[1]}"
        assert violation is Violation.MISSING_LAST or self.unit.counter_values() == before
        await self.command("clear_errors")
        assert (self.unit.cause.get(), self.unit.error.get()) == (0, 0)
        self.seen.add(violation)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def violations(dut: Any) -> None:
    """Each cause, with its sticky bit, the interrupt and the command that clears them."""
    unit = Unit(dut, SETTINGS["ports"])
    Clock(dut.clk, PERIOD_NS, unit="ns").start(start_high=False)
    for name in ("commit", "verify", "task"):
        getattr(dut, f"{name}__ready").value = 1
    await unit.reset_cycles()
    config = ControlConfig(max_draft=1, context=9, tvc=False, suppress="preverify")
    unit.config.set(config_bits(config, unit.ports))
    bench = _Violations(unit)
    await bench.command()
    token = Token(1, 0, True)
    await bench.forbidden(token, Violation.TOKEN_UNEXPECTED)
    await bench.command("start")
    await bench.forbidden("start", Violation.COMMAND)
    await bench.forbidden("clear", Violation.COMMAND)
    await bench.forbidden("config_write", Violation.CONFIGURATION)
    await bench.forbidden(Feedback(0, 1), Violation.FEEDBACK_UNEXPECTED)
    await bench.forbidden(Preverified(0, 1), Violation.RESULT_UNEXPECTED)
    await bench.forbidden(Aborted(), Violation.ABORTED_UNEXPECTED)
    # One rejection is enough for the next batch of its kind to be the last one before a pre-verification.
    for event in (token, Feedback(0, 2), Aborted(), token):
        await bench.event(event)
    await bench.forbidden(Feedback(2, 1), Violation.FEEDBACK_RANGE)
    await bench.forbidden(token, Violation.TOKEN_UNEXPECTED)
    await bench.forbidden(Preverified(0, None), Violation.RESULT_RANGE)
    await bench.forbidden(Preverified(1, 3), Violation.RESULT_RANGE)
    await bench.forbidden(Preverified(2, None), Violation.RESULT_RANGE)
    await bench.event(Preverified(1, None))
    await bench.forbidden(Token(2, 0, False), Violation.MISSING_LAST)
    await bench.command("stop")
    await bench.event(Aborted())
    await bench.event(Feedback(1, 1))
    await bench.command("clear")
    assert set(unit.counter_values().values()) == {0}
    assert bench.seen == set(Violation)


@cocotb.test(stage=1)
async def coverage(dut: Any) -> None:
    """What all the other tests have brought about; all bins are required where the runner says so."""
    report = {
        "totals": dict(_totals),
        "decisions": {name: _bins[name] for name in BINS},
        "pressure": {name: _bins[name] for name in PRESSURE_BINS},
    }
    Path(SETTINGS["report"]).write_text(json.dumps(report), encoding="utf-8")
    required = BINS + PRESSURE_BINS if SETTINGS["require"] else ()
    missed = [name for name in required if not _bins[name]]
    assert not missed, f"bins missed: {'; '.join(missed)}"

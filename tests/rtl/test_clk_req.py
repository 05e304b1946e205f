"""``clk_req``: while it is low no register changes, so that the clock may stand or run."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import EnableInserter, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ahasd.models.control.events import Event
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import ControlUnit as GoldenControlUnit
from ahasd.rtl.control_unit import ControlUnit
from ahasd.rtl.signatures import COMMANDS
from ahasd.sim.compiled.build import compiler
from ahasd.sim.compiled.engine import CompiledEngine
from ahasd.sim.engine import ControlEngine, Decided, Output, Taken
from ahasd.sim.port_bits import SLOTS
from ahasd.sim.rtl_engine import RtlEngine

from .bench import simulate
from .environment import Npu, Pim
from .phases import PHASES, in_phase
from .pins import Pins, Watched
from .scoreboard import Scoreboard
from .streams import random_config, random_event

needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C++ compiler")
FAR = 1 << 60

Recorded = tuple[list[tuple[int, Event]], list[Output], int]


def recorded(engine: ControlEngine, config: ControlConfig, seed: int, events: int) -> Recorded:
    """Drive an engine with random events at random distances; events with edges, outputs, last edge."""
    source = random.Random(seed)
    golden = GoldenControlUnit()
    golden.configure(config)
    submitted: list[tuple[int, Event]] = []
    outputs: list[Output] = []
    engine.start(config, 10)
    edge = 10
    for number in range(events + 1):
        latest = edge
        while engine.busy:
            for output in engine.advance(FAR):
                outputs.append(output)
                latest = output.edge
                if isinstance(output, Taken):
                    if output.event is None:
                        golden.start(output.now)
                    else:
                        golden.step(output.event, output.now)
        if number < events:
            edge = latest + 1 + source.choice([0, 1, 7, 60, 200, 900])
            event = random_event(golden, source)
            engine.submit(event, edge)
            submitted.append((edge, event))
    return submitted, outputs, edge + 1000


def replayed(
    engine: ControlEngine, config: ControlConfig, submitted: list[tuple[int, Event]], last: int
) -> list[Output]:
    """The same events at the same edges; runs on to edge ``last``."""
    outputs: list[Output] = []
    engine.start(config, 10)
    for edge, event in submitted:
        while found := engine.advance(edge - 1):
            outputs += found
        engine.submit(event, edge)
    while found := engine.advance(last):
        outputs += found
    return outputs


def same_on_every_edge(gated: ControlEngine, free: ControlEngine, seed: int, events: int) -> None:
    config = random_config(random.Random(seed), edc=True, tvc=True, max_draft=2, preverify_preset=0)
    submitted, outputs, last = recorded(gated, config, seed, events)
    assert replayed(free, config, submitted, last) == outputs
    assert free.counters() == gated.counters()
    assert any(isinstance(output, Decided) for output in outputs)
    cycles = [engine.report()["cycles"] for engine in (gated, free)]
    assert cycles[0] < 0.7 * last, "the clock hardly ever stood"
    assert cycles[1] == last


def test_clocking_every_edge_changes_nothing_in_simulator() -> None:
    same_on_every_edge(RtlEngine(16), RtlEngine(16, every_cycle=True), 1, 25)


@needs_compiler
@pytest.mark.parametrize("seed", range(4))
def test_clocking_every_edge_changes_nothing_compiled(seed: int) -> None:
    same_on_every_edge(CompiledEngine(16), CompiledEngine(16, every_cycle=True), seed, 1500)


@pytest.mark.parametrize("phase", PHASES)
def test_a_thousand_idle_edges_change_nothing(phase: str) -> None:
    """With the timebase running on; what state does not show is shown by what follows."""
    pair = in_phase(phase)
    source = random.Random(phase)
    assert not pair.unit.clk_req
    for _ in range(1000):
        assert pair.unit.clock(pair.unit.edge + 1, source.getrandbits(32)) == []
        assert not pair.unit.clk_req
    pair.check()
    if not pair.golden.running:
        pair.start(random_config(source))
    elif pair.golden.stopping:
        pair.finish(source)
        return
    pair.random(source, 25)


class GatedByItself(wiring.Component):
    """A watched unit all of whose registers and memories stand while its ``clk_req`` is low."""

    def __init__(self, unit: ControlUnit) -> None:
        self.unit = unit
        self.watched = Watched(unit)
        super().__init__({"flags": Out(len(self.watched.flags))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.watched = EnableInserter(self.unit.clk_req)(self.watched)
        m.d.comb += self.flags.eq(self.watched.flags)
        return m


@pytest.mark.parametrize("seed", [1])
def test_a_unit_gated_by_its_own_request_misses_nothing(seed: int) -> None:
    source = random.Random(seed)
    unit = ControlUnit()
    gated = GatedByItself(unit)
    stood = []

    async def watch(ctx: Any) -> None:
        async for _, _, requested in ctx.tick().sample(unit.clk_req):
            stood.append(not requested)

    async def bench(ctx: Any) -> None:
        npu, pim = Npu(source, 0.8, delay=300), Pim(source, ControlConfig(), 0.8, delay=80)
        pins = Pins(ctx, gated, Scoreboard(GoldenControlUnit()), npu, pim, source)
        await pins.reset_done()
        for _ in range(2):
            await pins.start(random_config(source, max_draft=2, edc=True))
            await pins.run(1500)
            await pins.finish()

    simulate(gated, bench, background=[watch])
    assert sum(stood) > 0.3 * len(stood)


def test_clk_req_rises_with_any_input_and_falls_with_it() -> None:
    unit = ControlUnit()
    watched = Watched(unit)

    async def bench(ctx: Any) -> None:
        while ctx.get(unit.clk_req):
            await ctx.tick()
        inputs = [getattr(unit, slot).valid for slot in SLOTS]
        inputs += [unit.command[name] for name, _ in COMMANDS]
        for signal in inputs:
            ctx.set(signal, 1)
            assert ctx.get(unit.clk_req)
            ctx.set(signal, 0)
            assert not ctx.get(unit.clk_req)
        for signal in (unit.task.ready, unit.verify.ready, unit.commit.ready):
            ctx.set(signal, 1)
            assert not ctx.get(unit.clk_req)

    simulate(watched, bench)

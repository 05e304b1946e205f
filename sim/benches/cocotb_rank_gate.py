"""cocotb tests of the rank gate: random tasks, ranks that drain, a memory controller that takes its time."""

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
from ahasd.sim.benches.agents import Pin, Sink, Source
from ahasd.sim.benches.live import Ranks
from ahasd.sim.port_bits import field

SETTINGS: dict[str, Any] = json.loads(Path(os.environ["AHASD_BENCH"]).read_text(encoding="utf-8"))
RUNS, TASKS = 4, 60
SWITCH_CYCLES = 16
"""Bound from the last rank's idleness to the other set's enable."""
HANG = 5_000
GATE_BINS = (
    "draft ranks on",
    "target ranks on",
    "request held by the PIM",
    "request held by the gate",
    "grant awaited",
    "ranks drain before a switch",
    "target ranks released without a task",
    "all off after the sequence",
    "overlap",
)

_bins: Counter[str] = Counter()
_totals: Counter[str] = Counter()


class Bench:
    """A gate with everything around it; one call of ``cycle`` a clock."""

    def __init__(self, dut: Any, seed: str) -> None:
        self.dut, self.rng = dut, Random(seed)
        self.requests, self.tasks = Sink(dut, "requests", Random(f"{seed} sink")), Source(dut, "tasks")
        names: tuple[str, ...] = (
            "rst",
            "running",
            "outstanding",
            "draft_ranks",
            "target_ranks",
            "overlap",
            "rank_enable",
        )
        names += ("rank_busy", "rank_closed", "target_request", "target_grant", "clk_req")
        self.pins = {name: Pin(dut, name) for name in names}
        self.sends: list[int] = []
        self.wanted: list[int] = []
        self.kind = 0
        self.left = 0
        self.work = -1
        self.switch = 0
        self.cycles = 0
        self.masks(0x3333, 0xCCCC)
        for name in ("running", "outstanding", "rank_busy", "target_grant"):
            self.pins[name].set(0)
        self.pins["rank_closed"].set(0xFFFF)

    def masks(self, draft: int, target: int) -> None:
        self.ranks = Ranks(self.rng, draft, target)
        self.pins["draft_ranks"].set(draft)
        self.pins["target_ranks"].set(target)

    def beat(self, **values: int) -> int:
        return sum(value << SETTINGS["ports"]["request"][name][0] for name, value in values.items())

    async def cycle(self) -> None:
        await FallingEdge(self.dut.clk)
        self.cycles += 1
        pins, ranks = self.pins, self.ranks
        enable, request = pins["rank_enable"].get(), bool(pins["target_request"].get())
        self.tasks.settle()
        if not self.tasks.waiting and self.sends:
            self.tasks.offer(self.sends.pop(0))
        _bins["request held by the gate"] += self.tasks.waiting
        beat = self.requests.cycle()
        _bins["request held by the PIM"] += self.requests.held
        if beat is not None:
            port = SETTINGS["ports"]["request"]
            kind = bool(field(beat, port["kind"]))
            assert beat == self.wanted.pop(0), "a beat is lost or changed"
            assert enable == ranks.masks[kind], "a task without its ranks"
            if field(beat, port["header"]):
                ranks.begin(kind)
            if field(beat, port["last"]):
                self.work = self.rng.randint(1, 80)
        if self.work >= 0:
            self.work -= 1
            if self.work < 0:
                pins["outstanding"].set(0)
                ranks.end()
        _bins["grant awaited"] += request and not ranks.grant
        ranks.cycle(enable, request)
        pins["rank_busy"].set(ranks.busy)
        pins["rank_closed"].set(~ranks.open & 0xFFFF)
        pins["target_grant"].set(ranks.grant)
        self.tasks.sample()
        # The bound of a switch counts while nobody else is waited for.
        waits = ranks.busy | ranks.open or (request and not ranks.grant) or self.requests.held
        stuck = self.tasks.waiting and not waits and enable != ranks.masks[self.kind]
        self.switch = self.switch + 1 if stuck else 0
        assert self.switch <= SWITCH_CYCLES, "the switch takes too long"
        if self.tasks.waiting and ranks.busy and enable != ranks.masks[self.kind]:
            _bins["ranks drain before a switch"] += 1

    async def task(self, kind: int, tokens: int) -> None:
        """A request to its end; its ranks may be busy for a while longer."""
        self.kind = kind
        self.pins["outstanding"].set(1)
        self.sends = [self.beat(header=1, kind=kind, data=tokens)]
        for number in range(1, tokens + 1):
            self.sends.append(self.beat(kind=kind, data=self.rng.getrandbits(18), last=number == tokens))
        self.wanted = list(self.sends)
        self.work = -1
        begun = self.cycles
        while self.wanted or self.work >= 0:
            await self.cycle()
            assert self.cycles - begun < HANG, "the task never ends"


async def begin(dut: Any, name: str) -> Bench:
    bench = Bench(dut, f"{SETTINGS['seed']} {name}")
    Clock(dut.clk, 10, unit="ns").start(start_high=False)
    bench.pins["rst"].set(1)
    for _ in range(3):
        await FallingEdge(dut.clk)
    bench.pins["rst"].set(0)
    return bench


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(number=range(RUNS))
async def tasks(dut: Any, number: int) -> None:
    """Tasks of both kinds; sequences with other masks in between."""
    bench = await begin(dut, f"tasks {number}")
    rng, pins = bench.rng, bench.pins
    pins["running"].set(1)
    for _ in range(TASKS):
        await bench.task(int(rng.random() < 0.4), rng.randint(1, 9))
        for _ in range(rng.choice((0, 0, 1, 150))):
            await bench.cycle()
            _bins["target ranks released without a task"] += not pins["rank_enable"].get()
        if rng.random() < 0.1:
            pins["running"].set(0)
            for _ in range(120):
                await bench.cycle()
            assert pins["rank_enable"].get() == 0, "ranks stay on after the sequence"
            assert not pins["clk_req"].get()
            _bins["all off after the sequence"] += 1
            draft = rng.getrandbits(16) | 1
            bench.masks(draft, rng.getrandbits(16) & ~draft)
            pins["running"].set(1)
    _bins.update(bench.ranks.bins)
    _totals.update(events=TASKS, cycles=bench.cycles)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def overlap(dut: Any) -> None:
    """Masks that overlap let nothing through."""
    bench = await begin(dut, "overlap")
    bench.pins["running"].set(1)
    bench.masks(0x00FF, 0x0080)
    bench.tasks.offer(bench.beat(header=1, data=1))
    for _ in range(100):
        await FallingEdge(dut.clk)
        assert (bench.pins["overlap"].get(), bench.pins["rank_enable"].get()) == (1, 0)
    _bins["overlap"] += 1


@cocotb.test(stage=1)
async def coverage(dut: Any) -> None:
    """What all the other tests have brought about; all bins are required."""
    report = {"totals": dict(_totals), "decisions": {}, "pressure": {name: _bins[name] for name in GATE_BINS}}
    Path(SETTINGS["report"]).write_text(json.dumps(report), encoding="utf-8")
    missed = [name for name in GATE_BINS if not _bins[name]]
    assert not missed, f"bins missed: {'; '.join(missed)}"

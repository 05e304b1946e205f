"""cocotb tests of the top: sequences under back-pressure, and resets of either side in the middle of them."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from cocotb.triggers import Timer

import cocotb
from ahasd.models.control.environment import random_config
from ahasd.models.control.events import Commit
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import ControlUnit
from ahasd.models.replay import read_replay
from ahasd.rtl.registers.ahasd_map import CAUSES, COUNTER_NAMES, REGISTERS
from ahasd.sim.benches.top_bench import MEM_PS, TOP_BINS, TopBench

SETTINGS: dict[str, Any] = json.loads(Path(os.environ["AHASD_BENCH"]).read_text(encoding="utf-8"))
NPU_PS = (1000, 1430, 5310, 700)
"""Periods of the NPU's clock, beside 1250 ps."""
SEQUENCES = 4
RECORDINGS = SETTINGS["vectors"]
POLLS = 4000

_bins: Counter[str] = Counter()
_totals: Counter[str] = Counter()


async def begin(dut: Any, name: str, npu_ps: int) -> TopBench:
    """A top out of reset, its errors cleared, all interrupts enabled."""
    bench = TopBench(dut, SETTINGS["ports"], f"{SETTINGS['seed']} {name}", npu_ps)
    bench.begin()
    await cycles(20)
    for side in bench.rng.sample(("mem_rst", "npu_rst"), 2):
        bench.pins[side].set(0)
        await cycles(bench.rng.randint(1, 40))
    await cycles(60)
    await prepare(bench)
    return bench


async def prepare(bench: TopBench) -> None:
    """After a reset of the memory side."""
    driver = bench.driver
    assert await driver.read("ID") == REGISTERS["ID"].reset
    assert await driver.read("ERRORS") == 1 << list(CAUSES).index("memory_reset")
    await driver.command("clear_errors")
    await driver.write("INTERRUPT_STATUS", 0xF)
    await driver.write("INTERRUPT_ENABLE", REGISTERS["INTERRUPT_ENABLE"].pack({"error": 1, "npu_reset": 1}))


async def cycles(count: float) -> None:
    await Timer(int(count * MEM_PS), "ps")


def configuration(rng: Random) -> ControlConfig:
    """Any, with presets small enough for pre-verification to happen."""
    config = random_config(rng)
    npu, draft, preverify = (rng.choice((0, 16, 256)) for _ in range(3))
    return replace(
        config,
        context=min(config.context, 20_000),
        npu_preset=npu,
        draft_preset=draft,
        preverify_preset=preverify,
    )


async def end(bench: TopBench) -> None:
    """Stop, wait for the end, and compare all that is left."""
    driver = bench.driver
    await driver.command("stop")
    await ended(bench)
    await cycles(100)
    assert not any(bench.expected.values()), f"missing: {bench.expected}"
    assert await driver.counters() == bench.golden.counters
    times = {name: await driver.read(name.upper()) for name in COUNTER_NAMES[11:]}
    assert abs(times["pim_idle"] + times["pim_draft"] + times["pim_preverify"]) < bench.cycles / 256 + 2
    assert await driver.read("COMMITTED") == len(bench.sequence) == bench.golden.head
    assert await driver.read("ERRORS") == 0
    assert not bench.pins["irq"].get()


async def ended(bench: TopBench) -> None:
    for _ in range(POLLS):
        status = await bench.driver.fields("STATUS")
        if not status["running"] and not status["recovering"]:
            return
        await cycles(20)
    raise AssertionError(f"the sequence does not end: {status}")


def collect(bench: TopBench) -> None:
    _bins.update(bench.bins)
    _bins.update(bench.ranks.bins)
    _totals.update(events=bench.golden.counters["tokens"], cycles=bench.cycles)


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(number=range(SEQUENCES))
async def sequences(dut: Any, number: int) -> None:
    """Two sequences after each other, learned state and counters going on."""
    bench = await begin(dut, f"sequence {number}", NPU_PS[number % len(NPU_PS)])
    for _ in range(2):
        await bench.restart(configuration(bench.rng))
        await cycles(6000)
        await end(bench)
    collect(bench)


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(number=range(len(RECORDINGS)))
async def recording(dut: Any, number: int) -> None:
    """A conformance vector's events, in its order; decisions, commits and counters as recorded.

    The bench keeps the timebase where the recording has it for the next event, as no integrator can.
    """
    recorded = read_replay(Path(RECORDINGS[number]))
    bench = await begin(dut, f"recording {number}", NPU_PS[number % len(NPU_PS)])
    script = bench.play(recorded)
    await bench.restart(recorded.config)
    while not script.ended:
        await cycles(200)
    await cycles(400)
    assert await bench.driver.counters() == recorded.counters
    decisions = [decision for step in recorded.steps for decision in step.decisions]
    committed = [token for decision in decisions if isinstance(decision, Commit) for token in decision.tokens]
    assert bench.sequence == committed
    collect(bench)


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(number=range(SEQUENCES))
async def npu_reset(dut: Any, number: int) -> None:
    """Resets of the NPU side at any time; software goes on from what is committed."""
    bench = await begin(dut, f"NPU reset {number}", NPU_PS[number % len(NPU_PS)])
    driver, rng = bench.driver, bench.rng
    await bench.restart(configuration(rng))
    whole: list[int] = []
    for _ in range(6):
        await cycles(rng.choice((rng.uniform(200, 3000), rng.uniform(20, 600))))
        if rng.random() < 0.5:  # in the middle of a request
            for _ in range(2000):
                await Timer(bench.npu_ps // 3, "ps")
                if bench.within_request:
                    break
        bench.bins["NPU reset within a request"] += bench.within_request
        bench.pins["npu_rst"].set(1)
        await cycles(rng.choice((0.3, 3, 50, 400)))
        bench.pins["npu_rst"].set(0)
        for _ in range(POLLS):
            if (await driver.fields("INTERRUPT_STATUS"))["npu_reset"]:
                break
            await cycles(10)
        else:
            raise AssertionError("the reset is not reported")
        assert bench.pins["irq"].get()
        assert await driver.read("ERRORS") == 1 << list(CAUSES).index("npu_reset")
        await ended(bench)
        await cycles(100)
        bench.expected["verify"].clear()
        assert not any(bench.expected.values()), f"missing: {bench.expected}"
        assert await driver.read("COMMITTED") == len(bench.sequence)
        ran = bench.golden.npu_busy
        bench.bins[f"NPU reset while {'a verification' if ran else 'none'} runs"] += 1
        counters = {name: await driver.read(name.upper()) for name in bench.golden.counters}
        if ran:
            assert counters == bench.golden.counters, "saved before the unit was reset"
            bench.golden = ControlUnit()
        whole += bench.sequence
        await driver.command("clear_errors")
        await driver.write("INTERRUPT_STATUS", 0xF)
        await bench.restart(bench.following())
    await cycles(3000)
    await end(bench)
    assert len(whole) > 5
    collect(bench)


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(number=range(SEQUENCES))
async def memory_reset(dut: Any, number: int) -> None:
    """Resets of the memory side; the host knows what was committed."""
    bench = await begin(dut, f"memory reset {number}", NPU_PS[number % len(NPU_PS)])
    rng = bench.rng
    await bench.restart(configuration(rng))
    for _ in range(5):
        await cycles(rng.uniform(200, 3000))
        if rng.random() < 0.5:  # in the middle of a commit
            for _ in range(2000):
                await cycles(1)
                if bench.commit.held:
                    break
        await cycles(rng.random())
        bench.bins["memory reset within a commit"] += bench.commit.held
        bench.bins["memory reset while a verification runs"] += bench.golden.npu_busy
        await bench.reset_memory_side(rng.choice((0.3, 3, 50)))
        await prepare(bench)
        await bench.restart(bench.following())
    await cycles(3000)
    await end(bench)
    collect(bench)


@cocotb.test(stage=1)
async def coverage(dut: Any) -> None:
    """What all the other tests have brought about; all bins are required."""
    report = {
        "totals": dict(_totals),
        "decisions": {},
        "pressure": {name: _bins[name] for name in TOP_BINS},
    }
    Path(SETTINGS["report"]).write_text(json.dumps(report), encoding="utf-8")
    missed = [name for name in TOP_BINS if not _bins[name]]
    assert not missed, f"bins missed: {'; '.join(missed)}"

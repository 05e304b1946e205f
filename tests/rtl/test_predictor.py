"""The hardware predictors answer as the golden ones, two cycles after they are asked."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import Component
from amaranth.sim import Simulator

from ahasd.models.control import predictor as golden_predictors
from ahasd.models.control.predictor import EntropyHistoryPredictor as Golden
from ahasd.models.control.predictor import Look
from ahasd.rtl.predictor import PREDICTORS, AlwaysGoOn, EntropyHistoryPredictor

from .bench import PARAMS, cycles_while, pulse, simulate


async def answer(ctx: Any, dut: Component, **inputs: int) -> Look:
    await pulse(ctx, dut, **inputs)
    await ctx.tick()
    return Look(ctx.get(dut.look_index), bool(ctx.get(dut.go_on)))


async def operate(ctx: Any, dut: Component, **inputs: int) -> None:
    await pulse(ctx, dut, **inputs)
    await ctx.tick()


@pytest.mark.parametrize(("seed", "buckets"), [(0, 8), (1, 8), (2, 2), (3, 1)])
def test_edc_against_golden_two_cycles_apart(seed: int, buckets: int) -> None:
    dut = EntropyHistoryPredictor(PARAMS)
    golden = Golden(PARAMS)
    source = random.Random(seed)
    closed: list[tuple[int, int]] = []

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, clear=1, start=1)
        await cycles_while(ctx, dut.busy)
        for _ in range(1500):
            llr = source.randint(0, PARAMS.batches)
            kind = source.choice(["close"] * 4 + ["lookup"] * 2 + ["accept"] * 2 + ["reject", "refute"])
            if kind in ("accept", "reject", "refute") and not closed:
                continue
            match kind:
                case "close":
                    bucket = source.randrange(buckets) * 7 // max(buckets - 1, 1)
                    expected = golden.close(bucket, llr)
                    closed.append((expected.index, bucket))
                    assert await answer(ctx, dut, close=1, bucket=bucket, llr=llr) == expected
                case "lookup":
                    assert await answer(ctx, dut, lookup=1, llr=llr, bucket=5) == golden.lookup(llr)
                case "accept":
                    index, bucket = closed.pop(0)
                    golden.accept(index, bucket)
                    await operate(ctx, dut, accept=1, index=index, old_bucket=bucket)
                case "reject" | "refute":  # a refuted batch: alone, and with the history restored
                    index, _ = closed.pop(0)
                    golden.reject(index)
                    if kind == "refute":
                        golden.restore()
                    await operate(ctx, dut, reject=1, index=index, restore=int(kind == "refute"))
            closed[:] = closed[-PARAMS.batches :]
        assert len(set(golden.pht)) == 4, "the stream trains too little"

    simulate(dut, bench)


def test_edc_restore_alone() -> None:
    dut = EntropyHistoryPredictor(PARAMS)
    golden = Golden(PARAMS)

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, clear=1, start=1)
        await cycles_while(ctx, dut.busy)
        for bucket in (7, 5, 3):
            golden.close(bucket, 1)
            await answer(ctx, dut, close=1, bucket=bucket, llr=1)
        golden.accept(9, 7)
        golden.restore()
        await operate(ctx, dut, accept=1, index=9, old_bucket=7)
        await operate(ctx, dut, restore=1)
        assert await answer(ctx, dut, lookup=1, llr=2) == golden.lookup(2)

    simulate(dut, bench)


def test_edc_start_keeps_training_and_clear_keeps_history() -> None:
    dut = EntropyHistoryPredictor(PARAMS)
    golden = Golden(PARAMS)

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, clear=1, start=1)
        await cycles_while(ctx, dut.busy)
        index = golden.lookup(3).index
        for _ in range(2):
            golden.reject(index)
            await operate(ctx, dut, reject=1, index=index)
        golden.close(7, 1)
        await answer(ctx, dut, close=1, bucket=7, llr=1)
        golden.start_sequence()
        await operate(ctx, dut, start=1)
        assert await answer(ctx, dut, lookup=1, llr=3) == golden.lookup(3) == Look(index, False)
        golden.close(7, 1)
        golden.clear()
        await answer(ctx, dut, close=1, bucket=7, llr=1)
        await pulse(ctx, dut, clear=1)
        await cycles_while(ctx, dut.busy)
        assert await answer(ctx, dut, lookup=1, llr=3) == golden.lookup(3)

    simulate(dut, bench)


def test_always_go_on_has_no_state_and_one_answer() -> None:
    dut = AlwaysGoOn(PARAMS)
    golden = golden_predictors.AlwaysGoOn(PARAMS)
    source = random.Random(0)
    names = ["close", "lookup", "accept", "reject", "restore", "start", "clear", "bucket", "llr", "index"]

    async def bench(ctx: Any) -> None:
        for _ in range(200):
            for name in names:
                signal = getattr(dut, name)
                ctx.set(signal, source.getrandbits(len(signal)))
            assert Look(ctx.get(dut.look_index), bool(ctx.get(dut.go_on))) == golden.lookup(1)
            assert not ctx.get(dut.busy)

    module = Module()  # no clock: there is nothing to clock
    module.submodules.dut = dut
    simulator = Simulator(module)
    simulator.add_testbench(bench)
    simulator.run()


def test_same_names_as_the_golden_predictors() -> None:
    assert set(PREDICTORS) == set(golden_predictors.PREDICTORS)

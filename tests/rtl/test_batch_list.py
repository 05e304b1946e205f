"""The list of closed batches against a plain list."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest

from ahasd.rtl.batch_list import BatchList

from .bench import PARAMS, pulse, simulate

FULL = PARAMS.batches


@dataclass
class Entry:
    end: int
    bucket: int
    index: int
    settled: bool = False


def shown(ctx: Any, dut: BatchList) -> Entry:
    return Entry(ctx.get(dut.end), ctx.get(dut.bucket), ctx.get(dut.index), bool(ctx.get(dut.settled)))


def random_entry(source: random.Random) -> Entry:
    return Entry(
        source.getrandbits(PARAMS.position_bits),
        source.getrandbits(PARAMS.bucket_bits),
        source.getrandbits(PARAMS.index_bits),
    )


async def push(ctx: Any, dut: BatchList, entry: Entry) -> None:
    await pulse(ctx, dut, push=1, new_end=entry.end, new_bucket=entry.bucket, new_index=entry.index)


async def contents(ctx: Any, dut: BatchList) -> list[Entry]:
    """All entries, read one a cycle."""
    found = []
    for offset in range(ctx.get(dut.count)):
        await pulse(ctx, dut, read=1, offset=offset)
        found.append(shown(ctx, dut))
    return found


@pytest.mark.parametrize(("seed", "pushes"), [(0, 3), (1, 8), (2, 20)], ids=["short", "half", "full"])
def test_random_operations_every_cycle(seed: int, pushes: int) -> None:
    """Push, pop, trim and clear in any legal order; reads show what was there before their cycle."""
    dut = BatchList(PARAMS)
    source = random.Random(seed)
    model: list[Entry] = []
    lengths = set()
    kinds = ["push"] * pushes + ["pop"] * 3 + ["trim"] * 2 + ["none"] * 3 + ["clear"] * (seed == 0)

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, clear=1)
        latest = None
        for _ in range(2500):
            kind = source.choice(kinds)
            if (kind == "push" and len(model) == FULL) or (kind in ("pop", "trim") and not model):
                kind = "none"
            inputs: dict[str, int] = {}
            if kind != "none":
                inputs[kind] = 1
            if model:
                inputs["offset"] = source.randrange(len(model))
            if kind != "push" and model and source.random() < 0.5:
                inputs["read"] = 1
                entry = model[inputs["offset"]]
                latest = Entry(entry.end, entry.bucket, entry.index, entry.settled)
            match kind:
                case "push":
                    entry = random_entry(source)
                    model.append(entry)
                    inputs |= {"new_end": entry.end, "new_bucket": entry.bucket, "new_index": entry.index}
                case "pop":
                    model.pop(0)
                case "trim":
                    end = source.getrandbits(PARAMS.position_bits)
                    del model[inputs["offset"] + 1 :]
                    model[-1].end, model[-1].settled = end, True
                    inputs |= {"new_end": end, "new_bucket": 1, "new_index": 1}
                case "clear":
                    model.clear()
            await pulse(ctx, dut, **inputs)
            assert ctx.get(dut.count) == len(model)
            if latest is not None:
                assert shown(ctx, dut) == latest
            lengths.add(len(model))
        assert await contents(ctx, dut) == model
        assert FULL in lengths or seed == 0

    simulate(dut, bench)


@pytest.mark.parametrize("turn", range(FULL + 1))
def test_full_list_at_every_place_of_the_ring(turn: int) -> None:
    dut = BatchList(PARAMS)
    source = random.Random(turn)

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, clear=1)
        for _ in range(turn):
            await push(ctx, dut, random_entry(source))
            await pulse(ctx, dut, pop=1)
        model = [random_entry(source) for _ in range(FULL)]
        for entry in model:
            await push(ctx, dut, entry)
        assert ctx.get(dut.count) == FULL
        assert await contents(ctx, dut) == model
        while model:
            await pulse(ctx, dut, pop=1)
            model.pop(0)
            assert await contents(ctx, dut) == model

    simulate(dut, bench)


@pytest.mark.parametrize("place", range(FULL))
def test_trim_at_each_place(place: int) -> None:
    """The trimmed batch keeps its tag, is settled, and newer ones are gone; a later push is not settled."""
    dut = BatchList(PARAMS)
    source = random.Random(place)

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, clear=1)
        for _ in range(place):  # so that the list lies across the ring's end at some places
            await push(ctx, dut, random_entry(source))
            await pulse(ctx, dut, pop=1)
        model = [random_entry(source) for _ in range(FULL)]
        for entry in model:
            await push(ctx, dut, entry)
        await pulse(ctx, dut, trim=1, offset=place, new_end=0xBEEF, new_bucket=0, new_index=0)
        del model[place + 1 :]
        model[-1].end, model[-1].settled = 0xBEEF, True
        assert await contents(ctx, dut) == model
        if len(model) < FULL:
            model.append(random_entry(source))
            await push(ctx, dut, model[-1])
            assert await contents(ctx, dut) == model

    simulate(dut, bench)


def test_an_entry_stays_until_the_next_read() -> None:
    dut = BatchList(PARAMS)
    source = random.Random(9)

    async def bench(ctx: Any) -> None:
        await pulse(ctx, dut, clear=1)
        entry = random_entry(source)
        await push(ctx, dut, entry)
        await pulse(ctx, dut, read=1, offset=0)
        await pulse(ctx, dut, pop=1)
        await push(ctx, dut, random_entry(source))
        await pulse(ctx, dut, trim=1, offset=0, new_end=1)
        await pulse(ctx, dut, clear=1)
        assert shown(ctx, dut) == entry

    simulate(dut, bench)

"""The draft queue against positions and tokens kept in a dictionary."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ahasd.rtl.draft_queue import DraftQueue

from .bench import PARAMS, pulse, simulate

DEPTH = PARAMS.queue_depth
TOP = (1 << PARAMS.position_bits) - 1  # position -1


class Model:
    """Positions are unbounded here; ``fed`` is kept as the golden unit keeps it."""

    def __init__(self, prompt: int) -> None:
        self.tokens = {-1: prompt}
        self.head = self.checked = self.tail = 0
        self.fed = -1

    def append(self, token: int) -> None:
        self.fed = max(self.fed, self.tail)
        self.tokens[self.tail] = token
        self.tail += 1

    def replace(self, position: int, token: int) -> int:
        """Flush or fix; the tokens dropped."""
        dropped = self.tail - position
        self.tokens[position] = token
        self.fed = min(self.fed, position)
        self.tail = self.checked = position + 1
        return dropped

    def check(self, position: int) -> None:
        self.checked = max(self.checked, position)


def pointers(ctx: Any, dut: DraftQueue) -> tuple[int, ...]:
    return tuple(ctx.get(signal) for signal in (dut.head, dut.checked, dut.tail, dut.fed_two))


def expected(model: Model) -> tuple[int, ...]:
    assert model.fed in (model.tail - 1, model.tail - 2)
    return model.head, model.checked, model.tail, int(model.fed == model.tail - 2)


async def read(ctx: Any, dut: DraftQueue, position: int) -> int:
    await pulse(ctx, dut, read=1, address=position % DEPTH)
    return ctx.get(dut.data)


async def start(ctx: Any, dut: DraftQueue, prompt: int) -> Model:
    await pulse(ctx, dut, start=1, write=1, in_place=1, position=TOP, token=prompt)
    return Model(prompt)


async def append(ctx: Any, dut: DraftQueue, model: Model, token: int) -> None:
    model.append(token)
    await pulse(ctx, dut, append=1, write=1, token=token)


async def replace(ctx: Any, dut: DraftQueue, model: Model, kind: str, position: int, token: int) -> None:
    """Measure, then flush or fix."""
    await pulse(ctx, dut, measure=1, position=position)
    assert ctx.get(dut.dropped) == model.tail - position
    await pulse(ctx, dut, write=1, in_place=1, position=position, token=token, **{kind: 1})
    assert ctx.get(dut.dropped) == model.replace(position, token)


async def verdict(ctx: Any, dut: DraftQueue, model: Model, accepted: int, hit: bool, token: int) -> None:
    """Commits, one a cycle, then a flush or not: as the unit does it."""
    position = model.head + accepted
    for _ in range(accepted + 1):
        await pulse(ctx, dut, commit=1)
    model.head = position + 1
    if hit:
        model.check(model.head)
        await pulse(ctx, dut, catch_up=1)
        return
    await replace(ctx, dut, model, "flush", position, token)


async def fix(ctx: Any, dut: DraftQueue, model: Model, position: int, token: int) -> None:
    model.check(position)
    await pulse(ctx, dut, check=1, position=position)
    await replace(ctx, dut, model, "fix", position, token)


@pytest.mark.parametrize("seed", range(4))
def test_random_operations(seed: int) -> None:
    dut = DraftQueue(PARAMS)
    source = random.Random(seed)
    batch = (8, 16, 40, 120)[seed]

    async def bench(ctx: Any) -> None:
        model = await start(ctx, dut, 0x3FFFF)
        turns = 0
        for _ in range(250):
            token = source.getrandbits(PARAMS.token_bits)
            match source.choice(["append", "append", "check", "hit", "miss", "fix"]):
                case "append":
                    for _ in range(source.randint(1, batch)):
                        if model.tail - model.head < DEPTH - 1:
                            await append(ctx, dut, model, source.getrandbits(PARAMS.token_bits))
                case "check":
                    position = source.randint(model.head, model.tail)
                    model.check(position)
                    await pulse(ctx, dut, check=1, position=position)
                case "hit" if model.head < model.tail:
                    accepted = source.randrange(min(model.tail - model.head, PARAMS.verify_max + 1))
                    await verdict(ctx, dut, model, accepted, True, token)
                case "miss" if model.fed == model.tail - 1 and model.head < model.tail:
                    accepted = source.randint(0, min(model.tail - model.head, PARAMS.verify_max))
                    await verdict(ctx, dut, model, accepted, False, token)
                case "fix" if model.fed == model.tail - 1 and model.checked < model.tail:
                    await fix(ctx, dut, model, source.randrange(model.checked, model.tail), token)
            assert pointers(ctx, dut) == expected(model)
            turns = model.tail // DEPTH
            for _ in range(3):
                position = source.randrange(model.head - 1, model.tail)
                assert await read(ctx, dut, position) == model.tokens[position]
        for position in range(model.head - 1, model.tail):
            assert await read(ctx, dut, position) == model.tokens[position]
        assert turns >= 1, "the ring does not wrap around"

    simulate(dut, bench)


def test_start_empties_the_queue_and_keeps_the_prompt_token() -> None:
    dut = DraftQueue(PARAMS)

    async def bench(ctx: Any) -> None:
        model = await start(ctx, dut, 77)
        for token in range(20):
            await append(ctx, dut, model, token)
        await verdict(ctx, dut, model, 7, False, 5)
        model = await start(ctx, dut, 1234)
        assert pointers(ctx, dut) == (0, 0, 0, 0) == expected(model)
        assert await read(ctx, dut, -1) == 1234

    simulate(dut, bench)


def test_full_ring_holds_every_token_and_the_one_before_them() -> None:
    dut = DraftQueue(PARAMS)

    async def bench(ctx: Any) -> None:
        model = await start(ctx, dut, 999)
        for round_ in range(3):
            while model.tail - model.head < DEPTH - 1:
                await append(ctx, dut, model, model.tail * 2053 + round_ & 0x3FFFF)
            for position in range(model.head - 1, model.tail):
                assert await read(ctx, dut, position) == model.tokens[position]
            await verdict(ctx, dut, model, 99, True, 0)

    simulate(dut, bench)


def test_flush_without_look_ahead_leaves_two_tokens_to_feed() -> None:
    dut = DraftQueue(PARAMS)

    async def bench(ctx: Any) -> None:
        model = await start(ctx, dut, 1)
        for token in (10, 11, 12):
            await append(ctx, dut, model, token)
        await verdict(ctx, dut, model, 3, False, 13)  # all accepted, and one more
        assert pointers(ctx, dut) == (4, 4, 4, 1)
        assert await read(ctx, dut, 2) == 12  # head - 2, for that draft's request
        assert await read(ctx, dut, 3) == 13
        await append(ctx, dut, model, 14)
        assert pointers(ctx, dut) == (4, 4, 5, 0)

    simulate(dut, bench)


@pytest.mark.parametrize("position", [0, 1, 5, 9])
def test_fix_at_each_place_of_a_batch(position: int) -> None:
    dut = DraftQueue(PARAMS)

    async def bench(ctx: Any) -> None:
        model = await start(ctx, dut, 1)
        for token in range(10):
            await append(ctx, dut, model, 100 + token)
        await fix(ctx, dut, model, position, 7)
        assert pointers(ctx, dut) == (0, position + 1, position + 1, 0)
        assert await read(ctx, dut, position) == 7
        assert await read(ctx, dut, position - 1) == model.tokens[position - 1]

    simulate(dut, bench)


def test_checked_never_goes_back_and_data_stays_until_the_next_read() -> None:
    dut = DraftQueue(PARAMS)

    async def bench(ctx: Any) -> None:
        model = await start(ctx, dut, 1)
        for token in range(8):
            await append(ctx, dut, model, 50 + token)
        await pulse(ctx, dut, check=1, position=6)
        await pulse(ctx, dut, check=1, position=3)
        assert ctx.get(dut.checked) == 6
        await pulse(ctx, dut, commit=1)
        await pulse(ctx, dut, catch_up=1)
        assert ctx.get(dut.checked) == 6
        assert await read(ctx, dut, 2) == 52
        await pulse(ctx, dut, address=5)
        await append(ctx, dut, model, 60)
        assert ctx.get(dut.data) == 52

    simulate(dut, bench)

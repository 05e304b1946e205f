"""The register block against its description, and what is generated of it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import COUNTERS
from ahasd.models.control.work import Violation
from ahasd.rtl.registers.ahasd_map import CAUSES, REGISTERS, config_words
from ahasd.rtl.registers.control import ControlRegisters
from ahasd.rtl.registers.description import Access, Field, Register, RegisterMap
from ahasd.rtl.registers.generate import HEADER
from ahasd.rtl.registers.text import c_header, markdown

from .axi import OKAY, SLVERR, Manager
from .bench import idle, simulate

ROOT = Path(__file__).parents[2]
WRITABLE = [register for register in REGISTERS if register.access.stored]
MASK = 0xFFFFFFFF


def at(name: str) -> int:
    return REGISTERS[name].offset


def error(name: str) -> int:
    return 1 << list(CAUSES).index(name)


async def all_words(bus: Manager) -> dict[int, int]:
    words = {}
    for register in REGISTERS:
        response, words[register.offset] = await bus.read(register.offset)
        assert response == OKAY
    return words


def test_reset_values_and_the_whole_address_space() -> None:
    dut = ControlRegisters()

    async def bench(ctx: Any) -> None:
        bus = Manager(ctx, dut.axi)
        resets = {register.offset: register.reset for register in REGISTERS}
        assert await all_words(bus) == resets
        for offset in (*range(0, 0x100, 4), *range(0x100, 1 << REGISTERS.address_bits, 68)):
            if offset not in resets:
                assert await bus.read(offset) == (SLVERR, 0)
                assert await bus.write(offset, MASK) == SLVERR
        for register in REGISTERS:
            if register.access is Access.READ_ONLY:
                assert await bus.write(register.offset, MASK) == SLVERR
        assert await all_words(bus) == resets

    simulate(dut, bench)


@pytest.mark.parametrize("seed", range(3))
def test_random_writes_with_strobes_and_hesitation(seed: int) -> None:
    dut = ControlRegisters()

    async def bench(ctx: Any) -> None:
        rng = random.Random(seed)
        bus = Manager(ctx, dut.axi, seed, hesitation=rng.choice((0.0, 0.3, 0.7)))
        words = {register.offset: register.reset for register in WRITABLE}
        used = {register.offset: sum(field.mask for field in register.fields) for register in WRITABLE}
        for _ in range(120):
            offset, word, strobe = rng.choice(list(words)), rng.getrandbits(32), rng.getrandbits(4)
            bits = sum(0xFF << 8 * byte for byte in range(4) if strobe >> byte & 1)
            assert await bus.write(offset | rng.getrandbits(2), word, strobe) == OKAY
            words[offset] = (words[offset] & ~bits | word & bits) & used[offset]
            probe = rng.choice(list(words))
            assert await bus.read(probe) == (OKAY, words[probe])
        for name, value in REGISTERS["LIMITS"].unpack(words[at("LIMITS")]).items():
            assert ctx.get(dut.config[name]) == value
        assert ctx.get(dut.draft_ranks) == words[at("RANKS")] & 0xFFFF

    simulate(dut, bench)


def test_a_configuration_reaches_the_unit() -> None:
    dut = ControlRegisters()
    config = ControlConfig(
        edc=False, suppress="preverify", verify_all=False, max_draft=5, verify_max=30, preverify_max=3,
        context=31000, prompt_token=0x2ABCD, npu_preset=0xFEDCBA98, draft_preset=77, preverify_preset=1 << 31,
    )  # fmt: skip

    async def bench(ctx: Any) -> None:
        bus = Manager(ctx, dut.axi)
        for name, word in config_words(config).items():
            assert await bus.write(at(name), word) == OKAY
        values = {**config.to_dict(), "suppress_preverify": True}
        for name, _ in dut.config.shape():
            assert ctx.get(dut.config[name]) == int(values[name]), name

    simulate(dut, bench)


def test_configuration_is_locked_while_a_sequence_runs() -> None:
    dut = ControlRegisters()
    told: list[int] = []

    async def watch(ctx: Any) -> None:
        async for *_, strobe in ctx.tick().sample(dut.command.config_write):
            told.append(strobe)

    async def bench(ctx: Any) -> None:
        bus = Manager(ctx, dut.axi)
        ctx.set(dut.unit_active, 1)
        before = await all_words(bus)
        assert await bus.write(at("CONTROL"), 1) == OKAY
        assert await bus.write(at("LIMITS"), 0) == OKAY  # the unit has not begun
        assert sum(told) == 0
        ctx.set(dut.status.running, 1)
        await idle(ctx, 3)
        assert sum(told) == 1, "the unit is told when it can note it"
        for register in WRITABLE:
            if register.access is Access.CONFIGURATION:
                assert await bus.write(register.offset, ~before[register.offset] & MASK) == OKAY
        await idle(ctx, 3)
        assert sum(told) == 1 + sum(r.access is Access.CONFIGURATION for r in WRITABLE)
        assert await bus.write(at("INTERRUPT_ENABLE"), 5) == OKAY
        words = await all_words(bus)
        assert words.pop(at("INTERRUPT_ENABLE")) == 5
        assert all(words[r.offset] == before[r.offset] for r in WRITABLE if r.offset in words)
        ctx.set(dut.status.running, 0)
        assert await bus.write(at("LIMITS"), 0x010203) == OKAY
        assert await bus.read(at("LIMITS")) == (OKAY, 0x010203)

    simulate(dut, bench, background=[watch])


def test_commands_are_strobes_of_one_cycle() -> None:
    dut = ControlRegisters()
    seen: list[int] = []

    async def watch(ctx: Any) -> None:
        async for *_, strobes in ctx.tick().sample(dut.command.as_value()):
            if strobes:
                seen.append(strobes)

    async def bench(ctx: Any) -> None:
        bus = Manager(ctx, dut.axi)
        for bit in (1, 2, 4, 8):
            await bus.write(at("CONTROL"), bit)
        await bus.write(at("CONTROL"), 0xF, strobe=0xE)
        assert await bus.read(at("CONTROL")) == (OKAY, 0)
        assert seen == [1, 2, 4, 8]

    simulate(dut, bench, background=[watch])


def test_start_is_refused_with_unusable_ranks_or_during_recovery() -> None:
    dut = ControlRegisters()
    started: list[int] = []

    async def watch(ctx: Any) -> None:
        async for *_, strobe in ctx.tick().sample(dut.command.start):
            started.append(strobe)

    async def bench(ctx: Any) -> None:
        bus = Manager(ctx, dut.axi)
        await bus.write(at("CONTROL"), 8)
        assert await bus.read(at("ERRORS")) == (OKAY, 0)
        ctx.set(dut.ranks_overlap, 1)
        await bus.write(at("CONTROL"), 1)
        assert await bus.read(at("ERRORS")) == (OKAY, error("ranks"))
        ctx.set(dut.ranks_overlap, 0)
        await bus.write(at("RANKS"), 0xFFFF0000)
        await bus.write(at("CONTROL"), 9)  # clears, and the new error stays
        assert await bus.read(at("ERRORS")) == (OKAY, error("ranks"))
        await bus.write(at("RANKS"), 0xFFF0000F)
        ctx.set(dut.recovering, 1)
        await bus.write(at("CONTROL"), 8)
        await bus.write(at("CONTROL"), 1)
        assert await bus.read(at("ERRORS")) == (OKAY, error("not_ready"))
        assert sum(started) == 0
        ctx.set(dut.recovering, 0)
        await bus.write(at("CONTROL"), 1)
        await idle(ctx, 1)
        assert sum(started) == 1

    simulate(dut, bench, background=[watch])


def test_errors_events_and_interrupt() -> None:
    dut = ControlRegisters()

    async def bench(ctx: Any) -> None:
        bus = Manager(ctx, dut.axi)
        await bus.write(at("CONTROL"), 8)
        await bus.write(at("INTERRUPT_ENABLE"), 0xB)
        for violation in Violation:
            ctx.set(dut.cause, 1 << violation)
            await idle(ctx, 3)
            assert ctx.get(dut.irq)
            assert await bus.read(at("ERRORS")) == (OKAY, 1 << violation)
            await bus.write(at("INTERRUPT_STATUS"), 0xE)
            assert ctx.get(dut.irq), "another bit was cleared"
            await bus.write(at("INTERRUPT_STATUS"), 1)
            await idle(ctx, 1)
            assert not ctx.get(dut.irq)
            assert await bus.read(at("ERRORS")) == (OKAY, 1 << violation), "the cause stays"
            ctx.set(dut.cause, 0)
            await bus.write(at("CONTROL"), 8)
            assert await bus.read(at("ERRORS")) == (OKAY, 0)
        ctx.set(dut.status.running, 1)
        await idle(ctx, 2)
        ctx.set(dut.status.running, 0)
        await idle(ctx, 3)
        assert await bus.read(at("INTERRUPT_STATUS")) == (OKAY, 8)
        ctx.set(dut.status.sequence_full, 1)
        for signal in (dut.npu_reset, dut.recovered):
            ctx.set(signal, 1)
            await idle(ctx, 1)
            ctx.set(signal, 0)
        assert await bus.read(at("INTERRUPT_STATUS")) == (OKAY, 0xF)
        assert await bus.read(at("ERRORS")) == (OKAY, error("npu_reset"))

    simulate(dut, bench)


def test_a_snapshot_is_one_cycles_counters() -> None:
    dut = ControlRegisters()

    async def count(ctx: Any) -> None:
        value = 0
        while True:
            value += 1
            for k, name in enumerate(COUNTERS):
                ctx.set(dut.counters[name], value + k)
            await ctx.tick()

    async def bench(ctx: Any) -> None:
        bus = Manager(ctx, dut.axi, 3, hesitation=0.3)
        for _ in range(4):
            await bus.write(at("CONTROL"), 1 << 4)
            words = [(await bus.read(at(name.upper())))[1] for name in COUNTERS]
            assert words == [words[0] + k for k in range(len(COUNTERS))]
            assert words[0] > 0

    simulate(dut, bench, background=[count])


def test_ticks_are_counted_by_what_runs() -> None:
    dut = ControlRegisters()

    async def bench(ctx: Any) -> None:
        bus = Manager(ctx, dut.axi)

        async def ticks(count: int, **status: int) -> None:
            for name, value in status.items():
                ctx.set(dut.status[name], value)
            for _ in range(count):
                ctx.set(dut.tick, 1)
                await ctx.tick()
                ctx.set(dut.tick, 0)
                await ctx.tick()

        await ticks(9)
        await ticks(3, running=1)
        await ticks(5, task=1)
        await ticks(7, task_kind=1, npu_busy=1)
        await bus.write(at("CONTROL"), 1 << 4)
        names = ("NPU_IDLE", "PIM_IDLE", "PIM_DRAFT", "PIM_PREVERIFY")
        assert [(await bus.read(at(name)))[1] for name in names] == [8, 3, 5, 7]
        await bus.write(at("CONTROL"), 1 << 2)  # not while a sequence runs
        ctx.set(dut.status.running, 0)
        await bus.write(at("CONTROL"), 1 << 4)
        assert (await bus.read(at("NPU_IDLE")))[1] == 8
        await bus.write(at("CONTROL"), 1 << 2)
        await bus.write(at("CONTROL"), 1 << 4)
        assert [(await bus.read(at(name)))[1] for name in names] == [0, 0, 0, 0]

    simulate(dut, bench)


def test_state_is_read_where_the_map_says() -> None:
    dut = ControlRegisters()
    rng = random.Random(4)

    async def bench(ctx: Any) -> None:
        bus = Manager(ctx, dut.axi)
        for _ in range(5):
            status = {name: rng.getrandbits(field.width) for name, field in dut.status.shape()}
            status["running"] = 1
            for name, value in status.items():
                ctx.set(dut.status[name], value)
            pins = {name: rng.getrandbits(16) for name in ("rank_enable", "rank_busy")}
            for name, value in pins.items():
                ctx.set(getattr(dut, name), value)
            await idle(ctx, 2)
            found = {}
            for name in ("STATUS", "PREDICTION", "COMMITTED", "RANK_STATE"):
                found |= REGISTERS[name].unpack((await bus.read(at(name)))[1])
            assert {name: found[name] for name in status} == status
            assert {name: found[name] for name in pins} == pins
        ctx.set(dut.status.running, 0)
        ctx.set(dut.status.committed, 0)
        await idle(ctx, 2)
        assert (await bus.read(at("COMMITTED")))[1] == status["committed"], "kept after the sequence"

    simulate(dut, bench)


def test_generated_files_are_up_to_date() -> None:
    assert (ROOT / "docs" / "registers.md").read_text(encoding="utf-8") == markdown(REGISTERS)
    assert HEADER.read_text(encoding="utf-8") == c_header(REGISTERS)


def test_pack_and_unpack() -> None:
    limits = REGISTERS["LIMITS"]
    values = {"max_draft": 3, "verify_max": 32, "preverify_max": 8}
    assert limits.unpack(limits.pack(values)) == values
    with pytest.raises(ValueError, match=r"LIMITS\.max_draft: 32 must fit in 5 bits"):
        limits.pack({"max_draft": 32})
    with pytest.raises(KeyError, match="no field 'depth'"):
        limits.pack({"depth": 1})
    with pytest.raises(KeyError, match="no register 'LIMIT'"):
        REGISTERS["LIMIT"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((Field("a", 0, 8, ""), Field("b", 7, 1, "")), "A.b: bits 7 must be free"),
        ((Field("a", 30, 3, ""),), "A.a: bits 32:30 must be free and in the word"),
        ((Field("a", 0, 2, "", 4),), "A.a: reset 0x4 must fit"),
    ],
)
def test_wrong_fields_are_refused(fields: tuple[Field, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Register("A", 0, Access.READ_WRITE, "", fields)


def test_wrong_maps_are_refused() -> None:
    def register(name: str, offset: int, field: str = "a") -> Register:
        return Register(name, offset, Access.READ_WRITE, "", (Field(field, 0, 1, ""),))

    for registers, message in (
        ((register("A", 0), register("A", 4, "b")), "A: must be a name of its own"),
        ((register("A", 0), register("B", 0, "b")), "B: offset 0x0 must be free"),
        ((register("A", 64),), "A: offset 0x40 must be free and in the block"),
        ((register("A", 0), register("B", 4)), "B.a: must be a name of its own"),
        ((register("a", 0),), "a: must be a name of its own, in capitals"),
    ):
        with pytest.raises(ValueError, match=message):
            RegisterMap("X", 6, registers)
    with pytest.raises(ValueError, match="A: offset 0x2 must be a multiple of 4"):
        register("A", 2)

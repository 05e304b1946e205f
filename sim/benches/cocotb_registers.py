"""cocotb tests of the register block, driven by cocotbext-axi with pauses on every channel."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster  # type: ignore[import-untyped]  # no stubs

import cocotb
from ahasd.models.control.unit import COUNTERS
from ahasd.models.control.work import Violation
from ahasd.rtl.registers.ahasd_map import CAUSES, REGISTERS
from ahasd.rtl.registers.description import Access, Register
from ahasd.sim.benches.agents import Pin

SETTINGS: dict[str, Any] = json.loads(Path(os.environ["AHASD_BENCH"]).read_text(encoding="utf-8"))
RUNS, ACCESSES = 4, 400
OKAY, SLVERR = 0, 2
INPUTS: tuple[str, ...] = (
    "status",
    "counters",
    "cause",
    "unit_active",
    "abort",
    "rank_mode",
    "rank_enable",
    "rank_busy",
)
INPUTS += ("ranks_overlap", "tick", "link_up", "recovering", "npu_reset", "recovered", "save")
REGISTER_BINS = (
    "read",
    "write",
    "write of a part of a word",
    "read of nothing",
    "write to nothing",
    "write to a read-only register",
    "write while locked",
    "read and write at once",
    "answer held",
    "snapshot while counting",
)

_bins: Counter[str] = Counter()
_totals: Counter[str] = Counter()


class Bench:
    """The block, a bus manager, and what the registers must hold."""

    def __init__(self, dut: Any, seed: str) -> None:
        self.dut, self.rng = dut, Random(seed)
        self.inputs = {name: Pin(dut, name) for name in INPUTS}
        for pin in self.inputs.values():
            pin.set(0)
        self.reset = Pin(dut, "rst")
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "axi_"), dut.clk, dut.rst)
        self.words = {register.name: register.reset for register in REGISTERS}
        self.locked = False

    async def begin(self, pauses: float) -> None:
        Clock(self.dut.clk, 10, unit="ns").start(start_high=False)
        self.reset.set(1)
        await self.cycles(4)
        self.reset.set(0)
        await self.cycles(4)
        write, read = self.master.write_if, self.master.read_if
        for channel in (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel):
            channel.set_pause_generator(self._pauses(pauses))

    def _pauses(self, chance: float) -> Any:
        rng = Random(self.rng.random())
        while True:
            yield rng.random() < chance

    async def cycles(self, count: int) -> None:
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    def status(self, **values: int) -> None:
        port = SETTINGS["ports"]["status"]
        self.inputs["status"].set(sum(value << port[name][0] for name, value in values.items()))

    async def read(self, offset: int) -> tuple[int, int]:
        answer = await self.master.read(offset, 4)
        return int(answer.resp), int.from_bytes(answer.data, "little")

    async def write(self, offset: int, data: bytes) -> int:
        return int((await self.master.write(offset, data)).resp)

    def stored(self, register: Register, low: int, data: bytes) -> None:
        """The model of a write."""
        if not register.access.stored or (self.locked and register.access is Access.CONFIGURATION):
            return
        word = bytearray(self.words[register.name].to_bytes(4, "little"))
        word[low : low + len(data)] = data
        used = sum(field.mask for field in register.fields)
        self.words[register.name] = int.from_bytes(word, "little") & used


async def begin(dut: Any, name: str, pauses: float) -> Bench:
    bench = Bench(dut, f"{SETTINGS['seed']} {name}")
    await bench.begin(pauses)
    return bench


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(number=range(RUNS))
async def accesses(dut: Any, number: int) -> None:
    """Random reads and writes of all addresses, locked and not."""
    bench = await begin(dut, f"accesses {number}", (0.0, 0.2, 0.5, 0.8)[number % 4])
    rng = bench.rng
    by_offset = {register.offset: register for register in REGISTERS}
    for _ in range(ACCESSES):
        if rng.random() < 0.05:
            bench.locked = rng.random() < 0.5
            bench.status(running=bench.locked)
            await bench.cycles(3)
        known = rng.choice(list(by_offset))
        offset = known if rng.random() < 0.8 else rng.randrange(0, 1 << REGISTERS.address_bits, 4)
        register = by_offset.get(offset)
        if rng.random() < 0.5:
            low = rng.randrange(4)
            data = rng.randbytes(rng.randint(1, 4 - low))
            if register is not None and register.name == "CONTROL":
                data = bytes(len(data))  # commands have tests of their own
            answer = await bench.write(offset + low, data)
            refused = register is None or not register.access.writable
            assert answer == (SLVERR if refused else OKAY), f"write to {offset:#x}: {answer}"
            _bins["write to nothing"] += register is None
            _bins["write to a read-only register"] += register is not None and refused
            _bins["write of a part of a word"] += len(data) < 4
            if register is not None:
                _bins["write"] += not refused
                _bins["write while locked"] += bench.locked and register.access is Access.CONFIGURATION
                bench.stored(register, low, data)
        else:
            answer, word = await bench.read(offset)
            _bins["read of nothing" if register is None else "read"] += 1
            assert answer == (SLVERR if register is None else OKAY), f"read of {offset:#x}: {answer}"
            if register is None:
                assert word == 0
            elif register.access.stored:
                assert word == bench.words[register.name], register.name
    for register in REGISTERS:
        if register.access.stored:
            assert await bench.read(register.offset) == (OKAY, bench.words[register.name])
    _totals.update(events=ACCESSES)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def both_at_once(dut: Any) -> None:
    """Reads and writes under way together; answers that wait."""
    bench = await begin(dut, "both", 0.6)
    enable = REGISTERS["INTERRUPT_ENABLE"].offset
    for value in range(16):
        write = bench.master.init_write(enable, value.to_bytes(4, "little"))
        read = bench.master.init_read(REGISTERS["ID"].offset, 4)
        await write.wait()
        await read.wait()
        assert int.from_bytes(read.data.data, "little") == REGISTERS["ID"].reset
        assert await bench.read(enable) == (OKAY, value)
        _bins["read and write at once"] += 1


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def counters(dut: Any) -> None:
    """A snapshot is one cycle's counters though they go on."""
    bench = await begin(dut, "counters", 0.3)
    port = SETTINGS["ports"]["counters"]

    async def count() -> None:
        value = 0
        while True:
            value += 1
            bits = sum((value + k) << port[name][0] for k, name in enumerate(COUNTERS))
            bench.inputs["counters"].set(bits)
            await RisingEdge(dut.clk)

    cocotb.start_soon(count())
    control = REGISTERS["CONTROL"]
    for _ in range(10):
        await bench.write(control.offset, control.pack({"snapshot": 1}).to_bytes(4, "little"))
        words = [(await bench.read(REGISTERS[name.upper()].offset))[1] for name in COUNTERS]
        assert words == [words[0] + k for k in range(len(COUNTERS))]
        _bins["snapshot while counting"] += 1


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def errors(dut: Any) -> None:
    """Each cause sets its bit and the interrupt; commands and writes clear them."""
    bench = await begin(dut, "errors", 0.3)
    control, status = REGISTERS["CONTROL"], REGISTERS["INTERRUPT_STATUS"]
    irq = Pin(dut, "irq")
    clear = control.pack({"clear_errors": 1}).to_bytes(4, "little")
    await bench.write(control.offset, clear)
    await bench.write(REGISTERS["INTERRUPT_ENABLE"].offset, (0xF).to_bytes(4, "little"))
    for violation in Violation:
        bench.inputs["cause"].set(1 << violation)
        await bench.cycles(4)
        assert irq.get() == 1
        assert await bench.read(REGISTERS["ERRORS"].offset) == (OKAY, 1 << violation)
        bench.inputs["cause"].set(0)
        await bench.write(control.offset, clear)
        await bench.write(status.offset, (0xF).to_bytes(4, "little"))
        await bench.cycles(4)
        assert irq.get() == 0
        assert await bench.read(REGISTERS["ERRORS"].offset) == (OKAY, 0)
    assert list(CAUSES)[len(Violation)] == "memory_reset"


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def answers_wait(dut: Any) -> None:
    """A manager that does not take an answer finds it unchanged."""
    bench = await begin(dut, "answers", 0.0)
    bench.master.read_if.r_channel.clear_pause_generator()
    bench.master.read_if.r_channel.pause = True
    read = bench.master.init_read(REGISTERS["ID"].offset, 4)
    await bench.cycles(20)
    valid, data = Pin(dut, "axi__rvalid"), Pin(dut, "axi__rdata")
    for _ in range(20):
        await bench.cycles(1)
        assert (valid.get(), data.get()) == (1, REGISTERS["ID"].reset)
    bench.master.read_if.r_channel.pause = False
    await read.wait()
    _bins["answer held"] += 1


@cocotb.test(stage=1)
async def coverage(dut: Any) -> None:
    """What all the other tests have brought about; all bins are required."""
    bins = {name: _bins[name] for name in REGISTER_BINS}
    Path(SETTINGS["report"]).write_text(
        json.dumps({"totals": dict(_totals), "decisions": {}, "pressure": bins}), encoding="utf-8"
    )
    missed = [name for name in REGISTER_BINS if not _bins[name]]
    assert not missed, f"bins missed: {'; '.join(missed)}"

"""cocotb tests of the attention unit: random commands under pressure, longest vectors at full speed."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

import cocotb
from ahasd.models.attention import AttentionParams, AttentionUnit, Command, Op, entropy_scale
from ahasd.rtl.attention.signatures import command_layout, partial_layout, result_layout
from ahasd.sim.benches.agents import Pin, Pressure
from ahasd.sim.benches.attention_cases import Case, random_command, sends_of

SETTINGS: dict[str, Any] = json.loads(Path(os.environ["AHASD_BENCH"]).read_text(encoding="utf-8"))
PARAMS = AttentionParams()
LAYOUTS: dict[str, Any] = {
    "command": command_layout(PARAMS),
    "partial": partial_layout(PARAMS),
    "result": result_layout(PARAMS),
}
LENGTHS = (1, 2, 15, 16, 17, 33, 255, 256, 1000, 3001)
COMMANDS = 25
LONGEST = 1 << 18
PIPELINE = 64
HANG = 2_000
IN, OUT = ("command", "x", "operand", "partial"), ("output", "result")


def _uses(op: Op) -> tuple[str, ...]:
    """The ways in which a command can use ``op``."""
    if not op.reduces:
        return ("vector",)
    state = ("result", "merge alone", "merge after a reduction")
    return (*state, "vector") if op.applies else state


EVENTS = (
    *(f"{op.name}: {what}" for op in Op for what in _uses(op)),
    "elements late",
    "operand late",
    "partial late",
    "output held",
    "result held",
    "output held while the operand is late",
    "full beat last",
    "beat with one element last",
    "all elements the same",
    "result saturated",
    "entropy 0",
    "entropy 255",
    "longest vector",
)

_bins: Counter[str] = Counter()
_totals: Counter[str] = Counter()


class Always(Pressure):
    """No pressure."""

    def ready(self) -> bool:
        return True


class Bench:
    """The unit's streams. Inputs change at the falling edge; what they lead to is read before the rise."""

    def __init__(self, dut: Any, name: str, full_speed: bool = False) -> None:
        self.dut, self.rng = dut, Random(f"{SETTINGS['seed']} {name}")
        self.golden = AttentionUnit(PARAMS)
        self.valid = {port: Pin(dut, f"{port}__valid") for port in (*IN, *OUT)}
        self.ready = {port: Pin(dut, f"{port}__ready") for port in (*IN, *OUT)}
        self.payload = {port: Pin(dut, f"{port}__payload") for port in (*IN, *OUT)}
        self.busy = Pin(dut, "busy")
        kind = Always if full_speed else Pressure
        self.pressure = {port: kind(Random(f"{SETTINGS['seed']} {name} {port}")) for port in (*IN, *OUT)}
        self.cycles = 0

    async def reset(self) -> None:
        reset = Pin(self.dut, "rst")
        reset.set(1)
        for port in IN:
            self.valid[port].set(0)
            self.payload[port].set(0)
        for port in OUT:
            self.ready[port].set(0)
        for _ in range(3):
            await FallingEdge(self.dut.clk)
        reset.set(0)

    async def run(self, command: Command) -> int:
        """One command, checked against the golden unit; cycles from its first beat to its last."""
        case = Case(self.golden, command, self.rng)
        return await self.play(case)

    async def play(self, case: Case) -> int:
        sends = sends_of(case, LAYOUTS, self.rng)
        for queue in sends.values():
            queue.reverse()
        waiting = dict.fromkeys(IN, False)
        held: dict[str, int | None] = dict.fromkeys(OUT)
        beats: list[int] = []
        started, quiet = -1, 0
        while True:
            await FallingEdge(self.dut.clk)
            self.cycles += 1
            for port in IN:
                if not waiting[port]:
                    waiting[port] = bool(sends[port]) and self.pressure[port].ready()
                    self.valid[port].set(waiting[port])
                    if waiting[port]:
                        self.payload[port].set(sends[port].pop())
            for port in OUT:
                self.ready[port].set(self.pressure[port].ready())
            await ReadOnly()
            offered = {port for port in (*IN, *OUT) if self.valid[port].get()}
            moved = {port for port in offered if self.ready[port].get()}
            self._note(sends, offered, moved)
            for port in OUT:
                beat = self.payload[port].get() if port in offered else None
                assert held[port] in (None, beat), f"{port}: changed before it was taken"
                held[port] = None if port in moved else beat
                if port == "output" and port in moved:
                    assert beat is not None
                    beats.append(beat)
            if "x" in moved and started < 0:
                started = self.cycles
            for port in IN:
                waiting[port] &= port not in moved
            quiet = 0 if moved else quiet + 1
            assert quiet < HANG, "the unit hangs"
            if "result" in moved:
                self._check_result(case, self.payload["result"].get())
                break
            if "output" in moved and beats[-1] >> 16 * case.lanes:
                self._check_vector(case, beats)
                break
        assert not any(sends.values()), "input is left over"
        assert not any(waiting.values()), "input is left over"
        _totals.update(events=1)
        return self.cycles - started + 1

    def _note(self, sends: dict[str, list[int]], offered: set[str], moved: set[str]) -> None:
        busy = bool(self.busy.get())
        for port, name in (("x", "elements"), ("operand", "operand"), ("partial", "partial")):
            _bins[f"{name} late"] += busy and bool(sends[port]) and port not in offered
        for port in OUT:
            _bins[f"{port} held"] += port in offered - moved
        _bins["output held while the operand is late"] += (
            "output" in offered - moved and bool(sends["operand"]) and "operand" not in offered
        )

    def _check_vector(self, case: Case, beats: list[int]) -> None:
        assert len(beats) == PARAMS.beats(case.command.length), case.command
        mask = (1 << 16 * case.lanes) - 1
        raw = b"".join((beat & mask).to_bytes(2 * case.lanes, "little") for beat in beats)
        out = np.frombuffer(raw, dtype="<i2")[: case.command.length]
        assert case.expected.out is not None, f"a vector from {case.command}"
        assert np.array_equal(out, case.expected.out), case.command
        _bins["result saturated"] += bool((abs(out.astype(int)) >= (1 << 15) - 1).any())
        self._cover(case, "vector")

    def _check_result(self, case: Case, raw: int) -> None:
        view = LAYOUTS["result"].from_bits(raw)
        assert case.expected.result is not None, f"a result from {case.command}"
        wanted = asdict(case.expected.result)
        state = {name: int(getattr(view.state, name)) for name in wanted.pop("state")}
        assert state == asdict(case.expected.result.state), case.command
        assert {name: int(getattr(view, name)) for name in wanted} == wanted, case.command
        if case.command.op is Op.LOGITS:
            for entropy in (0, 255):
                _bins[f"entropy {entropy}"] += wanted["entropy"] == entropy
        self._cover(case, "result")

    def _cover(self, case: Case, kind: str) -> None:
        command = case.command
        name = command.op.name
        _bins[f"{name}: {kind}"] += 1
        if command.partials:
            _bins[f"{name}: merge {'after a reduction' if command.reduce else 'alone'}"] += 1
        if len(case.x):
            _bins["full beat last"] += len(case.x) % case.lanes == 0
            _bins["beat with one element last"] += len(case.x) % case.lanes == 1
            _bins["all elements the same"] += len(case.x) > 1 and bool((case.x == case.x[0]).all())
            _bins["longest vector"] += len(case.x) == LONGEST


async def begin(dut: Any, name: str, full_speed: bool = False) -> Bench:
    bench = Bench(dut, name, full_speed)
    Clock(dut.clk, 10, unit="ns").start(start_high=False)
    await bench.reset()
    return bench


@cocotb.test(timeout_time=50, timeout_unit="ms")
@cocotb.parametrize(op=[op.name for op in Op])
async def operation(dut: Any, op: str) -> None:
    """Random commands of one operation, all streams under pressure."""
    bench = await begin(dut, op)
    for _ in range(COMMANDS):
        await bench.run(random_command(bench.rng, Op[op], LENGTHS))
    _totals.update(cycles=bench.cycles)


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def mixed(dut: Any) -> None:
    """Random commands of all operations on one unit."""
    bench = await begin(dut, "mixed")
    for _ in range(2 * COMMANDS):
        await bench.run(random_command(bench.rng, bench.rng.choice(list(Op)), LENGTHS[:7]))
    _totals.update(cycles=bench.cycles)


@cocotb.test(timeout_time=50, timeout_unit="ms")
@cocotb.parametrize(op=["SOFTMAX", "LOGITS", "LAYER_NORM"])
async def longest(dut: Any, op: str) -> None:
    """The longest vectors without pauses: a beat a cycle in each pass, and at most 64 cycles more."""
    bench = await begin(dut, f"longest {op}", full_speed=True)
    kind = Op[op]
    command = Command(
        op=kind,
        length=LONGEST,
        apply=kind.applies,
        fraction=10,
        scale_fraction=12,
        out_fraction=10,
        parameter=entropy_scale(LONGEST) if kind is Op.LOGITS else 0,
    )
    cycles = await bench.run(command)
    assert cycles <= (1 + kind.applies) * PARAMS.beats(LONGEST) + PIPELINE, cycles
    _totals.update(cycles=bench.cycles)


@cocotb.test(stage=1)
async def coverage(dut: Any) -> None:
    """What all the other tests have brought about; all bins are required."""
    report = {"totals": dict(_totals), "decisions": {}, "pressure": {name: _bins[name] for name in EVENTS}}
    Path(SETTINGS["report"]).write_text(json.dumps(report), encoding="utf-8")
    missed = [name for name in EVENTS if not _bins[name]]
    assert not missed, f"bins missed: {'; '.join(missed)}"

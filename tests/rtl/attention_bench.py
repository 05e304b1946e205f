"""Drives an attention unit in Amaranth's simulator and holds it to the golden model."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ahasd.models.attention import AttentionParams, Command
from ahasd.models.attention import AttentionUnit as GoldenUnit
from ahasd.rtl.attention.unit import AttentionUnit
from ahasd.sim.benches.attention_cases import Case, sends_of

from .bench import simulate

__all__ = ["Side", "run_commands"]

IN, OUT = ("command", "x", "operand", "partial"), ("output", "result")


class Side:
    """The streams around one unit. ``pressure`` is the chance that a side pauses in a cycle."""

    def __init__(self, ctx: Any, unit: Any, source: random.Random, pressure: float) -> None:
        self.ctx, self.unit, self.source, self.pressure = ctx, unit, source, pressure
        self.cycle = 0
        self.layouts = {
            name: getattr(unit, name).payload.shape() for name in ("command", "partial", "result")
        }

    async def run(self, case: Case) -> int:
        """One command to its end, with the golden unit's result; cycles from its first beat to the last."""
        ctx, unit = self.ctx, self.unit
        sends = sends_of(case, self.layouts, self.source)
        held: dict[str, int | None] = dict.fromkeys(OUT)
        out: list[int] = []
        started, begun = -1, self.cycle
        while True:
            for name in IN:
                port, queue = getattr(unit, name), sends[name]
                if queue and not ctx.get(port.valid) and self.source.random() >= self.pressure:
                    ctx.set(port.payload.as_value(), queue[0])
                    ctx.set(port.valid, 1)
            for name in OUT:
                ctx.set(getattr(unit, name).ready, self.source.random() >= self.pressure)
            offered = {name for name in (*IN, *OUT) if ctx.get(getattr(unit, name).valid)}
            moved = {name for name in offered if ctx.get(getattr(unit, name).ready)}
            seen = {name: ctx.get(getattr(unit, name).payload.as_value()) for name in OUT if name in offered}
            for name, before in held.items():
                assert before is None or seen.get(name) == before, f"{name} changed before it was taken"
                held[name] = None if name in moved else seen.get(name)
            if "x" in moved and started < 0:
                started = self.cycle
            await ctx.tick()
            self.cycle += 1
            for name in IN:
                if name in moved:
                    sends[name].pop(0)
                    ctx.set(getattr(unit, name).valid, 0)
            assert self.cycle - begun < 300 + 20 * case.command.length, "the command never ends"
            if "output" in moved:
                out.append(seen["output"])
                is_last = bool(seen["output"] >> 16 * case.lanes)
                assert is_last == (len(out) == -(-case.command.length // case.lanes))
                if is_last:
                    self._check_vector(case, out)
                    break
            if "result" in moved:
                self._check_result(case, seen["result"])
                break
        assert not any(sends.values()), "input is left over"
        return self.cycle - started

    def _check_vector(self, case: Case, beats: list[int]) -> None:
        mask = (1 << 16 * case.lanes) - 1
        raw = b"".join((beat & mask).to_bytes(2 * case.lanes, "little") for beat in beats)
        out = np.frombuffer(raw, dtype="<i2")[: case.command.length]
        assert case.expected.out is not None, f"a vector from {case.command}"
        assert out.tolist() == case.expected.out.tolist(), case.command

    def _check_result(self, case: Case, raw: int) -> None:
        view = self.layouts["result"].from_bits(raw)
        assert case.expected.result is not None, f"a result from {case.command}"
        wanted = asdict(case.expected.result)
        state = {name: int(getattr(view.state, name)) for name in wanted.pop("state")}
        assert state == asdict(case.expected.result.state), case.command
        assert {name: int(getattr(view, name)) for name in wanted} == wanted, case.command


def run_commands(
    commands: Sequence[Command], source: random.Random, params: AttentionParams, pressure: float
) -> list[int]:
    """The commands one after the other on one unit, checked; the cycles of each."""
    unit = AttentionUnit(params)
    golden = GoldenUnit(params)
    cycles: list[int] = []

    async def bench(ctx: Any) -> None:
        side = Side(ctx, unit, source, pressure)
        for command in commands:
            cycles.append(await side.run(Case(golden, command, source)))

    simulate(unit, bench)
    return cycles

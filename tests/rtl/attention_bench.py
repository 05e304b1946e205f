"""Drives an attention unit in Amaranth's simulator and holds it to the golden model."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from amaranth.sim import Simulator

from ahasd.models.attention import AttentionParams, Command, Op, State, entropy_scale, epsilon_sum
from ahasd.models.attention import AttentionUnit as GoldenUnit
from ahasd.rtl.attention.unit import AttentionUnit

from .bench import PERIOD

__all__ = ["STATE", "AttentionBench", "bits_of", "random_command", "random_vector", "run_commands"]

STATE = ("maximum", "index", "count", "reference", "first", "second")


def bits_of(values: Sequence[int], bits: int = 16) -> int:
    """Numbers side by side, the first in the lowest bits."""
    mask = (1 << bits) - 1
    return sum((int(value) & mask) << k * bits for k, value in enumerate(values))


def random_vector(source: random.Random, length: int) -> np.ndarray:
    """A vector of one of the kinds with which arithmetic goes wrong."""
    rng = np.random.default_rng(source.getrandbits(32))
    kind = source.randrange(7)
    low, high = -(1 << 15), (1 << 15) - 1
    if kind == 0:
        x = np.full(length, source.choice([low, 0, high, source.randint(low, high)]))
    elif kind == 1:
        x = np.full(length, low)
        x[source.randrange(length)] = high
    elif kind == 2:
        x = np.sort(rng.integers(low, high + 1, length))
    elif kind == 3:
        x = source.randint(-30000, 30000) + rng.integers(0, 2, length)
    elif kind == 4:
        x = rng.choice([low, high], length)
    else:
        x = np.clip(rng.normal(source.randint(-5000, 5000), source.choice([5, 300, 8000]), length), low, high)
    return x.astype(np.int16)


def random_command(source: random.Random, op: Op, lengths: Sequence[int]) -> Command:
    """A command of ``op`` that is legal."""
    length = source.choice(lengths)
    fraction, scale_fraction = source.randint(0, 15), source.randint(0, 15)
    out_fraction = source.randint(0, 15)
    reduce = op.reduces and source.random() < 0.8
    parameter = 0
    if op is Op.SCALED_ADD:
        out_fraction = min(out_fraction, fraction + scale_fraction + 8)
        parameter = source.randint(-(1 << 15), (1 << 15) - 1)
    elif op is Op.LOGITS:
        parameter = entropy_scale(source.choice([2, 17, 32000, 1 << 18]))
    elif op.norm:
        out_fraction = min(out_fraction, scale_fraction + 12)
        parameter = epsilon_sum(source.choice([0, 1e-6, 1e-5, 3.0]), length, fraction)
    return Command(
        op=op,
        length=length,
        reduce=reduce,
        partials=0 if not op.reduces else source.choice([0, 0, 1, 3]) if reduce else source.randint(1, 3),
        apply=op.applies and (source.random() < 0.7 or not op.reduces),
        first=source.choice([0, 0, source.randrange(1 << 17)]),
        fraction=fraction,
        scale_fraction=scale_fraction,
        out_fraction=out_fraction,
        parameter=parameter,
    )


class AttentionBench:
    """Streams around one unit. ``pressure`` is the chance that a side pauses in a cycle.

    ``started`` and ``ended`` are the cycles of the first beat in and the last beat or the result out.
    """

    def __init__(self, ctx: Any, unit: Any, source: random.Random, pressure: float) -> None:
        self.ctx, self.unit, self.source, self.pressure = ctx, unit, source, pressure
        self.lanes = unit.params.lanes
        self.cycle = 0
        self.started = self.ended = -1

    def _beats(self, values: np.ndarray) -> list[int]:
        rest = -len(values) % self.lanes
        # What is past the end may be anything.
        padded = [*values.tolist(), *(self.source.getrandbits(16) for _ in range(rest))]
        return [bits_of(padded[k : k + self.lanes]) for k in range(0, len(padded), self.lanes)]

    def _state_bits(self, state: State) -> int:
        layout = self.unit.partial.payload.shape()
        return int(layout.const({name: getattr(state, name) for name in STATE}).as_bits())

    async def run(
        self,
        command: Command,
        x: np.ndarray,
        scale: np.ndarray,
        offset: np.ndarray,
        partials: Sequence[State],
    ) -> tuple[np.ndarray | None, dict[str, int] | None]:
        """One command from its offer to the end: the vector, or the result's fields."""
        ctx, unit = self.ctx, self.unit
        layout = unit.command.payload.shape()
        fields = {name: getattr(command, name) for name, _ in layout}
        sends: dict[str, list[int]] = {
            "command": [int(layout.const(fields).as_bits())],
            "x": self._beats(x) * (command.reduce + command.apply),
            "operand": [],
            "partial": [self._state_bits(state) for state in partials],
        }
        if command.apply and command.op.takes_operand:
            pairs = zip(self._beats(scale), self._beats(offset), strict=True)
            sends["operand"] = [a | b << 16 * self.lanes for a, b in pairs]
        held: dict[str, int | None] = {"output": None, "result": None}
        out: list[int] = []
        self.started, begun = -1, self.cycle
        while True:
            for name, queue in sends.items():
                port = getattr(unit, name)
                if not ctx.get(port.valid) and queue and self.source.random() >= self.pressure:
                    ctx.set(port.payload.as_value(), queue[0])
                    ctx.set(port.valid, 1)
            for name in held:
                ctx.set(getattr(unit, name).ready, self.source.random() >= self.pressure)
            moved = {n: ctx.get(getattr(unit, n).valid & getattr(unit, n).ready) for n in (*sends, *held)}
            seen = {
                n: ctx.get(getattr(unit, n).payload.as_value())
                for n in held
                if ctx.get(getattr(unit, n).valid)
            }
            for name, before in held.items():
                assert before is None or seen.get(name) == before, f"{name} changed before it was taken"
                held[name] = seen[name] if name in seen and not moved[name] else None
            if moved["x"] and self.started < 0:
                self.started = self.cycle
            await ctx.tick()
            self.cycle += 1
            for name, queue in sends.items():
                if moved[name]:
                    queue.pop(0)
                    ctx.set(getattr(unit, name).valid, 0)
            assert self.cycle - begun < 200 + 40 * (len(x) + len(partials)), "the command never ends"
            if moved["output"]:
                out.append(seen["output"])
                lane_mask = (1 << 16 * self.lanes) - 1
                is_last = bool(seen["output"] >> 16 * self.lanes)
                assert is_last == (len(out) == -(-command.length // self.lanes))
                if is_last:
                    self.ended = self.cycle - 1
                    raw = b"".join((beat & lane_mask).to_bytes(2 * self.lanes, "little") for beat in out)
                    assert not any(sends.values()), "input is left over"
                    return np.frombuffer(raw, dtype="<i2")[: command.length], None
            if moved["result"]:
                self.ended = self.cycle - 1
                assert not any(sends.values()), "input is left over"
                return None, self._result(seen["result"])

    def _result(self, raw: int) -> dict[str, int]:
        view = self.unit.result.payload.shape().from_bits(raw)
        fields = {name: int(getattr(view.state, name)) for name in STATE}
        return {**fields, "entropy": int(view.entropy), "probability": int(view.probability)}


def random_partial(source: random.Random, command: Command, params: AttentionParams) -> State:
    """What another unit found in its part."""
    length = source.choice([1, 7, 40])
    part = Command(
        op=command.op, length=length, apply=False, fraction=command.fraction, first=source.randrange(1000)
    )
    result = GoldenUnit(params).run(part, random_vector(source, length)).result
    assert result is not None
    return result.state


def run_commands(
    commands: Sequence[Command], source: random.Random, params: AttentionParams, pressure: float
) -> list[tuple[Command, int]]:
    """The commands one after the other on one unit, all results as the golden unit's; cycles of each."""
    unit: Any = AttentionUnit(params)
    golden = GoldenUnit(params)
    cycles: list[tuple[Command, int]] = []

    async def bench(ctx: Any) -> None:
        side = AttentionBench(ctx, unit, source, pressure)
        for command in commands:
            x, scale, offset = (random_vector(source, command.length) for _ in range(3))
            if not (command.reduce or command.apply):
                x = x[:0]
            partials = [random_partial(source, command, params) for _ in range(command.partials)]
            expected = golden.run(command, x, scale, offset, partials)
            out, result = await side.run(command, x, scale, offset, partials)
            if expected.out is not None:
                assert out is not None
                assert out.tolist() == expected.out.tolist(), command
            else:
                assert expected.result is not None
                fields = {name: getattr(expected.result.state, name) for name in STATE}
                fields |= {name: getattr(expected.result, name) for name in ("entropy", "probability")}
                assert result == fields, f"{result} {fields} {command}"
            cycles.append((command, side.ended - side.started + 1))

    simulator = Simulator(unit)
    simulator.add_clock(PERIOD)
    simulator.add_testbench(bench)
    simulator.run()
    return cycles

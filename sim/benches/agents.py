"""Drivers and monitors of valid/ready streams in cocotb.

All agents move once a cycle, at the falling edge: registered outputs have settled since the rising edge, and
what is driven here is in force at the next one. Outputs do not depend on inputs within a cycle, so a falling
edge tells which transfers the rising edge after it makes.
"""

from __future__ import annotations

from random import Random
from typing import Any

__all__ = ["Pin", "Pressure", "Sink", "Source"]


class Pin:
    """A port as an integer; written when it changes."""

    def __init__(self, dut: Any, name: str) -> None:
        self.name = name
        # A keyword of Verilog is an escaped name, which simulators report in their own ways.
        for spelling in (name, f"\\{name}", f"\\{name} "):
            handle = dut._get(spelling)
            if handle is not None:
                break
        else:
            raise AttributeError(f"{dut._name} has no port {name}")
        self._handle = handle
        self._driven: int | None = None

    def get(self) -> int:
        """The value; an error if a bit is X or Z."""
        return int(self._handle.value)

    def set(self, value: int) -> None:
        """Drive it from now on."""
        if value != self._driven:
            self._driven = value
            self._handle.value = value

    def deposit(self, value: int) -> None:
        """Set it once: a register, which the next edge may change."""
        self._handle.value = value


class Pressure:
    """When a consumer is ready: phases of readiness, of hesitation and of stalls."""

    CHANCES = (1.0, 1.0, 0.8, 0.5, 0.1, 0.0)

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._left = 0
        self._chance = 1.0

    def ready(self) -> bool:
        """In the next cycle."""
        if self._left == 0:
            self._chance = self._rng.choice(self.CHANCES)
            self._left = self._rng.choice((1, 20, 100, 300))
        self._left -= 1
        return self._rng.random() < self._chance


class Sink:
    """Takes beats from a stream of the unit, under pressure, and holds it to the stream's rules."""

    def __init__(self, dut: Any, name: str, rng: Random) -> None:
        self.name = name
        self._valid, self._ready = Pin(dut, f"{name}__valid"), Pin(dut, f"{name}__ready")
        self._payload = Pin(dut, f"{name}__payload")
        self._ready.set(0)
        self._pressure = Pressure(rng)
        self._held: int | None = None
        self.offered = False

    @property
    def held(self) -> bool:
        """A beat is offered and not taken at the coming edge."""
        return self._held is not None

    def cycle(self) -> int | None:
        """The beat that is taken at the coming edge."""
        ready = self._pressure.ready()
        self._ready.set(ready)
        self.offered = bool(self._valid.get())
        if not self.offered:
            assert self._held is None, f"{self.name}: valid fell before the beat was taken"
            return None
        beat = self._payload.get()
        assert self._held in (None, beat), f"{self.name}: payload changed before the beat was taken"
        self._held = None if ready else beat
        return beat if ready else None


class Source:
    """Offers one payload at a time to a stream of the unit."""

    def __init__(self, dut: Any, name: str) -> None:
        self.name = name
        self._valid, self._ready = Pin(dut, f"{name}__valid"), Pin(dut, f"{name}__ready")
        self._payload = Pin(dut, f"{name}__payload")
        self._valid.set(0)
        self._payload.set(0)
        self.waiting = False
        self._leaves = False

    def settle(self) -> bool:
        """At a cycle's beginning: whether the payload was taken at the edge before it."""
        taken, self._leaves = self._leaves, False
        if taken:
            self._valid.set(0)
            self.waiting = False
        return taken

    def offer(self, payload: int) -> None:
        """Offer a payload from now until it is taken."""
        assert not self.waiting
        self._payload.set(payload)
        self._valid.set(1)
        self.waiting = True

    def sample(self) -> None:
        """At a cycle's end: whether the payload is taken at the coming edge."""
        self._leaves = self.waiting and bool(self._ready.get())

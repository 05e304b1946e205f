"""The RTL control unit as an engine and as a replay unit, in Amaranth's simulator."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from ahasd.models.control.events import Decision, Event
from ahasd.models.control.params import ControlConfig
from ahasd.rtl.control_unit import ControlUnit
from ahasd.sim.engine import Output, Taken
from ahasd.sim.replay_base import REST_CYCLES, ReplayBase
from ahasd.sim.rtl_unit import PysimUnit

__all__ = ["RtlEngine", "RtlReplayUnit"]

TIMEBASE = 1 << 32


class RtlEngine:
    """See :class:`ahasd.sim.engine.ControlEngine`.

    Parameters
    ----------
    tick_cycles : int
        Clock cycles a timebase tick.
    make : callable
        Makes the RTL unit.
    vcd : Path, optional
        Write waves.
    every_cycle : bool
        Clock the unit at every edge even while ``clk_req`` is low (to show that it changes nothing).
    """

    name = "rtl"

    def __init__(
        self,
        tick_cycles: int = 256,
        make: Callable[[], ControlUnit] = ControlUnit,
        vcd: Path | None = None,
        every_cycle: bool = False,
    ) -> None:
        self.unit = PysimUnit(make, vcd)
        self.tick_cycles = tick_cycles
        self.every_cycle = every_cycle
        self._waiting: list[tuple[int, Event]] = []
        self._start_at: int | None = None
        self._started_at: int | None = None

    @property
    def busy(self) -> bool:
        return bool(self._waiting) or self._start_at is not None or self.unit.clk_req

    def start(self, config: ControlConfig, edge: int) -> None:
        self.unit.configure(config)
        self._start_at = edge

    def submit(self, event: Event, edge: int) -> None:
        self._waiting.append((edge, event))

    def _now(self, edge: int) -> int:
        return edge // self.tick_cycles % TIMEBASE

    def _next_edge(self) -> int | None:
        """The next edge at which anything can happen."""
        following = self.unit.edge + 1
        if self.every_cycle or self.unit.clk_req:
            return following
        wakes = [edge for edge, _ in self._waiting]
        if self._start_at is not None:
            wakes.append(self._start_at)
        return max(following, min(wakes)) if wakes else None

    def advance(self, limit: int) -> list[Output]:
        while (edge := self._next_edge()) is not None and edge <= limit:
            for item in [item for item in self._waiting if item[0] <= edge]:
                self._waiting.remove(item)
                self.unit.present(item[1])
            now = self._now(edge)
            if self._start_at is not None and self._start_at <= edge:
                outputs = self.unit.pulse(edge, now, start=1)
                self._start_at, self._started_at = None, edge + 1
            else:
                outputs = self.unit.clock(edge, now)
                if self._started_at == edge:
                    outputs.insert(0, Taken(edge, None, now))
                    self._started_at = None
            if outputs:
                return outputs
        return []

    def counters(self) -> dict[str, int]:
        return self.unit.counters()

    def report(self) -> dict[str, object]:
        return {
            "name": self.name,
            "cycles": self.unit.driven,
            "versions": {"amaranth": version("amaranth")},
        }

    def close(self) -> None:
        """Finish the VCD."""
        self.unit.close()


class RtlReplayUnit(ReplayBase):
    """The RTL as a :class:`ahasd.models.replay.ReplayUnit`; ``outputs``: of the latest event, with edges."""

    def __init__(self, make: Callable[[], ControlUnit] = ControlUnit) -> None:
        super().__init__()
        self.unit = PysimUnit(make)

    def start(self, config: ControlConfig, at: int) -> list[Decision]:
        self.unit.configure(config)
        self.taken = self.unit.edge + 2
        return self._rest(self.unit.pulse(self.unit.edge + 1, at, start=1), at)

    def step(self, event: Event, at: int) -> list[Decision]:
        self.unit.present(event)
        return self._rest([], at)

    def _rest(self, outputs: list[Output], at: int) -> list[Decision]:
        for _ in range(REST_CYCLES):
            if not self.unit.clk_req:
                break
            outputs += self.unit.clock(self.unit.edge + 1, at)
        else:
            raise RuntimeError(f"the unit has not come to rest in {REST_CYCLES} cycles")
        return self._settled(outputs, self.unit.edge, self.unit.cause())

    def counters(self) -> dict[str, int]:
        return self.unit.counters()

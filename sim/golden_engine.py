"""The golden control unit as an engine: decisions from the model, times from the latency function."""

from __future__ import annotations

from collections.abc import Callable

from ahasd.models.control.events import Abort, Aborted, Commit, Event, Feedback, Preverified, Token, Verify
from ahasd.models.control.latency import ACCEPT_CYCLES, latency
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import ControlUnit, Outcome
from ahasd.sim.engine import Decided, Output, Taken

__all__ = ["GoldenEngine", "priority"]

TIMEBASE = 1 << 32


def priority(event: Event) -> int:
    """The order in which waiting inputs are taken: feedback, token, task result."""
    match event:
        case Feedback():
            return 0
        case Token():
            return 1
        case Preverified() | Aborted():
            return 2


class GoldenEngine:
    """See :class:`ahasd.sim.engine.ControlEngine`.

    Parameters
    ----------
    tick_cycles : int
        Clock cycles a timebase tick, a power of two.
    make : callable
        Makes the golden unit (another predictor, other sizes).
    """

    name = "golden"

    def __init__(self, tick_cycles: int = 256, make: Callable[[], ControlUnit] = ControlUnit) -> None:
        self.unit = make()
        self.tick_cycles = tick_cycles
        self._free = 0
        self._cycles = 0
        self._start: tuple[ControlConfig, int] | None = None
        self._waiting: list[tuple[int, Event]] = []

    @property
    def busy(self) -> bool:
        return self._start is not None or bool(self._waiting)

    def start(self, config: ControlConfig, edge: int) -> None:
        self._start = (config, edge)

    def submit(self, event: Event, edge: int) -> None:
        self._waiting.append((edge, event))

    def _now(self, edge: int) -> int:
        return edge // self.tick_cycles % TIMEBASE

    def advance(self, limit: int) -> list[Output]:
        if self._start is not None:
            config, edge = self._start
            taken = max(edge + 1, self._free)
            if taken > limit:
                return []
            self._start = None
            violation = self.unit.configure(config)
            if violation is not None:
                raise RuntimeError("a sequence was started while one runs")
            return self._outputs(taken, None, self.unit.start(self._now(taken)))
        if not self._waiting:
            return []
        seen = max(self._free, min(edge for edge, _ in self._waiting))
        if seen > limit:
            return []
        ready = [item for item in self._waiting if item[0] <= seen]
        chosen = min(ready, key=lambda item: priority(item[1]))
        self._waiting.remove(chosen)
        taken = seen + ACCEPT_CYCLES
        event = chosen[1]
        return self._outputs(taken, event, self.unit.step(event, self._now(taken)))

    def _outputs(self, taken: int, event: Event | None, outcome: Outcome) -> list[Output]:
        if outcome.violation is not None:
            raise RuntimeError(f"the simulation broke the protocol: {outcome.violation.name} by {event}")
        timing = latency(outcome.work, self.unit.params)
        self._free = taken + timing.free
        self._cycles += timing.free
        outputs: list[Output] = [Taken(taken, event, self._now(taken))]
        for decision in outcome.decisions:
            match decision:
                case Commit():
                    after = timing.committed
                case Abort():
                    after = timing.abort
                case Verify():
                    after = timing.verify_taken
                case _:
                    after = timing.task_taken
            assert after is not None
            outputs.append(Decided(taken + after, decision))
        return outputs

    def counters(self) -> dict[str, int]:
        return dict(self.unit.counters)

    def report(self) -> dict[str, object]:
        return {"name": self.name, "cycles": self._cycles}

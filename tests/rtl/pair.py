"""An RTL unit and a golden unit that get the same events and commands, and are compared after each."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring

from ahasd.models.control.events import Draft, Event
from ahasd.models.control.params import ControlConfig, UnitParams
from ahasd.models.control.predictor import AlwaysGoOn, Look
from ahasd.models.control.unit import ControlUnit as GoldenControlUnit
from ahasd.models.control.unit import Outcome
from ahasd.models.control.work import Violation
from ahasd.models.replay import in_order
from ahasd.rtl.control_unit import ControlUnit
from ahasd.rtl.predictor import PredictorSignature
from ahasd.rtl.signatures import TaskKind
from ahasd.sim.engine import Decided, Output
from ahasd.sim.rtl_unit import PysimUnit

from .streams import random_event

__all__ = ["GoldenNeverGoOn", "NeverGoOn", "Pair"]

TIMEBASE = 1 << 32
REST = 10_000


class NeverGoOn(wiring.Component):
    """A predictor that suppresses whatever it is asked about: the shortest way to pre-verification."""

    def __init__(self, params: UnitParams) -> None:
        super().__init__(PredictorSignature(params))

    def elaborate(self, platform: object) -> Module:
        return Module()


class GoldenNeverGoOn(AlwaysGoOn):
    """The same for the golden unit."""

    def close(self, bucket: int, llr: int) -> Look:
        return Look(0, False)

    def lookup(self, llr: int) -> Look:
        return Look(0, False)


class Pair:
    """``now`` steps on with every event; all consumers are ready.

    Parameters
    ----------
    never_go_on : bool
        With the predictor that always suppresses.
    params : UnitParams, optional
    """

    def __init__(self, never_go_on: bool = False, params: UnitParams | None = None) -> None:
        hardware: dict[str, Any] = {"predictor": NeverGoOn} if never_go_on else {}
        software: dict[str, Any] = {"predictor": GoldenNeverGoOn} if never_go_on else {}
        self.unit = PysimUnit(lambda: ControlUnit(params, **hardware))
        self.golden = GoldenControlUnit(params, **software)
        self.cause = 0
        self.now = TIMEBASE - 500
        self.outputs: list[Output] = []

    def error(self) -> bool:
        return bool(self.unit._context.get(self.unit.dut.error))

    # Events and commands.

    def step(self, event: Event, ticks: int = 100) -> Outcome:
        """Both process ``event``; all that shows must agree."""
        self.now = (self.now + ticks) % TIMEBASE
        self.unit.present(event)
        return self._compare([], self.golden.step(event, self.now))

    def configure(self, config: ControlConfig) -> None:
        """A configuration write; while running, the configuration port keeps its old value."""
        violation = self.golden.configure(config)
        if violation is None:
            self.unit.configure(config)
        self._command(lambda: Outcome(violation=violation), config_write=1)

    def start(self, config: ControlConfig | None = None) -> Outcome:
        if config is not None:
            self.configure(config)
        return self._command(lambda: self.golden.start(self.now), start=1)

    def stop(self) -> Outcome:
        return self._command(self.golden.stop, stop=1)

    def clear(self) -> Outcome:
        return self._command(self.golden.clear, clear=1)

    def clear_errors(self) -> None:
        self.cause = 0
        self._command(Outcome, clear_errors=1)

    def _command(self, golden: Callable[[], Outcome], **strobe: int) -> Outcome:
        self.now = (self.now + 7) % TIMEBASE
        outputs = self.unit.pulse(self.unit.edge + 1, self.now, **strobe)
        return self._compare(outputs, golden())

    # Comparison.

    def rest(self) -> list[Output]:
        """Run until the unit asks for no more edges."""
        outputs: list[Output] = []
        for _ in range(REST):
            if not self.unit.clk_req:
                return outputs
            outputs += self.unit.clock(self.unit.edge + 1, self.now)
        raise AssertionError("the unit does not come to rest")

    def _compare(self, outputs: list[Output], outcome: Outcome) -> Outcome:
        if outcome.violation is not None:
            self.cause |= 1 << outcome.violation
        self.outputs = outputs + self.rest()
        decisions = [output.decision for output in self.outputs if isinstance(output, Decided)]
        assert sorted(decisions, key=in_order) == outcome.decisions
        self.check()
        return outcome

    def check(self) -> None:
        """Violations, counters and status are the golden unit's."""
        golden, status = self.golden, self.unit.status
        causes = [violation.name for violation in Violation if self.unit.cause() >> violation & 1]
        assert causes == [violation.name for violation in Violation if self.cause >> violation & 1]
        assert self.error() == bool(self.cause)
        assert self.unit.counters() == golden.counters
        expected = {
            "running": golden.running,
            "stopping": golden.stopping,
            "sequence_full": golden.sequence_full,
            "npu_busy": golden.npu_busy,
            "task": golden.task is not None,
            "trusted": golden.trusted,
            "llr": len(golden.batches),
            "level": golden.tail - golden.head,
            "committed": golden.head,
        }
        if golden.task is not None:
            kind = TaskKind.DRAFT if golden.task.kind is Draft else TaskKind.PREVERIFY
            expected["task_kind"] = kind.value
        assert {name: status(name) for name in expected} == expected

    # Longer runs.

    def random(self, source: random.Random, events: int) -> None:
        """Random legal events, the timebase at random paces."""
        for _ in range(events):
            self.step(random_event(self.golden, source), source.choice([0, 1, 40, 1000]))

    def finish(self, source: random.Random) -> None:
        """Stop, and events until the sequence has ended."""
        self.stop()
        for _ in range(50):
            if not self.golden.running:
                return
            self.step(random_event(self.golden, source))
        raise AssertionError("the sequence does not end")

"""Golden unit and RTL side by side where no replay file reaches: violations, commands, several sequences."""

from __future__ import annotations

from copy import deepcopy
from random import Random

import pytest

from ahasd.models.control.environment import Environment, random_config
from ahasd.models.control.events import Aborted, Decision, Event, Feedback, Preverified, Preverify, Token
from ahasd.models.control.params import ControlConfig
from ahasd.models.control.unit import ControlUnit, Outcome
from ahasd.models.control.work import Violation
from ahasd.models.replay import in_order
from ahasd.sim.engine import Decided, Output
from ahasd.sim.rtl_unit import PysimUnit

EDGES = 10_000


class Pair:
    """Both units, driven alike; every answer, cause and counter is compared."""

    def __init__(self) -> None:
        self.golden, self.rtl = ControlUnit(), PysimUnit()
        self.seen: set[Violation] = set()

    def _rtl(self, outputs: list[Output], now: int) -> list[Decision]:
        for _ in range(EDGES):
            if not self.rtl.clk_req:
                break
            outputs += self.rtl.clock(self.rtl.edge + 1, now)
        return sorted((o.decision for o in outputs if isinstance(o, Decided)), key=in_order)

    def _compare(self, outcome: Outcome, decisions: list[Decision], now: int) -> list[Decision]:
        golden = self.golden
        assert decisions == outcome.decisions
        violation = outcome.violation
        assert self.rtl.cause() == (0 if violation is None else 1 << violation)
        if violation is not None:
            self.seen.add(violation)
            self._command(now, clear_errors=1)
            assert self.rtl.cause() == 0
        assert self.rtl.counters() == golden.counters
        status = {
            "running": golden.running,
            "stopping": golden.stopping,
            "npu_busy": golden.npu_busy,
            "task": golden.task is not None,
            "trusted": golden.trusted,
            "llr": len(golden.batches),
            "committed": golden.head,
            "level": golden.tail - golden.head,
        }
        assert {name: self.rtl.status(name) for name in status} == status
        return decisions

    def _command(self, now: int, **strobes: int) -> list[Decision]:
        return self._rtl(self.rtl.pulse(self.rtl.edge + 1, now, **strobes), now)

    def event(self, event: Event, now: int) -> list[Decision]:
        self.rtl.present(event)
        if isinstance(event, Feedback) and not self.golden.npu_busy:
            outcome = Outcome(violation=Violation.FEEDBACK_UNEXPECTED)
        else:
            outcome = self.golden.step(event, now)
        return self._compare(outcome, self._rtl([], now), now)

    def configure(self, config: ControlConfig, now: int) -> None:
        """Written for good only when it is allowed: a register block holds the old values otherwise."""
        violation = self.golden.configure(config)
        if violation is None:
            self.rtl.configure(config)
        self._compare(Outcome(violation=violation), self._command(now, config_write=1), now)

    def start(self, now: int) -> list[Decision]:
        return self._compare(self.golden.start(now), self._command(now, start=1), now)

    def stop(self, now: int) -> list[Decision]:
        return self._compare(self.golden.stop(), self._command(now, stop=1), now)

    def clear(self, now: int) -> None:
        self._compare(self.golden.clear(), self._command(now, clear=1), now)


class Disturbed:
    """A ReplayUnit over a pair that is disturbed by what the protocol forbids, before every event."""

    def __init__(self, pair: Pair, rng: Random) -> None:
        self.pair, self.rng = pair, rng

    def start(self, config: ControlConfig, at: int) -> list[Decision]:
        self.pair.configure(config, at)
        return self.pair.start(at)

    def step(self, event: Event, at: int) -> list[Decision]:
        if self.rng.random() < 0.5:
            self.disturb(at)
        return self.pair.event(event, at)

    def counters(self) -> dict[str, int]:
        return self.pair.golden.counters

    def disturb(self, at: int) -> None:
        """A forbidden event or command."""
        pair, rng = self.pair, self.rng
        kind = rng.randrange(10)
        if kind == 0:
            assert pair.start(at) == []
        elif kind == 1:
            pair.clear(at)
        elif kind == 2:
            pair.configure(random_config(rng), at)
        else:
            event = self.event()
            unexpected = isinstance(event, Feedback) and not pair.golden.npu_busy
            legal = (None, Violation.MISSING_LAST)
            if unexpected or deepcopy(pair.golden).step(event, at).violation not in legal:
                assert pair.event(event, at) == []

    def event(self) -> Event:
        rng = self.rng
        return rng.choice(
            (
                Token(rng.randrange(1 << 18), rng.randrange(256), rng.random() < 0.5),
                Feedback(rng.choice((0, 1, 2, rng.randrange(64), 63)), rng.randrange(1 << 18)),
                Preverified(rng.randrange(16), rng.choice((None, 5))),
                Preverified(rng.randrange(3), rng.choice((None, 5))),
                Aborted(),
            )
        )


def finish(pair: Pair, rng: Random, now: int) -> None:
    """Stop, at once or after another stop, and answer what is outstanding in some order."""
    pair.stop(now)
    while pair.golden.running:
        golden = pair.golden
        choice = rng.randrange(5)
        if choice == 0:
            assert pair.stop(now) == []
        elif choice == 1:
            Disturbed(pair, rng).disturb(now)
        elif choice == 2 and golden.npu_busy:
            pair.event(Feedback(rng.randint(0, golden.verify_tokens), rng.randrange(1 << 18)), now)
        elif choice >= 3 and golden.task is not None:
            late = golden.task.kind is Preverify and rng.random() < 0.5
            if not late and golden.task.kind is not Preverify and rng.random() < 0.5:
                pair.event(Token(1, 2, rng.random() < 0.5), now)
            pair.event(Preverified(golden.task.tokens, None) if late else Aborted(), now)


@pytest.mark.parametrize("seed", range(4))
def test_disturbed_sequences(seed: int) -> None:
    rng = Random(seed)
    pair = Pair()
    for sequence in range(5):
        Environment(10 * seed + sequence).run(Disturbed(pair, rng), rng.choice((0, 1, 30, 60)))
        finish(pair, rng, rng.randrange(1 << 32))
        pair.stop(0)
        assert not pair.golden.running
        if rng.random() < 0.5:
            pair.configure(random_config(rng), 0)
            pair.clear(0)


def test_every_cause() -> None:
    pair = Pair()
    rng = Random(99)
    sequence = 0
    while pair.seen < set(Violation) - {Violation.MISSING_LAST}:
        config = ControlConfig(tvc=False, suppress="preverify", max_draft=2)
        Environment(sequence, config).run(Disturbed(pair, rng), 60)
        finish(pair, rng, 0)
        sequence += 1
        assert sequence < 10


def test_missing_last() -> None:
    pair = Pair()
    pair.configure(ControlConfig(max_draft=2, context=3), 0)
    pair.start(0)
    pair.event(Token(1, 2, False), 1)
    assert pair.event(Token(1, 2, False), 1)
    assert pair.seen == {Violation.MISSING_LAST}


def test_start_with_a_value_out_of_range() -> None:
    """Software can write what the golden unit's configuration cannot hold."""
    rtl = PysimUnit()
    for name, value in (("max_draft", 17), ("verify_max", 33), ("preverify_max", 9), ("context", 0)):
        rtl.configure(ControlConfig())
        config = object.__new__(ControlConfig)
        for key, legal in ControlConfig().to_dict().items():
            object.__setattr__(config, key, legal)
        object.__setattr__(config, name, value)
        rtl.configure(config)
        rtl.pulse(rtl.edge + 1, 0, start=1)
        while rtl.clk_req:
            assert rtl.clock(rtl.edge + 1, 0) == []
        assert rtl.cause() == 1 << Violation.CONFIGURATION
        assert rtl.status("running") == 0
        rtl.pulse(rtl.edge + 1, 0, clear_errors=1)
        assert rtl.cause() == 0

"""A run must not depend on how early its engine knows the future."""

from __future__ import annotations

import json

import pytest

from ahasd.models.control.events import Event
from ahasd.models.control.params import ControlConfig
from ahasd.sim import run as runs
from ahasd.sim.config import RunConfig
from ahasd.sim.engine import Output
from ahasd.sim.golden_engine import GoldenEngine
from ahasd.sim.run import simulate


class EdgeByEdge:
    """The golden engine, but an output comes out only when its edge has been reached, as the RTL does it."""

    name = "golden"

    def __init__(self, engine: GoldenEngine) -> None:
        self._engine = engine
        self._later: list[Output] = []

    @property
    def busy(self) -> bool:
        return self._engine.busy or bool(self._later)

    def start(self, config: ControlConfig, edge: int) -> None:
        self._engine.start(config, edge)

    def submit(self, event: Event, edge: int) -> None:
        self._engine.submit(event, edge)

    def advance(self, limit: int) -> list[Output]:
        if not self._later:
            self._later = sorted(self._engine.advance(limit), key=lambda output: output.edge)
        if not self._later or self._later[0].edge > limit:
            return []
        edge = self._later[0].edge
        out = [output for output in self._later if output.edge == edge]
        self._later = self._later[len(out) :]
        return out

    def counters(self) -> dict[str, int]:
        return self._engine.counters()

    def report(self) -> dict[str, object]:
        return self._engine.report()


def document(config: RunConfig) -> str:
    found = simulate(config).to_dict()
    del found["wall"]
    return json.dumps(found)


CASES = [
    RunConfig(tokens=400),
    RunConfig(tokens=300, system="async"),
    RunConfig(tokens=300, system="async+edc", trace="factbook-sampled/01"),
    RunConfig(tokens=300, set={"platform.contention": "yield"}, policy="fixed-7"),
    RunConfig(tokens=300, set={"platform.contention": "none", "control.tick_cycles": 1}),
    RunConfig(
        tokens=200, set={"control.suppress": "preverify", "control.tvc": False, "control.max_draft": 2}
    ),
    RunConfig(tokens=200, set={"control.verify_all": False, "control.verify_max": 3}),
    RunConfig(tokens=200, set={"platform.control_clock_ps": 999}),
]


@pytest.mark.parametrize("config", CASES, ids=lambda config: f"{config.system}-{config.policy}-{config.set}")
def test_outputs_at_once_or_edge_by_edge(config: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = document(config)

    def make(name: str, *, tick_cycles: int, **_: object) -> EdgeByEdge:
        assert name == "golden"
        return EdgeByEdge(GoldenEngine(tick_cycles))

    monkeypatch.setattr(runs, "make_engine", make)
    assert document(config) == at_once


def test_rtl_runs_as_its_golden_model() -> None:
    golden, rtl = (
        simulate(RunConfig(tokens=40, engine=name, trace="smollm2-greedy/01")) for name in ("golden", "rtl")
    )
    left, right = golden.to_dict(), rtl.to_dict()
    assert right["engine"]["name"] == "rtl"
    assert left["engine"]["latency_cycles"] == right["engine"]["latency_cycles"]
    for document in (left, right):
        del document["engine"], document["wall"]
    assert left == right

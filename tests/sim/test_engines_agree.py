"""A run must not depend on how early its engine knows the future."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahasd.models.control.events import Event
from ahasd.models.control.params import ControlConfig
from ahasd.models.policies import Features, Policy, Verdict
from ahasd.models.policies.fixed_k import FixedKParams
from ahasd.models.traces import list_traces
from ahasd.sim import run as runs
from ahasd.sim.compiled.build import compiler
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
    found = simulate(replace(config, engine="golden")).to_dict()
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
    RunConfig(tokens=300, policy="adaedl"),  # holds tokens back
    RunConfig(tokens=300, policy="banditspec:code", system="async"),  # learns from times
]


def step(name: str, *, tick_cycles: int, **_: object) -> EdgeByEdge:
    assert name == "golden"
    return EdgeByEdge(GoldenEngine(tick_cycles))


@pytest.mark.parametrize("config", CASES, ids=lambda config: f"{config.system}-{config.policy}-{config.set}")
def test_outputs_at_once_or_edge_by_edge(config: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = document(config)

    monkeypatch.setattr(runs, "make_engine", step)
    assert document(config) == at_once


SOME = [("rtl", f"{name}/01", 30) for name in sorted({name.split("/")[0] for name in list_traces()})]
ALL = [("compiled", name, 200) for name in list_traces()]


@pytest.mark.parametrize(("engine", "trace", "tokens"), [*SOME, *ALL])
def test_rtl_runs_as_its_golden_model(engine: str, trace: str, tokens: int) -> None:
    """Whole runs, decisions and times: in Amaranth's simulator a little of each set, compiled every trace."""
    if engine == "compiled" and compiler() is None:
        pytest.skip("no C++ compiler")
    golden, rtl = (
        simulate(RunConfig(tokens=tokens, engine=name, trace=trace)) for name in ("golden", engine)
    )
    left, right = golden.to_dict(), rtl.to_dict()
    assert right["engine"]["name"] == engine
    assert left["engine"]["latency_cycles"] == right["engine"]["latency_cycles"]
    for document in (left, right):
        del document["engine"], document["wall"]
    assert left == right


class Erratic(Policy):
    """Ends batches at random, with or without holding tokens back."""

    name = "erratic"
    params = FixedKParams()

    def __init__(self, seed: int, holds_back: bool) -> None:
        self.random = random.Random(seed)
        self.holds_back = holds_back  # type: ignore[misc]

    def begin_batch(self, position: int | None = None) -> None:
        self.count = 0

    def after(self, token: Features) -> Verdict:
        self.count += 1
        draw = self.random.random()
        if self.holds_back and self.count > 1 and draw < 0.25:
            return Verdict.LAST_BEFORE
        return Verdict.LAST if draw > 0.8 else Verdict.GO_ON


SETTINGS = st.fixed_dictionaries(
    {
        "control.max_draft": st.integers(1, 16),
        "control.verify_max": st.integers(1, 32),
        "control.preverify_max": st.integers(1, 8),
        "control.verify_all": st.booleans(),
        "control.tick_cycles": st.sampled_from([1, 256, 4096]),
        "control.preverify_preset": st.sampled_from([0, 1 << 12, (1 << 32) - 1]),
        "platform.contention": st.sampled_from(["block", "yield", "none"]),
        "platform.control_clock_ps": st.sampled_from([100, 1250, 100_000]),
        "platform.npu.clock_ps": st.sampled_from([100, 1000, 20_000]),
        "platform.pim.draft_ranks": st.integers(2, 12),
        "platform.pim.clock_ps": st.sampled_from([200, 1250, 50_000]),
        "platform.dram.data_rate": st.sampled_from([400, 6400, 20_000]),
    }
)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    changes=SETTINGS,
    system=st.sampled_from(["ahasd", "async+edc", "async"]),
    trace=st.sampled_from(["smollm2-sampled/01", "factbook-templated/02"]),
    seed=st.integers(0, 1 << 30),
    holds_back=st.booleans(),
)
def test_whatever_the_platform_and_the_policy(
    changes: dict[str, object], system: str, trace: str, seed: int, holds_back: bool
) -> None:
    """Every run checks itself (lossless, KV rows, protocol, balance of tokens); here on odd platforms."""
    config = RunConfig(system=system, trace=trace, tokens=60, set=changes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "make_policy", lambda *_, **__: Erratic(seed, holds_back))
        at_once = document(config)
        patch.setattr(runs, "make_engine", step)
        assert document(config) == at_once

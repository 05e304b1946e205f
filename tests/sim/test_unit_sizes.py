"""``control.unit.*``: sizes of the control unit reach every engine, and what cannot be is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ahasd.models.errors import ConfigError
from ahasd.sim.compiled.build import compiler
from ahasd.sim.config import RunConfig
from ahasd.sim.run import prepare, simulate

SMALL = {"control.unit.history": 2, "control.unit.llr_bits": 2, "control.unit.cycle_entries": 1}


def document(engine: str) -> dict[str, Any]:
    """All of a run's result but wall-clock time and what the engine says of itself."""
    found = simulate(RunConfig(tokens=40, engine=engine, set=SMALL)).to_dict()
    del found["wall"]
    return {**found, "engine": found["engine"]["latency_cycles"]}


def test_rtl_runs_as_the_golden_model() -> None:
    assert document("rtl") == document("golden")


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler")
def test_compiled_rtl_runs_as_the_golden_model() -> None:
    assert document("compiled") == document("golden")


def test_sizes_change_what_the_unit_decides() -> None:
    usual = simulate(RunConfig(tokens=300, engine="golden"))
    small = simulate(RunConfig(tokens=300, engine="golden", set=SMALL))
    assert usual.to_dict() != small.to_dict()
    assert usual.runs[0].tally != small.runs[0].tally


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"token_bits": 12}, "control.unit.token_bits: 12 must be at least 16 for the token ids of smollm2"),
        ({"history": 6}, "control.unit.history: 6 must be a power of two"),
        ({"history": 64}, r"control.unit.history: 64 must be an integer in 2..32 \(batches\)"),
        ({"llr_bits": 4}, "control.unit.queue_depth: 128 must be at least"),
        ({"batches": 3}, "control.unit.batches: unknown key"),
    ],
)
def test_sizes_that_are_refused(changes: dict[str, int], text: str) -> None:
    with pytest.raises(ConfigError, match=text) as caught:
        prepare(RunConfig(set={f"control.unit.{key}": value for key, value in changes.items()}))
    assert "\n" not in str(caught.value)


def test_a_prompt_token_must_fit() -> None:
    changes = {"control.unit.token_bits": 16, "control.prompt_token": 1 << 16}
    with pytest.raises(ConfigError, match=r"must be at least 17 for the token ids of control.prompt_token"):
        prepare(RunConfig(set=changes))

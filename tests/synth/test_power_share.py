"""The control unit's share of the energy of the run that was recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ahasd.models.errors import ConfigError
from ahasd.sim.config import RunConfig
from ahasd.sim.run import simulate
from ahasd.synth.power import Energy, PowerReport, rest_of_system


def report(system_j: float | None) -> PowerReport:
    return PowerReport(
        top="control_unit",
        library="test",
        sources=["run.jsonl"],
        events=1,
        decisions=1,
        tokens=21,
        active_cycles=1,
        total_cycles=8,
        gated=Energy(leakage=1.0),
        ungated=Energy(leakage=1.0, clock=3.0),
        blocks=[],
        system_j=system_j,
    )


def test_share_is_of_all_the_energy() -> None:
    d = report(12.0).to_dict()
    assert d["system_j"] == 12.0
    assert d["gated"]["system_share"] == pytest.approx(1 / 13, rel=1e-3)
    assert d["ungated"]["system_share"] == pytest.approx(4 / 16, rel=1e-3)


def test_without_a_run_there_is_no_share() -> None:
    d = report(None).to_dict()
    assert d["system_j"] is d["gated"]["system_share"] is d["ungated"]["system_share"] is None


def test_the_units_own_energy_is_replaced(tmp_path: Path) -> None:
    document = simulate(RunConfig(tokens=20)).to_dict()
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    rest = rest_of_system(path, 1, document["tokens"])
    energy = document["energy"]
    assert rest == pytest.approx(energy["total_j"] - energy["components"]["control"])
    assert 0 < rest < energy["total_j"]
    for recordings, tokens in ((2, document["tokens"]), (1, document["tokens"] + 1)):
        with pytest.raises(ConfigError, match="one recording"):
            rest_of_system(path, recordings, tokens)


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"tokens": 3, "energy": null}'])
def test_what_is_no_document_is_refused(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match="no document"):
        rest_of_system(path, 1, 3)

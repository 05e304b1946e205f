"""What the systems are for, on a trace of each set (figures and exceptions: docs/contention.md)."""

from __future__ import annotations

import pytest

from ahasd.models.traces import list_traces
from ahasd.sim.config import RunConfig
from ahasd.sim.run import simulate


@pytest.mark.parametrize("trace", [name for name in list_traces() if name.endswith("/00")])
def test_edc_saves_drafts_and_tvc_wins_the_time_back_where_ranks_do_not_conflict(trace: str) -> None:
    free = {"platform.contention": "none"}
    plain, edc, whole = (
        simulate(RunConfig(system=system, trace=trace, engine="golden", set=free)).to_dict()
        for system in ("async", "async+edc", "ahasd")
    )
    assert edc["useful"] > whole["useful"] > plain["useful"]
    assert edc["tokens_per_s"] < plain["tokens_per_s"]
    assert whole["tokens_per_s"] > edc["tokens_per_s"]

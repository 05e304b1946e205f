"""The mutation page: score, survivors, explanations."""

from __future__ import annotations

import pytest

from ahasd.synth.mutation import run
from ahasd.synth.mutation.run import Mutant, report


def test_score_and_survivors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(run.EXPLAINED, "-mode inv -cell b", "equal")
    mutants = [
        Mutant(1, "mutate -mode inv -module control_unit -cell a", 7, 100),
        Mutant(2, "mutate -mode inv -module control_unit -cell b", None, -1),
        Mutant(3, "mutate -mode inv -module control_unit -cell c", None, -1),
    ]
    page = report(mutants, 12.0)
    assert "**1 of 3 killed, 33.3 %.** 12 s" in page
    assert "| 2 | `-mode inv -cell b` | equal |" in page
    assert "| 3 | `-mode inv -cell c` | not explained |" in page
    assert "-cell a" not in page

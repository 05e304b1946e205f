"""The mutation page: score, proofs, survivors, explanations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ahasd.synth.mutation import report as page
from ahasd.synth.mutation.run import Mutant

ALIVE = Mutant(3, "mutate -mode inv -module control_unit -cell c")
MUTANTS = [
    Mutant(1, "mutate -mode inv -module control_unit -cell a", "random pins, seed 7", 100),
    Mutant(2, "mutate -mode inv -module control_unit -cell b", equal="never used"),
    ALIVE,
]


def test_score_and_survivors(monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.report(MUTANTS)
    assert "**1 of 2 killed that are not proved equal, 50.0 %.**" in text
    assert "1 of all 3, 33.3 %; 1 are proved equal." in text
    assert "| random pins | 1 |" in text
    assert "| 2 | `-mode inv -cell b` | proved equal: never used |" in text
    assert "| 3 | `-mode inv -cell c` | not explained |" in text
    assert "-cell a" not in text
    monkeypatch.setitem(page.EXPLAINED, "-mode inv -cell c", "never read")
    assert "| 3 | `-mode inv -cell c` | never read |" in page.report(MUTANTS)


def test_an_unexplained_survivor_fails_whatever_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [replace(MUTANTS[0], number=n) for n in range(10, 110)]
    assert page.passed(many)
    assert page.passed([*many, MUTANTS[1]])
    assert not page.passed([*many, ALIVE])
    monkeypatch.setitem(page.EXPLAINED, "-mode inv -cell c", "never read")
    assert page.passed([*many, ALIVE])
    assert not page.passed([*many[:5], ALIVE])

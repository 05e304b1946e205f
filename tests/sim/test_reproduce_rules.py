"""When a claim holds, what a verdict says, and that every claim has one."""

from __future__ import annotations

import csv
import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from ahasd.rtl.rank_gate import SWITCH_CYCLES
from ahasd.sim.reproduce import hardware
from ahasd.sim.reproduce.assumptions import ASSUMPTIONS, DEFAULT, READINGS, Assumption
from ahasd.sim.reproduce.cells import Outcome
from ahasd.sim.reproduce.claims import Claim, load_claims
from ahasd.sim.reproduce.ledger import Row, ledger, ledger_table
from ahasd.sim.reproduce.measures import MEASURES
from ahasd.sim.reproduce.rules import Rule, follows
from ahasd.sim.reproduce.sensitivity import Trial
from ahasd.sim.reproduce.tables import main_tables
from ahasd.sim.reproduce.view import Point, View
from ahasd.synth.scale import DIES_MM2, DRAM_FACTOR, NAND2_RATIO

ROOT = Path(__file__).parents[2]
PAIR, POLICY, TRACE = "llama2-7b/13b", "adaedl", "smollm2-sampled/00"


# Rules.


@pytest.mark.parametrize(
    ("rule", "paper", "ours", "expected"),
    [
        (Rule.AVERAGE, 2.0, 2.0, True),
        (Rule.AVERAGE, 2.0, 2.5, True),
        (Rule.AVERAGE, 2.0, 2.51, False),
        (Rule.AVERAGE, 2.0, 1.6, True),
        (Rule.AVERAGE, 2.0, 1.59, False),
        (Rule.AVERAGE, -0.25, -0.2, True),
        (Rule.AVERAGE, -0.25, 0.25, False),
        (Rule.MOST, 4.2, 5.3, False),
        (Rule.LEAST, 0.123, 0.08, False),
        (Rule.BELOW, 1.0, 0.99, True),
        (Rule.BELOW, 1.0, 1.0, False),
        (Rule.GAIN_BELOW, 1.1, 1.05, True),
        (Rule.GAIN_BELOW, 1.1, 0.95, False),
        (Rule.GAIN_BELOW, 1.1, 1.2, False),
    ],
)
def test_rules(rule: Rule, paper: float, ours: float, expected: bool) -> None:
    assert follows(rule, paper, ours) is expected


# Views of made-up runs.


def run(tokens_per_s: float, joules: float = 1.0, **more: Any) -> Outcome:
    components = {"dram": 10.0, "dram_background": 5.0, "pim": 5.0, "aau": 0.0, "npu": 4.0, "npu_idle": 6.0}
    energy = {"per_token_j": joules, "components": components}
    ends = {"low": energy | {"per_token_j": joules / 2}, "high": energy | {"per_token_j": 2 * joules}}
    times = {
        "npu": {"busy_ps": 60, "idle_ps": 40, "blocked_ps": 0, "wasted_ps": 0},
        "pim": {"draft_ps": 30, "preverify_ps": 0, "aborted_ps": 0, "idle_ps": 70},
    }
    figures: dict[str, Any] = {
        "tokens_per_s": tokens_per_s,
        "time_ps": 100,
        "acceptance": 0.5,
        "useful": 0.4,
        "energy": energy | ends,
        "engine": {"latency_cycles": {"token.timer.draft": {"max": 97}, "feedback.verify": {"max": 500}}},
        "rounds": {"pim_share_least": 0.1, "pim_share_most": 0.8},
        **times,
        **more,
    }
    return Outcome(figures=figures)


def view(outcomes: dict[str, Outcome], assumption: Assumption = DEFAULT, pair: str = PAIR) -> View:
    return View({Point(s, pair, POLICY, TRACE): outcome for s, outcome in outcomes.items()}, assumption)


def claim(name: str) -> Claim:
    return next(c for c in load_claims() if c.id == name)


def row(name: str, main: View, trials: list[Trial] | None = None) -> Row:
    (found,) = ledger([claim(name)], main, trials or [])
    return found


def trial(name: str, seen: View, text: str = "another world") -> Trial:
    value = MEASURES[name].value(seen)
    assert value is not None
    parts = (Assumption(id="other", text=text),)
    return Trial(id="other", text=text, parts=parts, values={name: value}, plain={})


def test_a_claim_that_holds() -> None:
    found = row("T8", view({"npu-only": run(2), "ahasd": run(6)}))
    assert (found.ours, found.verdict) == (pytest.approx(3), "holds")
    assert "ahasd over npu-only" in found.reason


def test_a_claim_that_holds_under_an_assumption_names_it() -> None:
    main = view({"npu-only": run(2), "ahasd": run(2.2)})
    found = row("T8", main, [trial("T8", view({"npu-only": run(2), "ahasd": run(6)}))])
    assert found.ours == pytest.approx(1.1)
    assert found.verdict == "holds under: another world (3)"


def test_a_claim_that_follows_from_nothing_says_how_far_it_is() -> None:
    main = view({"npu-only": run(2), "ahasd": run(1.8)})
    found = row("T8", main, [trial("T8", view({"npu-only": run(2), "ahasd": run(3)}))])
    assert found.verdict == "does not follow: below 1, not above"
    assert "nearest of 1 that make a difference: 1.5 with another world" in found.reason


def test_runs_that_differ_only_in_length_are_no_assumption() -> None:
    """If the default holds on the sensitivity runs, their choice decides: nothing else is named."""
    main = view({"npu-only": run(2), "ahasd": run(2.2)})
    holds = trial("T8", view({"npu-only": run(2), "ahasd": run(6)}))
    plain = dataclasses.replace(holds, id="default", text="short runs")
    other = trial("T8", view({"npu-only": run(2), "ahasd": run(6.2)}))
    other = dataclasses.replace(other, parts=(Assumption(id="set", text="x", settings={"a": 1}),))
    assert row("T8", main, [plain, other]).verdict == "holds under: short runs (3)"


def test_a_trial_without_some_pairs_does_not_count() -> None:
    """An average without the pair whose model does not fit is about other work."""
    main = view({"npu-only": run(2), "ahasd": run(2.2)})
    plain = dataclasses.replace(trial("T8", main), id="default")
    plain = dataclasses.replace(plain, plain=plain.values)
    other = trial("T8", view({"npu-only": run(2), "ahasd": run(6)}))
    other = dataclasses.replace(other, plain=plain.values)
    less = dataclasses.replace(other, values={"T8": dataclasses.replace(other.values["T8"], without=1)})
    assert row("T8", main, [plain, other]).verdict == "holds under: another world (3)"
    assert row("T8", main, [plain, less]).verdict.startswith("does not follow")


def test_a_bound_on_a_gain_needs_a_gain() -> None:
    main = view({"async+aau": run(2), "async+aau+edc": run(1.9)}, pair="opt-1.3b/6.7b")
    assert row("T10", main).verdict == "does not follow: there is no gain"


def test_a_claim_about_one_pair_takes_no_other() -> None:
    assert row("T9", view({"async+aau": run(2), "async+aau+edc": run(2.7)})).verdict == "holds"
    other = view({"async+aau": run(2), "async+aau+edc": run(2.7)}, pair="opt-1.3b/6.7b")
    assert row("T9", other).verdict == "does not follow: not measured"


def test_relative_claims_are_changes() -> None:
    main = view({"npu-pim-sync": run(1, acceptance=0.8), "async": run(1, acceptance=0.6)})
    found = row("A1", main)
    assert found.ours == pytest.approx(-0.25)
    assert found.verdict == "holds"


def test_powers_come_from_components() -> None:
    """20 J of 30 J are the memory's; half the time is twice the power."""
    main = view({"npu-only": run(1, time_ps=200), "ahasd": run(2, time_ps=100)})
    assert row("P1", main).ours == pytest.approx(2)
    assert row("P2", main).ours == pytest.approx(2)


def test_readings_take_other_figures() -> None:
    outcomes = {"npu-pim-sync": run(1), "gpu-only": run(1), "gpu-mobile": run(0.5), "ahasd": run(2)}
    by_id = {reading.id: reading for reading in READINGS}
    speed, share = MEASURES["T1"], MEASURES["C2"]
    for measure, reading, expected in (
        (speed, DEFAULT, 2.0),
        (speed, by_id["gpu-mobile"], 4.0),
        (share, DEFAULT, 0.3),
        (share, by_id["round"], 0.8),
    ):
        value = measure.value(view(outcomes, reading))
        assert value is not None
        assert value.ours == pytest.approx(expected)


def test_the_switch_counts_tasks_only() -> None:
    """97 cycles of a draft decision and the gate's own, at 1.25 ns, and 0.15 us; no verification counts."""
    found = row("S1", view({"ahasd": run(1)}))
    assert found.ours == pytest.approx((97 + SWITCH_CYCLES) * 1.25e-3 + 0.15)
    assert found.verdict == "holds"


def test_failures_are_listed_with_their_reason() -> None:
    main = view({"npu-only": run(1), "gpu-only": Outcome(reason="does not fit: 31 GB")})
    failures = next(table for table in main_tables(main, load_claims()) if table.name == "failures")
    assert [row[-1] for row in failures.rows] == ["does not fit: 31 GB"]
    assert row("T3", main).verdict == "does not follow: not measured"


# All claims.


def test_every_claim_has_a_row_whatever_the_runs_give() -> None:
    claims = load_claims()
    rows = ledger(claims, View({}), [])
    assert [r.claim.id for r in rows] == [c.id for c in claims]
    assert len(claims) == 30
    for found in rows:
        assert re.match(r"holds$|holds under: .|does not follow: .", found.verdict)
        assert found.reason


def test_the_ledger_has_the_promised_columns() -> None:
    table = ledger_table(ledger(load_claims(), View({}), []))
    lines = list(csv.reader(table.csv().splitlines()))
    assert lines[0] == ["id", "claim", "paper", "ours", "ratio", "verdict", "reason"]
    assert {len(line) for line in lines} == {7}


def test_every_claim_is_measured_or_about_gates() -> None:
    assert {c.id for c in load_claims()} == {*MEASURES, *hardware.PARTS, "H5", "S1"}


def test_assumptions_have_names_of_their_own() -> None:
    names = [a.id for a in (DEFAULT, *ASSUMPTIONS, *READINGS)]
    assert len(set(names)) == len(names)
    assert all(reading.is_reading for reading in READINGS)
    assert not any(assumption.is_reading for assumption in ASSUMPTIONS)


# Areas.


def test_areas_are_those_of_the_report() -> None:
    text = (ROOT / "docs" / "reports" / "area.md").read_text(encoding="utf-8")
    flops, latches = text.split("## Memory arrays in latches")
    for storage, part in (("flops", flops), ("latches", latches)):
        report = {
            line.split()[0]: [float(value) for value in line.split()[1:4]]
            for line in part.splitlines()
            if re.match(r"(edc|tvc|queues|other) +[\d.]+", line)
        }
        for reading in hardware.area_readings():
            if reading.storage == storage and not reading.dram:
                column = {"measured": 1, "ideal": 2}[reading.shrink]
                for name in ("edc", "tvc", "queues", "other"):
                    assert reading.mm2[name] == pytest.approx(report[name][column], abs=6e-5)


def test_the_attention_unit_is_that_of_the_report() -> None:
    text = (ROOT / "docs" / "synthesis.md").read_text(encoding="utf-8")
    found = re.search(r"`ahasd area attention_unit`: ([\d.]+) mm2 at 45 nm", text)
    assert found is not None
    at_28 = hardware.area_readings()[0].mm2["attention unit"]
    assert at_28 == pytest.approx(float(found[1]) * NAND2_RATIO, abs=4e-4)


def test_factors_are_those_of_the_area_command() -> None:
    first = hardware.area_readings()[0]
    logic = {(a.storage, a.shrink): a.mm2["edc"] for a in hardware.area_readings() if not a.dram}
    dram = {(a.storage, a.shrink): a.mm2["edc"] for a in hardware.area_readings() if a.dram}
    assert first.mm2["edc"] == logic["flops", "measured"]
    assert logic["flops", "ideal"] / logic["flops", "measured"] == pytest.approx((28 / 45) ** 2 / NAND2_RATIO)
    assert all(dram[key] == pytest.approx(DRAM_FACTOR * logic[key]) for key in logic)
    assert hardware.added_share(first) == pytest.approx(sum(first.mm2.values()) / DIES_MM2["paper"])
    assert hardware.GATE_CYCLES == SWITCH_CYCLES

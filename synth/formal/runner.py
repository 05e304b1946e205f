"""Proves properties and tries their negative controls."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from ahasd.models.errors import ToolError
from ahasd.synth.formal.bench import Bench
from ahasd.synth.formal.registry import Property, find
from ahasd.synth.formal.seeds import Seed
from ahasd.synth.formal.solver import Answer, Model, model

__all__ = ["Control", "Result", "prove", "prove_all", "refute"]

SOLVER_SECONDS = 300
"""A solver call that takes longer has failed."""


@dataclass(frozen=True)
class Result:
    """One proof. Seconds are wall-clock, translation included."""

    name: str
    component: str
    statement: str
    proved: bool
    checks: int
    k: int
    search: int
    failed: tuple[str, ...]
    covers: tuple[tuple[str, int], ...]
    seconds: float

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {**asdict(self), "covers": dict(self.covers)}


@dataclass(frozen=True)
class Control:
    """A seeded bug, and the checks that refuse it: none if it went unnoticed."""

    name: str
    proof: str
    failed: tuple[str, ...]
    from_reset: bool
    """A run from reset shows it; otherwise the induction's step fails."""
    seconds: float


def _checked(prepared: Model, names: list[str]) -> None:
    """Every check of the bench has arrived at the solver: a lost one would be proved."""
    found = (prepared.folder / "top.smt2").read_text(encoding="utf-8").count("yosys-smt2-assert ")
    if found != len(set(names)) or found != len(names):
        raise ToolError(f"{len(names)} checks were written, {found} are left")


def prove(proof: Property) -> Result:
    """Base, step and covers."""
    start = time.monotonic()
    bench = Bench(proof.component())
    proof.build(bench)
    with model(bench.rtlil(), timeout=SOLVER_SECONDS) as prepared:
        _checked(prepared, bench.names)
        base = prepared.search(max(proof.search, proof.k + 1))
        step = prepared.induct(proof.k) if base.passed else base
    covered = Answer(True, 0.0)
    if proof.cover is not None and step.passed:
        covering = Bench(proof.cover.component())
        proof.cover.build(covering)
        with model(covering.rtlil(), timeout=SOLVER_SECONDS, small=proof.cover.small) as prepared:
            covered = prepared.cover(proof.cover.depth)
    failed = step.failed or tuple(f"not reached: {name}" for name in covered.failed)
    return Result(
        name=proof.name,
        component=proof.component_name,
        statement=proof.statement,
        proved=step.passed and covered.passed,
        checks=len(bench.names),
        k=proof.k,
        search=max(proof.search, proof.k + 1),
        failed=failed,
        covers=covered.reached,
        seconds=time.monotonic() - start,
    )


def prove_all(proofs: Iterable[Property]) -> Iterator[Result]:
    """One after the other, each as soon as it is there."""
    for proof in proofs:
        yield prove(proof)


def refute(seed: Seed) -> Control:
    """Try the proof that must refuse ``seed`` on the component that has it."""
    start = time.monotonic()
    proof = find(seed.proof)
    bench = Bench(proof.component())
    bench.opened.insert(seed.path, seed.change)
    proof.build(bench)
    with model(bench.rtlil(), timeout=SOLVER_SECONDS) as prepared:
        _checked(prepared, bench.names)
        base = prepared.search(max(proof.search, proof.k + 1))
        answer = prepared.induct(proof.k) if base.passed else base
    return Control(seed.name, seed.proof, answer.failed, not base.passed, time.monotonic() - start)

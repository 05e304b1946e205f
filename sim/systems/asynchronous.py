"""`async...` and `ahasd`: PIM and NPU run on their own, the control unit between them."""

from __future__ import annotations

import simpy

from ahasd.models.cost import CostModel, make_cost
from ahasd.models.errors import ConfigError
from ahasd.sim.control import Control
from ahasd.sim.observer import Observer
from ahasd.sim.systems.assembly import Assembly, Setup, assemble
from ahasd.sim.systems.registry import register, register_family
from ahasd.sim.systems.spec import Case, SystemSpec

__all__ = ["asynchronous"]

PARTS = ("aau", "edc", "tvc")
"""What may be added to ``async``, in the order of the canonical name."""


def asynchronous(setup: Setup) -> Assembly:
    """EDC and TVC are in ``setup.control``, the attention unit in ``setup.costs``."""
    assert setup.engine is not None, "a system with a control unit is given an engine"
    env = simpy.Environment()
    observer = Observer(setup.control, setup.golden, late=getattr(setup.engine, "late", False))
    control = Control(env, setup.engine, setup.control, setup.clock_ps, observer.watch)
    return assemble(env, setup, control, observer)


def _costs(case: Case) -> CostModel:
    return make_cost(case.platform, case.draft, case.target, case.aau)


def _spec(name: str, parts: list[str]) -> SystemSpec:
    return SystemSpec(
        name=name,
        summary=f"draft on the PIM, verify on the NPU, at the same time; {', '.join(parts) or 'no control'}",
        build=asynchronous,
        costs=_costs,
        parts=frozenset({"dram", "pim", "npu", "host"}),
        control_unit=True,
        aau="aau" in parts,
        edc="edc" in parts,
        tvc="tvc" in parts,
    )


def _member(parts: list[str]) -> SystemSpec:
    if not set(parts) <= set(PARTS) or len(set(parts)) < len(parts):
        name = "+".join(["async", *parts])
        raise ConfigError(f"system {name!r}: after async come +aau, +edc, +tvc, each at most once")
    having = [part for part in PARTS if part in parts]
    return _spec("+".join(["async", *having]), having)


register_family("async", _member, ("async+aau", "async+aau+edc", "async+edc"))
register(_spec("ahasd", list(PARTS)))

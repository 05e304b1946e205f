"""Engines by name. The RTL and its simulator are imported only when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from ahasd.models.control.params import UnitParams
from ahasd.models.control.predictor import PREDICTORS, Predictor
from ahasd.models.control.unit import ControlUnit
from ahasd.models.errors import ConfigError
from ahasd.models.replay import GoldenUnit, ReplayUnit
from ahasd.models.settings import near
from ahasd.sim.compiled.build import compiler
from ahasd.sim.engine import CLOCK_PS, ControlEngine
from ahasd.sim.golden_engine import GoldenEngine

__all__ = ["ENGINES", "check_engine", "default_engine", "golden_maker", "make_engine", "make_replay_unit"]

ENGINES = ("golden", "rtl", "compiled", "top")


def default_engine() -> str:
    """``compiled`` where there is a C++ compiler to build it, else ``rtl``: the RTL decides by default."""
    return "rtl" if compiler() is None else "compiled"


def check_engine(name: str) -> str:
    """``name``, if there is such an engine.

    Raises
    ------
    ConfigError
        If there is none.
    """
    if name not in ENGINES:
        raise ConfigError(f"engine {name!r}: unknown; near: {near(name, ENGINES)}")
    return name


def golden_maker(predictor: str, params: UnitParams | None = None) -> Callable[[], ControlUnit]:
    """Makes golden units of sizes ``params`` with the predictor called ``predictor``."""
    kind = cast(Callable[[UnitParams], Predictor], PREDICTORS[predictor])
    return lambda: ControlUnit(params, kind)


def make_engine(
    name: str,
    *,
    tick_cycles: int = 256,
    predictor: str = "edc",
    params: UnitParams | None = None,
    vcd: Path | None = None,
    clock_ps: int = CLOCK_PS,
    npu_clock_ps: int = 1000,
) -> ControlEngine:
    """The engine called ``name``; ``vcd`` is for ``rtl`` alone, periods of the two clocks for ``top``.

    Raises
    ------
    ConfigError
        If there is no such engine, or it has not these sizes.
    """
    check_engine(name)
    if name == "golden":
        return GoldenEngine(tick_cycles, golden_maker(predictor, params))

    if name == "compiled":
        from ahasd.sim.compiled.build import library
        from ahasd.sim.compiled.engine import CompiledEngine

        return CompiledEngine(tick_cycles, library(params, predictor))

    if name == "top":
        if params not in (None, UnitParams()):
            raise ConfigError("control.unit: engine top has the default sizes only; take another engine")
        from ahasd.sim.compiled.top import TopEngine

        return TopEngine(tick_cycles, predictor, clock_ps, npu_clock_ps)

    from ahasd.rtl import predictor as hardware
    from ahasd.rtl.control_unit import ControlUnit as RtlUnit
    from ahasd.sim.rtl_engine import RtlEngine

    return RtlEngine(tick_cycles, lambda: RtlUnit(params, hardware.PREDICTORS[predictor]), vcd)


def make_replay_unit(name: str) -> ReplayUnit:
    """A unit of the engine called ``name`` for :func:`ahasd.models.replay.replay`."""
    check_engine(name)
    if name == "golden":
        return GoldenUnit()
    if name == "compiled":
        from ahasd.sim.compiled.engine import CompiledReplayUnit

        return CompiledReplayUnit()
    if name == "top":
        from ahasd.sim.compiled.top import TopReplayUnit

        return TopReplayUnit()

    from ahasd.sim.rtl_engine import RtlReplayUnit

    return RtlReplayUnit()

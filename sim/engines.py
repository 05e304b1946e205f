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
from ahasd.sim.engine import ControlEngine
from ahasd.sim.golden_engine import GoldenEngine

__all__ = ["DEFAULT_ENGINE", "ENGINES", "check_engine", "golden_maker", "make_engine", "make_replay_unit"]

DEFAULT_ENGINE = "golden"
ENGINES = ("golden", "rtl")
LATER = ("compiled",)


def check_engine(name: str) -> str:
    """``name``, if there is such an engine.

    Raises
    ------
    ConfigError
        If there is none, or it is not available yet.
    """
    if name in LATER:
        raise ConfigError(f"engine {name}: not available yet; available: {', '.join(ENGINES)}")
    if name not in ENGINES:
        raise ConfigError(f"engine {name!r}: unknown; near: {near(name, [*ENGINES, *LATER])}")
    return name


def golden_maker(predictor: str) -> Callable[[], ControlUnit]:
    """Makes golden units with the predictor called ``predictor``."""
    kind = cast(Callable[[UnitParams], Predictor], PREDICTORS[predictor])
    return lambda: ControlUnit(predictor=kind)


def make_engine(
    name: str, *, tick_cycles: int = 256, predictor: str = "edc", vcd: Path | None = None
) -> ControlEngine:
    """The engine called ``name``.

    Raises
    ------
    ConfigError
        If there is no such engine, or ``vcd`` is asked of one that has no waves.
    """
    check_engine(name)
    if name == "golden":
        if vcd is not None:
            raise ConfigError("--vcd: the golden engine has no waves, expected --engine rtl")
        return GoldenEngine(tick_cycles, golden_maker(predictor))

    from ahasd.rtl import predictor as hardware
    from ahasd.rtl.control_unit import ControlUnit as RtlUnit
    from ahasd.sim.rtl_engine import RtlEngine

    kinds = {"edc": hardware.EntropyHistoryPredictor, "always-go": hardware.AlwaysGoOn}
    return RtlEngine(tick_cycles, lambda: RtlUnit(predictor=kinds[predictor]), vcd)


def make_replay_unit(name: str) -> ReplayUnit:
    """A unit of the engine called ``name`` for :func:`ahasd.models.replay.replay`."""
    check_engine(name)
    if name == "golden":
        return GoldenUnit()

    from ahasd.sim.rtl_engine import RtlReplayUnit

    return RtlReplayUnit()

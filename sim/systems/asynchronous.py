"""`async...` and `ahasd`: PIM and NPU run on their own, the control unit between them."""

from __future__ import annotations

from collections.abc import Callable

import simpy

from ahasd.models.control.unit import ControlUnit
from ahasd.sim.control import Control
from ahasd.sim.engine import CLOCK_PS, ControlEngine
from ahasd.sim.observer import Observer
from ahasd.sim.systems.assembly import Assembly, Setup, assemble

__all__ = ["asynchronous"]


def asynchronous(
    setup: Setup,
    engine: ControlEngine,
    make: Callable[[], ControlUnit] = ControlUnit,
    clock_ps: int = CLOCK_PS,
) -> Assembly:
    """EDC and TVC are in ``setup.control``, the attention unit in ``setup.costs``.

    Parameters
    ----------
    setup : Setup
    engine : ControlEngine
        The control unit in the loop.
    make : callable
        Makes the golden unit that every decision is compared with.
    clock_ps : int
        Period of the control unit's clock.
    """
    env = simpy.Environment()
    observer = Observer(setup.control, make)
    control = Control(env, engine, setup.control, clock_ps, observer.watch)
    return assemble(env, setup, control, observer)

"""The configuration may not be written while a command that uses it is carried out."""

from __future__ import annotations

import pytest

from ahasd.models.control.params import ControlConfig
from ahasd.models.control.work import Violation
from ahasd.sim.rtl_unit import PysimUnit

FLAG = 1 << Violation.CONFIGURATION


def write_after(command: str, edges: int) -> int:
    """``cause`` after a configuration write ``edges`` edges behind a command."""
    unit = PysimUnit()
    unit.configure(ControlConfig())
    if edges == 0:
        unit.pulse(1, 0, config_write=1, **{command: 1})
    else:
        unit.pulse(1, 0, **{command: 1})
        for edge in range(2, 1 + edges):
            unit.clock(edge, 0)
        unit.pulse(1 + edges, 0, config_write=1)
    return unit.cause()


@pytest.mark.parametrize("edges", [0, 1, 2, 3, 4, 10])
@pytest.mark.parametrize("command", ["start", "clear"])
def test_a_write_behind_a_command_is_a_violation(command: str, edges: int) -> None:
    assert write_after(command, edges) == FLAG


def test_a_write_after_a_clear_is_none() -> None:
    assert write_after("clear", 100) == 0


def test_a_second_start_in_the_next_cycle_is_a_violation() -> None:
    unit = PysimUnit()
    unit.configure(ControlConfig())
    unit.pulse(1, 0, start=1)
    unit.pulse(2, 0, start=1)
    for edge in range(3, 60):
        unit.clock(edge, 0)
    assert unit.cause() == 1 << Violation.COMMAND

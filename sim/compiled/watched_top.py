"""The top with ports for what an engine must see of its inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Module, Signal, Value

from ahasd.models.control.params import UnitParams
from ahasd.rtl.predictor import Predictor
from ahasd.rtl.signatures import status_layout
from ahasd.rtl.top import AhasdTop

__all__ = ["WatchedTop"]


class WatchedTop(AhasdTop):
    """The same hardware. More outputs tell when the control unit takes what no port of the top shows.

    Attributes
    ----------
    seen_now : Signal
        The timebase that the unit reads.
    seen_start, seen_feedback : Signal
        A start command reaches the unit; it takes a verdict.
    seen_status : Signal
        The unit's status.

    Parameters: see :class:`ahasd.rtl.top.AhasdTop`.
    """

    def __init__(
        self, params: UnitParams, tick_bits: int, predictor: Callable[[UnitParams], Predictor]
    ) -> None:
        super().__init__(params, tick_bits, predictor)
        self.seen_now = Signal(params.time_bits)
        self.seen_start = Signal()
        self.seen_feedback = Signal()
        self.seen_status = Signal(status_layout(params).size)

    @property
    def all_ports(self) -> list[Signal]:
        """The top's ports and those of this class."""
        ports = [Value.cast(port) for _, _, port in self.signature.flatten(self)]
        assert all(isinstance(port, Signal) for port in ports)
        return [*ports, self.seen_now, self.seen_start, self.seen_feedback, self.seen_status]  # type: ignore[list-item]

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        unit: Any = m.submodules.control_unit
        m.d.comb += [
            self.seen_now.eq(unit.now),
            self.seen_start.eq(unit.command.start),
            self.seen_feedback.eq(unit.feedback.valid & unit.feedback.ready),
            self.seen_status.eq(unit.status.as_value()),
        ]
        return m

"""The in-PIM control unit: takes events one at a time, keeps the draft queue, decides.

Its parts are in ``control_parts``, their connections in ``control_wiring``, its state machine in
``control_states``.
"""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring

from ahasd.models.control.params import UnitParams
from ahasd.rtl.control_parts import ControlParts
from ahasd.rtl.control_states import (
    decision_and_command_states,
    feedback_states,
    idle_states,
    result_states,
    token_states,
)
from ahasd.rtl.control_wiring import commands, errors, wire
from ahasd.rtl.predictor import EntropyHistoryPredictor, Predictor
from ahasd.rtl.signatures import ControlSignature

__all__ = ["ControlUnit"]


class ControlUnit(wiring.Component):
    """Control unit: entropy-history drafting control, draft queue, pre-verify timer, task scheduler.

    Behaviour, bit for bit: ``ahasd.models.control.unit.ControlUnit``; cycles:
    ``ahasd.models.control.latency``.
    No combinational path leads from an input stream to an output other than ``clk_req``.

    Parameters
    ----------
    params : UnitParams
    predictor : callable from UnitParams to Predictor
        The draft-control predictor; EDC by default.

    Members
    -------
    See :class:`~ahasd.rtl.signatures.ControlSignature`.
    """

    token: stream.Interface
    feedback: stream.Interface
    result: stream.Interface
    task: stream.Interface
    verify: stream.Interface
    commit: stream.Interface
    abort: Signal
    now: Signal
    config: data.View
    command: data.View
    counters: data.View
    status: data.View
    error: Signal
    cause: Signal
    clk_req: Signal

    def __init__(
        self,
        params: UnitParams | None = None,
        predictor: Callable[[UnitParams], Predictor] = EntropyHistoryPredictor,
    ) -> None:
        self.params = params or UnitParams()
        self.make_predictor = predictor
        super().__init__(ControlSignature(self.params))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts = ControlParts(m, self)
        wire(m, self, parts)
        errors(m, self, parts)
        m.d.sync += parts.write_ring.eq(0)
        with m.FSM(init="INITIALISE") as fsm:
            idle_states(m, self, parts)
            token_states(m, self, parts)
            feedback_states(m, self, parts)
            result_states(m, self, parts)
            decision_and_command_states(m, self, parts)
        commands(m, self, parts)
        m.d.comb += self.clk_req.eq(
            ~fsm.ongoing("IDLE")
            | parts.verify_sender.busy
            | parts.task_sender.busy
            | parts.timer.busy
            | parts.pending.any()
            | self.command.as_value().any()
            | self.token.valid
            | self.feedback.valid
            | self.result.valid
        )
        return m

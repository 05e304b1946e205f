"""Ends the sequence after a reset of the NPU side, whose verdict will never come."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Recovery"]


class Recovery(wiring.Component):
    """Stops the control unit; if a verification was running, resets the unit once the PIM has stopped.

    The unit is reset only while it is at rest and the PIM has no task, so that no stream is broken off. What
    it has committed stands; what it had learned, and its counters, are lost with a running verification.

    Members
    -------
    lost : In(1)
        The NPU side was reset.
    running, stopping, task, unit_active : In(1)
        The control unit's status and ``clk_req``.
    stop : Out(1)
        To the unit, a strobe.
    save : Out(1)
        High for a cycle: the unit's counters are about to be lost.
    unit_reset : Out(1)
        A register.
    recovering : Out(1)
        From the cycle after ``lost`` until it has been dealt with: verify requests go nowhere.
    recovered : Out(1)
        High in the last of these cycles.
    """

    lost: Signal
    running: Signal
    stopping: Signal
    task: Signal
    unit_active: Signal
    stop: Signal
    save: Signal
    unit_reset: Signal
    recovering: Signal
    recovered: Signal

    def __init__(self) -> None:
        inputs = ("lost", "running", "stopping", "task", "unit_active")
        outputs = ("stop", "save", "unit_reset", "recovering", "recovered")
        super().__init__({**dict.fromkeys(inputs, In(1)), **dict.fromkeys(outputs, Out(1))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.recovering.eq(1)
        with m.FSM():
            with m.State("READY"):
                m.d.comb += self.recovering.eq(0)
                with m.If(self.lost):
                    m.next = "STOP"

            with m.State("STOP"):
                m.d.comb += self.stop.eq(1)
                m.next = "WAIT"

            with m.State("WAIT"), m.If(~self.unit_active):
                with m.If(~self.running):
                    m.next = "DONE"
                with m.Elif(~self.stopping):
                    m.next = "STOP"  # a start was waiting behind the stop
                with m.Elif(~self.task):
                    m.d.comb += self.save.eq(1)
                    m.next = "RESET"

            with m.State("RESET"):
                m.d.sync += self.unit_reset.eq(1)
                m.next = "RELEASE"

            with m.State("RELEASE"):
                m.d.sync += self.unit_reset.eq(0)
                m.next = "WAIT"

            with m.State("DONE"):
                m.d.comb += self.recovered.eq(1)
                m.next = "READY"
        return m

"""Rank gate (GTSU): lets a task through to the PIM when its ranks, and no others, are in PIM mode."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.control.params import UnitParams
from ahasd.rtl.signatures import TaskKind, request_layout

__all__ = ["RANKS", "SWITCH_CYCLES", "RankGate", "RankMode"]

RANKS = 16
SWITCH_CYCLES = 3
"""From the cycle in which the last rank is idle and closed, and host accesses have ended, to the first cycle
with the other set enabled."""


class RankMode(enum.Enum, shape=2):
    """Which ranks are in PIM mode."""

    OFF = 0
    SWITCHING = 1
    DRAFT = 2
    TARGET = 3


class RankGate(wiring.Component):
    """Gates the PIM units of ranks, never their memory access, and holds a task until its ranks are on.

    Break before make: a set of ranks goes off only when all its ranks are idle and closed and the request
    that it serves has been taken; a set goes on only when every rank of the other is idle and closed. The
    target model's ranks are asked for from the memory controller while the draft model's still drain, go on
    with the grant, and go off as soon as their task is over, so that host accesses to them can go on.

    A rank is idle while its PIM unit is; it may become busy only from the first beat of a request that was
    taken to the end of that task. It is closed when no row that its PIM unit opened is open; rows of host
    accesses do not count.

    Latency: a request passes at one beat in two cycles, the rate at which the control unit sends, one
    cycle late; a switch costs :data:`SWITCH_CYCLES`. Its first beat is held meanwhile. No output but
    ``clk_req`` and ``overlap`` depends on an input within a cycle.

    Members
    -------
    tasks : In(stream)
        Requests of the control unit.
    requests : Out(stream)
        The same beats, to the PIM.
    running, outstanding : In(1)
        Of the control unit: a sequence runs; a task is outstanding.
    draft_ranks, target_ranks : In(16)
        A bit a rank; stable while a sequence runs.
    overlap : Out(1)
        A rank is in both masks: no rank is enabled.
    rank_enable : Out(16)
    rank_busy, rank_closed : In(16)
    target_request : Out(1), target_grant : In(1)
        Four phases: request up, grant up when no host access to a target rank is open or waits; request
        down when PIM mode has ended there, grant down.
    mode : Out(RankMode)
    clk_req : Out(1)
        Low when no register can change at the next edge. Rises combinationally with any input.
    """

    tasks: stream.Interface
    requests: stream.Interface
    running: Signal
    outstanding: Signal
    draft_ranks: Signal
    target_ranks: Signal
    overlap: Signal
    rank_enable: Signal
    rank_busy: Signal
    rank_closed: Signal
    target_request: Signal
    target_grant: Signal
    mode: Signal
    clk_req: Signal

    def __init__(self, params: UnitParams | None = None) -> None:
        layout = request_layout(params or UnitParams())
        super().__init__(
            {
                "tasks": In(stream.Signature(layout)),
                "requests": Out(stream.Signature(layout)),
                "running": In(1),
                "outstanding": In(1),
                "draft_ranks": In(RANKS),
                "target_ranks": In(RANKS),
                "overlap": Out(1),
                "rank_enable": Out(RANKS),
                "rank_busy": In(RANKS),
                "rank_closed": In(RANKS),
                "target_request": Out(1),
                "target_grant": In(1),
                "mode": Out(RankMode),
                "clk_req": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        kind = Signal(TaskKind)  # whose ranks are on, or go on next
        full = Signal()  # a beat is held
        wanted = self.requests.payload.kind
        target = kind == TaskKind.PREVERIFY
        active = self.rank_busy | ~self.rank_closed
        ours = Mux(target, self.target_ranks, self.draft_ranks)
        other = Mux(target, self.draft_ranks, self.target_ranks)
        switch = Signal()
        release = Signal()
        on = Signal()
        m.d.comb += [
            self.overlap.eq((self.draft_ranks & self.target_ranks).any()),
            switch.eq(full & (wanted != kind)),
            release.eq(~full & (~self.running | (target & ~self.outstanding))),
            self.tasks.ready.eq(~full),
            self.requests.valid.eq(full & on & ~switch),
        ]
        with m.If(self.requests.valid & self.requests.ready):
            m.d.sync += full.eq(0)
        with m.Elif(self.tasks.valid & ~full):
            m.d.sync += [full.eq(1), self.requests.payload.eq(self.tasks.payload)]

        with m.FSM() as fsm:
            with m.State("OFF"), m.If(full & ~self.overlap):
                m.d.sync += kind.eq(wanted)
                m.next = "SWITCHING"

            with m.State("SWITCHING"):
                m.d.comb += self.mode.eq(RankMode.SWITCHING)
                with m.If(target & ~self.target_grant):
                    m.d.sync += self.target_request.eq(1)
                granted = ~target | (self.target_request & self.target_grant)
                with m.If(granted & ~(active & other).any() & ~self.overlap):
                    m.d.sync += self.rank_enable.eq(ours)
                    m.next = "ON"

            with m.State("ON"):
                m.d.comb += [on.eq(1), self.mode.eq(Mux(target, RankMode.TARGET, RankMode.DRAFT))]
                with m.If(switch & ~target & ~self.target_grant):
                    m.d.sync += self.target_request.eq(1)
                with m.If((switch | release) & ~(active & self.rank_enable).any()):
                    m.d.sync += self.rank_enable.eq(0)
                    with m.If(target):
                        m.d.sync += self.target_request.eq(0)
                    m.next = "OFF"

        m.d.comb += self.clk_req.eq(fsm.ongoing("SWITCHING") | self.tasks.valid | full | (on & release))
        return m

"""Which pass runs, beat by beat, and what happens between passes."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.attention.formats import AttentionParams
from ahasd.rtl.attention.signatures import OpCode, command_layout

__all__ = ["Sequencer"]


class Sequencer(wiring.Component):
    """Turns a command into passes. The pipeline is empty whenever the lanes' settings change.

    Members
    -------
    command : In(stream)
        Taken while idle.
    current : Out
        The command under way.
    feed : Out(1)
        Beats of elements may enter.
    entered : In(1)
        One enters.
    last_beat : Out(1)
        The one that enters is the pass's last.
    final_lane : Out
        Its last element's lane.
    reducing, delivering, probing : Out(1)
        What the beats in the pipeline are for: sums, the output, the maximum's probability.
    probe : Out(1)
        The beat with the maximum enters.
    reduced, delivered, probed : In(1)
        The last beat reaches sums, consumer, output stage.
    clear : Out(1)
        Reduction begins: the state becomes empty.
    merge : Out(1)
        Compare with the partial that is there; ``partial_higher`` is of this cycle.
    add, again : Out(1)
        Add the partial, or again what it was exchanged for. The partial is taken.
    partial_valid, partial_higher, settled : In(1)
    start : Out(1)
        Scalars may begin.
    scalars_busy : In(1)
    load : Out(1)
        Settings of a pass.
    last_pass : Out(1)
    result_valid : Out(1)
    result_ready : In(1)
    busy : Out(1)
    """

    command: stream.Interface
    current: data.View
    feed: Signal
    entered: Signal
    last_beat: Signal
    final_lane: Signal
    reducing: Signal
    delivering: Signal
    probing: Signal
    probe: Signal
    reduced: Signal
    delivered: Signal
    probed: Signal
    clear: Signal
    merge: Signal
    add: Signal
    again: Signal
    partial_valid: Signal
    partial_higher: Signal
    settled: Signal
    start: Signal
    scalars_busy: Signal
    load: Signal
    last_pass: Signal
    result_valid: Signal
    result_ready: Signal
    busy: Signal

    def __init__(self, params: AttentionParams) -> None:
        self._params = params
        outs = "feed last_beat reducing delivering probing probe clear merge add again start load last_pass"
        ins = (
            "entered reduced delivered probed partial_valid partial_higher settled scalars_busy result_ready"
        )
        super().__init__(
            {
                "command": In(stream.Signature(command_layout(params))),
                "current": Out(command_layout(params)),
                "final_lane": Out(range(params.lanes)),
                **{name: Out(1) for name in (*outs.split(), "result_valid", "busy")},
                **{name: In(1) for name in ins.split()},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lane_bits = (self._params.lanes - 1).bit_length()
        current, op = self.current, self.current.op
        final = Signal(self._params.length_bits)
        beats = Signal(self._params.length_bits - lane_bits)
        partials = Signal.like(current.partials)
        higher = Signal()
        reduces = Signal()
        applies = Signal()
        scalar = Signal()
        m.d.comb += [
            final.eq(current.length - 1),
            self.final_lane.eq(final[:lane_bits]),
            self.last_beat.eq(beats == final[lane_bits:]),
            reduces.eq((op != OpCode.GELU) & (op != OpCode.SILU) & (op != OpCode.SCALED_ADD)),
            applies.eq(current.apply & (op != OpCode.LOGITS) & (op != OpCode.REDUCE)),
            scalar.eq(reduces & (applies | (op == OpCode.LOGITS))),
            self.busy.eq(1),
        ]
        with m.If(self.entered):
            m.d.sync += beats.eq(Mux(self.last_beat, 0, beats + 1))

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.busy.eq(0), self.command.ready.eq(1)]
                m.d.sync += [current.eq(self.command.payload), partials.eq(self.command.payload.partials)]
                with m.If(self.command.valid):
                    m.next = "BEGIN"

            with m.State("BEGIN"):
                m.d.comb += [self.load.eq(1), self.clear.eq(reduces & (current.reduce | partials.any()))]
                with m.If(reduces & current.reduce):
                    m.next = "REDUCE"
                with m.Elif(reduces & partials.any()):
                    m.next = "MERGE"
                with m.Elif(scalar):
                    m.next = "START"
                with m.Elif(applies):
                    m.next = "DELIVER"
                with m.Else():
                    m.next = "RESULT"

            with m.State("REDUCE"):
                m.d.comb += [self.feed.eq(1), self.reducing.eq(1)]
                with m.If(self.entered & self.last_beat):
                    m.next = "GATHER"

            with m.State("GATHER"):
                m.d.comb += self.reducing.eq(1)
                with m.If(self.reduced):
                    m.next = "START"
                    with m.If(partials.any()):
                        m.next = "MERGE"

            with m.State("MERGE"), m.If(self.partial_valid & self.settled):
                m.d.comb += self.merge.eq(1)
                m.d.sync += [higher.eq(self.partial_higher), partials.eq(partials - 1)]
                m.next = "MERGED"

            with m.State("MERGED"):
                m.d.comb += [self.add.eq(higher), self.again.eq(~higher)]
                m.next = "START"
                with m.If(partials.any()):
                    m.next = "MERGE"

            with m.State("START"):
                m.d.comb += self.start.eq(scalar)
                with m.If(scalar):
                    m.next = "SCALARS"
                with m.Elif(self.settled):
                    m.next = "RESULT"

            with m.State("SCALARS"):
                m.d.comb += [self.load.eq(1), self.last_pass.eq(1)]
                with m.If(~self.scalars_busy):
                    m.next = "PROBE"
                    with m.If(applies):
                        m.next = "DELIVER"

            with m.State("DELIVER"):
                m.d.comb += [self.feed.eq(1), self.delivering.eq(1)]
                with m.If(self.entered & self.last_beat):
                    m.next = "DRAIN"

            with m.State("DRAIN"):
                m.d.comb += self.delivering.eq(1)
                with m.If(self.delivered):
                    m.next = "IDLE"

            with m.State("PROBE"):
                m.d.comb += [self.probe.eq(1), self.probing.eq(1)]
                m.next = "PROBED"

            with m.State("PROBED"):
                m.d.comb += self.probing.eq(1)
                with m.If(self.probed):
                    m.next = "RESULT"

            with m.State("RESULT"):
                m.d.comb += self.result_valid.eq(1)
                with m.If(self.result_ready):
                    m.next = "IDLE"
        return m

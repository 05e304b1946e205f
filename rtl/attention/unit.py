"""Attention unit: lanes, sums, scalars and sequencer put together."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from amaranth.hdl import Const, EnableInserter, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring

from ahasd.models.attention.formats import TERM_BITS, AttentionParams
from ahasd.rtl.attention.lane import GATE_STAGE, OPERAND_STAGE, OUTPUT_STAGE, TERM_STAGE, Lane
from ahasd.rtl.attention.maximum import RunningMaximum
from ahasd.rtl.attention.scalars import Scalars
from ahasd.rtl.attention.sequencer import Sequencer
from ahasd.rtl.attention.settings import PassSettings
from ahasd.rtl.attention.signatures import AttentionSignature, OpCode, partial_layout
from ahasd.rtl.attention.sums import RunningSums
from ahasd.rtl.attention.tree import TREE_STAGES, LaneSum

__all__ = ["SUM_STAGE", "AttentionUnit"]

SUM_STAGE = TERM_STAGE + TREE_STAGES
"""Registers that hold a beat's sums, before they are added to the state."""


class AttentionUnit(wiring.Component):
    """Softmax, norms, gates and reductions on streams of INT16; see docs/attention.md.

    A pass takes a beat a cycle. All stages move together, while neither a beat of output waits to be taken
    nor one of the operand is missing.

    Members
    -------
    As :class:`~ahasd.rtl.attention.signatures.AttentionSignature`.
    """

    command: stream.Interface
    x: stream.Interface
    operand: stream.Interface
    partial: stream.Interface
    output: stream.Interface
    result: stream.Interface
    busy: Signal

    def __init__(self, params: AttentionParams | None = None) -> None:
        self.params = params or AttentionParams()
        super().__init__(AttentionSignature(self.params))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self.params.lanes
        m.submodules.sequencer = sequencer = Sequencer(self.params)
        m.submodules.settings = settings = PassSettings(self.params)
        m.submodules.maximum = maximum = RunningMaximum(self.params)
        m.submodules.sums = sums = RunningSums()
        m.submodules.scalars = scalars = Scalars(self.params)
        term_sum, product_sum = LaneSum(lanes, TERM_BITS + 1), LaneSum(lanes, TERM_BITS + 1)
        m.submodules.term_sum = term_sum
        m.submodules.product_sum = product_sum

        # Flow of beats: ``valid[k]`` is of the registers of stage k, ``valid[0]`` of the input.
        advance = Signal()
        valid = [Signal(name=f"valid_{k}") for k in range(SUM_STAGE + 1)]
        last = [Signal(name=f"last_{k}") for k in range(SUM_STAGE + 1)]
        wants = Signal()
        free = Signal()
        takes_operand = settings.settings.windowed
        m.d.comb += [
            wants.eq(valid[OPERAND_STAGE - 1] & takes_operand),
            free.eq(~self.output.valid | self.output.ready),
            advance.eq(free & (~wants | self.operand.valid)),
            self.operand.ready.eq(wants & free),
            self.x.ready.eq(sequencer.feed & advance),
            sequencer.entered.eq(self.x.valid & self.x.ready),
            valid[0].eq(sequencer.entered | sequencer.probe),
            last[0].eq(sequencer.last_beat),
        ]
        with m.If(advance):
            for stages in (valid, last):
                m.d.sync += [later.eq(earlier) for earlier, later in pairwise(stages)]
        with m.Elif(self.output.ready):
            m.d.sync += valid[OUTPUT_STAGE].eq(0)  # taken while the operand is waited for
        past_end: list[Value] = [Const(0), *(sequencer.final_lane < k for k in range(1, lanes))]

        for k in range(lanes):
            lane = Lane()
            m.submodules[f"lane_{k}"] = EnableInserter(advance)(lane)
            m.d.comb += [
                lane.settings.eq(settings.settings),
                lane.x.eq(Mux(sequencer.probing, maximum.maximum, self.x.payload[k])),
                lane.past_end.eq(last[0] & past_end[k] & ~sequencer.probing),
                lane.reference.eq(maximum.reference_for_beat),
                lane.dead.eq(last[GATE_STAGE - 1] & past_end[k] & ~sequencer.probing),
                lane.scale.eq(self.operand.payload.scale[k]),
                lane.offset.eq(self.operand.payload.offset[k]),
                maximum.elements[k].eq(lane.element),
                maximum.exponents[k].eq(lane.exponent),
                term_sum.terms[k].eq(lane.term),
                product_sum.terms[k].eq(lane.product),
                self.output.payload.elements[k].eq(lane.output),
            ]
            if k == 0:
                largest_output = lane.output

        # Reduction.
        state: Any = Signal(partial_layout(self.params))
        count = Signal.like(state.count)
        step = maximum.step
        for k in range(GATE_STAGE + 1, SUM_STAGE + 1):
            step_next = Signal.like(maximum.step, name=f"step{k}", reset_less=True)
            m.d.sync += step_next.eq(step)
            step = step_next
        # A cycle late, which no beat is early enough to see: sums need not wait for the state machine.
        reducing = Signal()
        m.d.sync += reducing.eq(sequencer.reducing)
        adds = valid[SUM_STAGE] & reducing
        partial = self.partial.payload
        m.d.comb += [
            maximum.advance.eq(advance),
            maximum.soft.eq(settings.settings.soft),
            maximum.update_reference.eq(valid[GATE_STAGE - 2] & sequencer.reducing),
            maximum.update.eq(valid[GATE_STAGE - 1] & sequencer.reducing),
            maximum.clear.eq(sequencer.clear),
            maximum.first.eq(sequencer.current.first),
            maximum.merge.eq(sequencer.merge),
            maximum.partial.eq(partial),
            sums.clear.eq(sequencer.clear),
            sums.add.eq(adds | sequencer.add),
            sums.a.eq(Mux(reducing, term_sum.total, partial.first)),
            sums.b.eq(Mux(reducing, product_sum.total, partial.second)),
            sums.step.eq(Mux(reducing, step, maximum.step)),
            sums.exchange.eq(sequencer.merge & ~maximum.partial_higher),
            sums.again.eq(sequencer.again),
            self.partial.ready.eq(sequencer.add | sequencer.again),
            sequencer.partial_valid.eq(self.partial.valid),
            sequencer.partial_higher.eq(maximum.partial_higher),
            sequencer.settled.eq(sums.settled),
            sequencer.reduced.eq(adds & last[SUM_STAGE]),
            state.maximum.eq(maximum.maximum),
            state.index.eq(maximum.index),
            state.count.eq(count),
            state.reference.eq(maximum.reference),
            state.first.eq(sums.first),
            state.second.eq(sums.second),
        ]
        with m.If(sequencer.clear):
            m.d.sync += count.eq(Mux(sequencer.current.reduce, sequencer.current.length, 0))
        with m.Elif(self.partial.ready):
            m.d.sync += count.eq(count + partial.count)

        # Between the passes.
        m.d.comb += [
            scalars.start.eq(sequencer.start),
            scalars.op.eq(sequencer.current.op),
            scalars.parameter.eq(sequencer.current.parameter),
            scalars.state.eq(state),
            scalars.settled.eq(sums.settled),
            sequencer.scalars_busy.eq(scalars.busy),
            settings.load.eq(sequencer.load),
            settings.command.eq(sequencer.current),
            settings.last_pass.eq(sequencer.last_pass),
        ]
        for name in ("top", "reciprocal", "factor", "offset", "shift", "pivot"):
            m.d.comb += getattr(settings, name).eq(getattr(scalars, name))

        # Results.
        probability = Signal(16, reset_less=True)
        logits = sequencer.current.op == OpCode.LOGITS
        with m.If(sequencer.probed):
            m.d.sync += probability.eq(largest_output)
        wiring.connect(m, wiring.flipped(self.command), sequencer.command)
        m.d.comb += [
            self.output.valid.eq(valid[OUTPUT_STAGE] & sequencer.delivering),
            self.output.payload.last.eq(last[OUTPUT_STAGE]),
            sequencer.delivered.eq(self.output.valid & self.output.ready & last[OUTPUT_STAGE]),
            sequencer.probed.eq(valid[OUTPUT_STAGE] & sequencer.probing),
            self.result.valid.eq(sequencer.result_valid),
            sequencer.result_ready.eq(self.result.ready),
            self.result.payload.state.eq(state),
            self.result.payload.entropy.eq(Mux(logits, scalars.entropy, 0)),
            self.result.payload.probability.eq(Mux(logits, probability, 0)),
            self.busy.eq(sequencer.busy),
        ]
        return m

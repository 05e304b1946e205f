"""Pattern history table: 2-bit saturating counters, initialised by itself."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.control.params import UnitParams

__all__ = ["ROW_COUNTERS", "PatternHistoryTable"]

ROW_COUNTERS = 8
"""Counters a memory row: one read register and a short second multiplexer instead of one long one."""


class PatternHistoryTable(wiring.Component):
    """512 x 2 bits, read and trained through one pipeline.

    An operation is given by ``look`` or ``train`` with ``index``; at most one every two cycles. Latency: with
    the operation in cycle c, ``go_on`` is valid in cycle c + 2, and a trained counter is written at the end
    of cycle c + 2, so that the next operation sees it. ``clear`` sets all counters to 2 (weakly go on), a row
    a cycle: ``busy`` for 64 cycles; no operation meanwhile. Contents are undefined before the first
    ``clear``.

    Members
    -------
    look, train : In(1)
    up : In(1)
        With ``train``: count up, else down.
    index : In(9)
    answered : Out(1)
        A ``look`` of two cycles ago: ``go_on`` is valid.
    go_on : Out(1)
    at : Out(9)
        The index of the latest operation.
    clear : In(1)
    busy : Out(1)
    """

    look: Signal
    train: Signal
    up: Signal
    index: Signal
    answered: Signal
    go_on: Signal
    at: Signal
    clear: Signal
    busy: Signal

    def __init__(self, params: UnitParams) -> None:
        self._params = params
        super().__init__(
            {
                "look": In(1),
                "train": In(1),
                "up": In(1),
                "index": In(params.index_bits),
                "answered": Out(1),
                "go_on": Out(1),
                "at": Out(params.index_bits),
                "clear": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = self._params.pht_entries // ROW_COUNTERS
        column_bits = ROW_COUNTERS.bit_length() - 1
        table: memory.Memory = memory.Memory(shape=2 * ROW_COUNTERS, depth=rows, init=[])
        m.submodules.table = table
        read = table.read_port()
        write = table.write_port()

        # Stage 1 registers the index, stage 2 the row; the counter is picked from the row register.
        looking = Signal(2)
        training = Signal(2)
        upward = Signal()
        m.d.sync += [
            looking.eq(looking << 1 | self.look),
            training.eq(training << 1 | self.train),
        ]
        with m.If(self.look | self.train):
            m.d.sync += [self.at.eq(self.index), upward.eq(self.up)]
        column = self.at[:column_bits]
        counter = Signal(2)
        trained = Signal(2)
        m.d.comb += [
            read.addr.eq(self.at[column_bits:]),
            read.en.eq(looking[0] | training[0]),
            counter.eq(read.data.word_select(column, 2)),
            trained.eq(Mux(upward, Mux(counter == 3, 3, counter + 1), Mux(counter == 0, 0, counter - 1))),
            self.answered.eq(looking[1]),
            self.go_on.eq(counter[1]),
        ]

        # A whole row is written, one counter of it changed: an enable a row, not one a counter.
        trained_row = Signal(2 * ROW_COUNTERS)
        m.d.comb += trained_row.eq(read.data)
        with m.Switch(column):
            for k in range(ROW_COUNTERS):
                with m.Case(k):
                    m.d.comb += trained_row.word_select(k, 2).eq(trained)

        row = Signal(range(rows))
        with m.If(self.clear):
            m.d.sync += [self.busy.eq(1), row.eq(0)]
        with m.Elif(self.busy):
            m.d.sync += row.eq(row + 1)
            with m.If(row == rows - 1):
                m.d.sync += self.busy.eq(0)
        with m.If(self.busy):
            m.d.comb += [
                write.addr.eq(row),
                write.data.eq(sum(2 << 2 * k for k in range(ROW_COUNTERS))),
                write.en.eq(1),
            ]
        with m.Else():
            m.d.comb += [
                write.addr.eq(self.at[column_bits:]),
                write.data.eq(trained_row),
                write.en.eq(training[1]),
            ]
        return m

"""Cycle tables and pre-verify timer (TVC): how long things took, and whether there is time."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import enum, memory, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.control.params import UnitParams
from ahasd.rtl.arithmetic import SerialArithmetic

__all__ = ["PreverifyTimer", "Table"]

FRACTION_BITS = 8
"""Fraction bits of a ratio (UQ24.8)."""


class Table(enum.Enum, shape=2):
    """Which cycle table."""

    NVCT = 0
    PDCT = 1
    PVCT = 2


class PreverifyTimer(wiring.Component):
    """NVCT, PDCT and PVCT (four ratios each), and the decision how many tokens there is time to pre-verify.

    One request at a time, while ``busy`` is low. Latencies: ``load`` 12 cycles; ``record`` 34 cycles of
    ``busy`` after the strobe; ``ask`` in cycle s gives ``answered`` in cycle s + 49 and ``tokens`` from then
    on. Divider and multiplier are one serial unit; sums, differences and the fit share one adder.

    Members
    -------
    load, npu_preset, draft_preset, preverify_preset : In
        Set all entries of each table.
    record, table, since, length : In
        Replace the oldest entry of ``table`` with floor((now - since) * 256 / length).
    ask, since, length, most : In
        ``length`` is the running verification's KV length, ``since`` its start. Find the largest
        n <= ``most`` with NVCT(length) - (now - since) - PDCT(1) >= n * PVCT(1), 0 if there is none.
    now : In(32)
        Timebase reading, stable from the strobe on.
    busy : Out(1)
    answered : Out(1)
    tokens : Out(4)
    """

    load: Signal
    npu_preset: Signal
    draft_preset: Signal
    preverify_preset: Signal
    record: Signal
    table: Signal
    since: Signal
    length: Signal
    ask: Signal
    most: Signal
    now: Signal
    busy: Signal
    answered: Signal
    tokens: Signal

    def __init__(self, params: UnitParams) -> None:
        self._params = p = params
        super().__init__(
            {
                "load": In(1),
                "npu_preset": In(p.ratio_bits),
                "draft_preset": In(p.ratio_bits),
                "preverify_preset": In(p.ratio_bits),
                "record": In(1),
                "table": In(Table),
                "since": In(p.time_bits),
                "length": In(p.context_position_bits),
                "ask": In(1),
                "most": In(range(p.preverify_max + 1)),
                "now": In(p.time_bits),
                "busy": Out(1),
                "answered": Out(1),
                "tokens": Out(range(p.preverify_max + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = self._params
        entries = p.cycle_entries
        entry_bits = (entries - 1).bit_length()
        m.submodules.arithmetic = arithmetic = SerialArithmetic(p)
        tables: memory.Memory = memory.Memory(shape=p.ratio_bits, depth=len(Table) * entries, init=[])
        m.submodules.tables = tables
        read = tables.read_port()
        write = tables.write_port()
        oldest = [Signal(entry_bits, name=f"oldest_{table.name.lower()}") for table in Table]

        # Registered between subtraction and saturation: together they are too long a path for one cycle.
        elapsed = Signal(p.time_bits)
        ticks = Signal(p.duration_bits)
        m.d.comb += ticks.eq(Mux(elapsed[p.duration_bits :].any(), p.duration_max, elapsed))
        length = Signal(p.context_position_bits)
        which = Signal(Table)
        most = Signal.like(self.most)

        # One adder: sums of a table's entries, then the time left, then the fit.
        total = Signal(signed(p.ratio_bits + entry_bits + 1))
        operand = Signal(signed(p.ratio_bits + 1))
        subtract = Signal()
        result = Signal.like(total)
        m.d.comb += result.eq(total + Mux(subtract, ~operand, operand) + subtract)
        mean = total[entry_bits : entry_bits + p.ratio_bits]
        one = mean[FRACTION_BITS:]  # the mean times a length of one; never saturates
        draft_time = Signal(p.duration_bits)
        preverify_time = Signal(p.duration_bits)
        product = arithmetic.product[FRACTION_BITS:]
        npu_time = Mux(product[p.duration_bits :].any(), p.duration_max, product[: p.duration_bits])

        step = Signal(range(64))
        count = Signal(range(3 * entries))
        m.d.comb += [
            arithmetic.a.eq(Cat(Const(0, FRACTION_BITS), ticks)),
            arithmetic.b.eq(length),
            self.busy.eq(1),
            read.en.eq(0),
        ]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [
                    self.busy.eq(0),
                    read.addr.eq(Table.NVCT.value << entry_bits),
                    read.en.eq(self.ask),  # not behind ``record``, which comes late
                ]
                with m.If(self.load):
                    m.d.sync += [count.eq(0), *(pointer.eq(0) for pointer in oldest)]
                    m.next = "LOAD"
                with m.Elif(self.record):
                    m.d.sync += [
                        elapsed.eq(self.now - self.since),
                        length.eq(self.length),
                        which.eq(self.table),
                    ]
                    m.next = "DIVIDE"
                with m.Elif(self.ask):
                    m.d.sync += [
                        elapsed.eq(self.now - self.since),
                        length.eq(self.length),
                        most.eq(self.most),
                        total.eq(0),
                        self.tokens.eq(0),
                        step.eq(1),
                    ]
                    m.next = "PREDICT"

            with m.State("LOAD"):
                presets = (self.npu_preset, self.draft_preset, self.preverify_preset)
                m.d.comb += [write.addr.eq(count), write.en.eq(1)]
                with m.Switch(count[entry_bits:]):
                    for number, preset in enumerate(presets):
                        with m.Case(number):
                            m.d.comb += write.data.eq(preset)
                m.d.sync += count.eq(count + 1)
                with m.If(count == 3 * entries - 1):
                    m.next = "IDLE"

            with m.State("DIVIDE"):
                m.d.comb += arithmetic.start.eq(1)
                m.next = "RECORD"

            with m.State("RECORD"), m.If(~arithmetic.busy):
                m.d.comb += [write.data.eq(arithmetic.quotient), write.en.eq(1)]
                with m.Switch(which):
                    for table, pointer in zip(Table, oldest, strict=True):
                        with m.Case(table):
                            m.d.comb += write.addr.eq(Cat(pointer, Const(table.value, 2)))
                            m.d.sync += pointer.eq(pointer + 1)
                m.next = "IDLE"

            with m.State("PREDICT"):
                m.d.sync += step.eq(step + 1)
                multiply_at = entries + 1
                # Cycle of the first read of each table; the later two are summed during the multiplication.
                starts = {Table.NVCT: 0, Table.PDCT: multiply_at + 1, Table.PVCT: multiply_at + entries + 3}
                left_at = multiply_at + p.ratio_bits + 1
                fit_at = left_at + 3
                with m.Switch(step):
                    for table, first in starts.items():
                        for k in range(entries):
                            if first + k > 0:
                                with m.Case(first + k):
                                    m.d.comb += [
                                        read.addr.eq(table.value << entry_bits | k),
                                        read.en.eq(1),
                                    ]
                with m.Switch(step):
                    for table, first in starts.items():
                        for k in range(entries):
                            with m.Case(first + k + 1):
                                m.d.comb += operand.eq(read.data)
                                m.d.sync += total.eq(result)
                        with m.Case(first + entries + 1):
                            m.d.sync += total.eq(0)
                            if table is Table.NVCT:
                                m.d.comb += [
                                    arithmetic.start.eq(1),
                                    arithmetic.multiply.eq(1),
                                    arithmetic.a.eq(length),
                                    arithmetic.b.eq(mean),
                                ]
                            elif table is Table.PDCT:
                                m.d.sync += draft_time.eq(one)
                            else:
                                m.d.sync += preverify_time.eq(one)
                    with m.Case(left_at):
                        m.d.sync += total.eq(npu_time)
                    with m.Case(left_at + 1):
                        m.d.comb += [operand.eq(ticks), subtract.eq(1)]
                        m.d.sync += total.eq(result)
                    with m.Case(left_at + 2):
                        m.d.comb += [operand.eq(draft_time), subtract.eq(1)]
                        m.d.sync += total.eq(result)
                    with m.Case(*range(fit_at, fit_at + p.preverify_max)):
                        m.d.comb += [operand.eq(preverify_time), subtract.eq(1)]
                        m.d.sync += total.eq(result)
                        with m.If((result >= 0) & (self.tokens < most)):
                            m.d.sync += self.tokens.eq(self.tokens + 1)
                    with m.Case(fit_at + p.preverify_max):
                        m.d.comb += self.answered.eq(1)
                        m.next = "IDLE"
        return m

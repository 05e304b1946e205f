"""The closed batches, oldest first."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.control.params import UnitParams

__all__ = ["BatchList"]


class BatchList(wiring.Component):
    """At most seven batches in a ring of eight slots; one is read a cycle, by its age.

    Latency: with ``read`` and ``offset`` in cycle c, the entry is valid from cycle c + 1 until the next
    ``read``; it shows writes of cycles before c. One of ``push``, ``pop``, ``trim``, ``clear`` a cycle.

    Members
    -------
    read, offset : In
        Look at the ``offset``-th oldest batch.
    end, bucket, index, settled : Out
        The entry: position after its last token, entropy bucket, predictor index, already rejected.
    push, new_end, new_bucket, new_index : In
        Append a batch. Not when ``count`` is 7.
    pop : In(1)
        The oldest leaves.
    trim, new_end, offset : In
        The ``offset``-th oldest becomes the newest, ends at ``new_end``, and is settled.
    clear : In(1)
    count : Out(3)
        LLR.
    """

    read: Signal
    offset: Signal
    end: Signal
    bucket: Signal
    index: Signal
    settled: Signal
    push: Signal
    new_end: Signal
    new_bucket: Signal
    new_index: Signal
    pop: Signal
    trim: Signal
    clear: Signal
    count: Signal

    def __init__(self, params: UnitParams) -> None:
        self._params = params
        super().__init__(
            {
                "read": In(1),
                "offset": In(params.llr_bits),
                "end": Out(params.position_bits),
                "bucket": Out(params.bucket_bits),
                "index": Out(params.index_bits),
                "settled": Out(1),
                "push": In(1),
                "new_end": In(params.position_bits),
                "new_bucket": In(params.bucket_bits),
                "new_index": In(params.index_bits),
                "pop": In(1),
                "trim": In(1),
                "clear": In(1),
                "count": Out(params.llr_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = self._params
        slots = p.batches + 1
        span = data.StructLayout({"end": p.position_bits, "settled": 1})
        tag = data.StructLayout({"bucket": p.bucket_bits, "index": p.index_bits})
        # Two memories, since a trim rewrites where a batch ends but not what it was predicted with.
        spans: memory.Memory = memory.Memory(shape=span, depth=slots, init=[])
        m.submodules.spans = spans
        tags: memory.Memory = memory.Memory(shape=tag, depth=slots, init=[])
        m.submodules.tags = tags
        span_read, span_write = spans.read_port(), spans.write_port()
        tag_read, tag_write = tags.read_port(), tags.write_port()

        oldest = Signal(range(slots))
        slot = Signal(range(slots))
        m.d.comb += [
            slot.eq(oldest + Mux(self.push, self.count, self.offset)),
            span_read.addr.eq(slot),
            span_read.en.eq(self.read),
            tag_read.addr.eq(slot),
            tag_read.en.eq(self.read),
            span_write.addr.eq(slot),
            span_write.en.eq(self.push | self.trim),
            span_write.data.end.eq(self.new_end),
            span_write.data.settled.eq(self.trim),
            tag_write.addr.eq(slot),
            tag_write.en.eq(self.push),
            tag_write.data.bucket.eq(self.new_bucket),
            tag_write.data.index.eq(self.new_index),
            self.end.eq(span_read.data.end),
            self.settled.eq(span_read.data.settled),
            self.bucket.eq(tag_read.data.bucket),
            self.index.eq(tag_read.data.index),
        ]
        with m.If(self.clear):
            m.d.sync += self.count.eq(0)
        with m.Elif(self.push):
            m.d.sync += self.count.eq(self.count + 1)
        with m.Elif(self.pop):
            m.d.sync += [self.count.eq(self.count - 1), oldest.eq(oldest + 1)]
        with m.Elif(self.trim):
            m.d.sync += self.count.eq(self.offset + 1)
        return m

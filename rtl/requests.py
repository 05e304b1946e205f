"""Sends one kind of request: a header, then tokens read from the draft queue."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.control.params import UnitParams
from ahasd.rtl.signatures import TaskKind, header_layout, request_layout

__all__ = ["RequestSender"]


class RequestSender(wiring.Component):
    """A request's beats, in the background of event processing.

    Latency: with ``start`` in cycle c, the header is offered in cycle c + 1 and, while the consumer is ready
    and reads are granted, the k-th token in cycle c + 1 + 2 k: the read port is free every other cycle for
    the other sender. A beat once offered is held until taken. The tokens of a request that is aborted before
    it has been taken are whatever the ring then holds at their places.

    Members
    -------
    start, kind, position, address, count : In
        Send ``count`` >= 1 tokens from ring ``address`` on. Only while ``busy`` is low.
    wants : Out(1)
        Would read the ring at ``next`` in this cycle.
    next : Out(7)
    granted : In(1)
        It may; ``data`` is then valid in the cycle after.
    data : In(18)
    busy : Out(1)
        The request has not left yet.
    stalled : Out(1)
        Offers a beat that is not taken in this cycle.
    o : Out(stream)
    """

    start: Signal
    kind: Signal
    position: Signal
    address: Signal
    count: Signal
    wants: Signal
    next: Signal
    granted: Signal
    data: Signal
    busy: Signal
    stalled: Signal
    o: stream.Interface

    def __init__(self, params: UnitParams) -> None:
        self._params = p = params
        super().__init__(
            {
                "start": In(1),
                "kind": In(TaskKind),
                "position": In(p.context_position_bits),
                "address": In(range(p.queue_depth)),
                "count": In(p.verify_max.bit_length()),
                "wants": Out(1),
                "next": Out(range(p.queue_depth)),
                "granted": In(1),
                "data": In(p.token_bits),
                "busy": Out(1),
                "stalled": Out(1),
                "o": Out(stream.Signature(request_layout(p))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal.like(self.count)
        loading = Signal()
        header: data.View = Signal(header_layout(self._params))  # type: ignore[assignment]  # stubs: a plain Signal
        m.d.comb += [
            header.position.eq(self.position),
            header.tokens.eq(self.count),
            self.wants.eq(left.any() & ~loading & (~self.o.valid | self.o.ready)),
            self.busy.eq(left.any() | self.o.valid),
            self.stalled.eq(self.o.valid & ~self.o.ready),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.start):
            m.d.sync += [
                self.o.valid.eq(1),
                self.o.payload.header.eq(1),
                self.o.payload.last.eq(0),
                self.o.payload.kind.eq(self.kind),
                self.o.payload.data.eq(header.as_value()),
                left.eq(self.count),
                self.next.eq(self.address),
            ]
        with m.Elif(loading):
            m.d.sync += [
                loading.eq(0),
                self.o.valid.eq(1),
                self.o.payload.header.eq(0),
                self.o.payload.last.eq(left == 1),
                self.o.payload.data.eq(self.data),
                left.eq(left - 1),
                self.next.eq(self.next + 1),
            ]
        with m.Elif(self.wants & self.granted):
            m.d.sync += loading.eq(1)
        return m

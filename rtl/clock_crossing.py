"""Crossings between two clock domains either of which may be reset at any time.

A reset clears its own half of a queue at once, and the other half when it has been seen there. Until then
the other half is sent a pointer that has jumped, in more bits than one: therefore pointers go through
:data:`POINTER_STAGES` registers and the flush through :data:`FLUSH_STAGES`, which are fewer, and the flush
clears what is still under way. Requires that the skew between the wires of a crossing is less than a period
of the clock that they go to.
"""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value, ValueLike
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["FLUSH_STAGES", "POINTER_STAGES", "AsyncQueue", "LinkEnd"]

FLUSH_STAGES = 2
POINTER_STAGES = 4
"""The edge that catches a pointer first may be one before the edge that catches the flush, which acts at
the edge after its last stage."""


def _synchronize(
    m: Module, source: Signal, domain: str, stages: int, name: str, clear: ValueLike = 0
) -> Signal:
    """``source`` through registers of ``domain``, which its reset and ``clear`` clear."""
    chain = [Signal(len(source), name=f"{name}_{stage}") for stage in range(stages)]
    with m.If(clear):
        m.d[domain] += [register.eq(0) for register in chain]
    with m.Else():
        m.d[domain] += [
            register.eq(before) for register, before in zip(chain, [source, *chain], strict=False)
        ]
    return chain[-1]


class LinkEnd(wiring.Component):
    """One end of a link, in ``domain``: agrees with the other end that both halves of every queue are empty.

    Four phases, from each end: after a reset, ``flush`` is up and this half is empty; the peer empties its
    half and acknowledges; ``flush`` goes down, then the acknowledgement. Both halves are empty together for
    a while, and after that it does not matter which of them goes on first. Any length of reset and any
    ratio of clocks will do; while the peer has no clock, or stays in reset, this half stays empty.

    Members
    -------
    flush, acknowledge : Out(1)
        Registers, to the peer.
    peer_flush, peer_acknowledge : In(1)
        The peer's, from its clock domain.
    clear : Out(1)
        Keep this half empty; the link is down.
    lost : Out(1)
        High for a cycle: the peer was reset while the link was up.
    """

    flush: Signal
    acknowledge: Signal
    peer_flush: Signal
    peer_acknowledge: Signal
    clear: Signal
    lost: Signal

    def __init__(self, domain: str) -> None:
        self._domain = domain
        super().__init__(
            {
                "flush": Out(1, init=1),  # type: ignore[call-arg]  # not in the stubs
                "acknowledge": Out(1),
                "peer_flush": In(1),
                "peer_acknowledge": In(1),
                "clear": Out(1),
                "lost": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        flush = _synchronize(m, self.peer_flush, self._domain, FLUSH_STAGES, "flush")
        acknowledge = _synchronize(m, self.peer_acknowledge, self._domain, FLUSH_STAGES, "acknowledge")
        was_up = Signal()
        m.d[self._domain] += [self.acknowledge.eq(flush), was_up.eq(~self.clear)]
        with m.If(acknowledge):
            m.d[self._domain] += self.flush.eq(0)
        m.d.comb += [
            self.clear.eq(self.flush | self.acknowledge | flush),
            self.lost.eq(self.clear & was_up),
        ]
        return m


class AsyncQueue(wiring.Component):
    """A queue between two clock domains, with Gray-coded pointers.

    Latency: a payload taken at an edge of ``write_domain`` is offered at most POINTER_STAGES + 2 cycles of
    ``read_domain`` later. Throughput: one a cycle, ``depth`` in a round trip of the pointers. No
    combinational path leads from one stream to the other.

    Parameters
    ----------
    shape : layout of the payload
    depth : int
        A power of two, at least 2.
    write_domain, read_domain : str
    withdraw : bool
        ``o_clear`` withdraws an offered payload; else that is held until it is taken, as streams demand.

    Members
    -------
    i : In(stream)
        Of the write domain; not ready while ``i_clear``.
    o : Out(stream)
        Of the read domain.
    i_clear, o_clear : In(1)
        Keep this half empty. Both must be high together for a while after either has been; see LinkEnd.
    """

    i: stream.Interface
    o: stream.Interface
    i_clear: Signal
    o_clear: Signal

    def __init__(
        self, shape: object, depth: int, *, write_domain: str, read_domain: str, withdraw: bool
    ) -> None:
        if depth < 2 or depth & (depth - 1):
            raise ValueError(f"depth: {depth} must be a power of two of at least 2")
        self._depth, self._withdraw = depth, withdraw
        self._write_domain, self._read_domain = write_domain, read_domain
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "i_clear": In(1),
                "o_clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = (self._depth - 1).bit_length() + 1
        into, out_of = self._write_domain, self._read_domain
        entry = Value.cast(self.i.payload)
        storage: memory.Memory = memory.Memory(shape=len(entry), depth=self._depth, init=[])
        m.submodules.storage = storage
        write = storage.write_port(domain=into)
        read = storage.read_port(domain="comb")
        written = Signal(bits)
        written_gray = Signal(bits)
        taken = Signal(bits)
        taken_gray = Signal(bits)
        taken_there = _synchronize(m, taken_gray, into, POINTER_STAGES, "taken", self.i_clear)
        written_there = _synchronize(m, written_gray, out_of, POINTER_STAGES, "written", self.o_clear)

        # Gray codes of pointers that are a whole turn apart differ in their two highest bits.
        full = written_gray == (taken_there ^ (0b11 << (bits - 2)))
        m.d.comb += [
            self.i.ready.eq(~full & ~self.i_clear),
            write.en.eq(self.i.valid & self.i.ready),
            write.addr.eq(written),
            write.data.eq(entry),
        ]
        self._count(m, into, written, written_gray, write.en, self.i_clear)

        take = Signal()
        m.d.comb += [
            read.addr.eq(taken),
            take.eq((taken_gray != written_there) & ~self.o_clear & (~self.o.valid | self.o.ready)),
        ]
        self._count(m, out_of, taken, taken_gray, take, self.o_clear)
        with m.If(take):
            m.d[out_of] += [self.o.valid.eq(1), Value.cast(self.o.payload).eq(read.data)]
        with m.Elif(self.o.ready | (self.o_clear if self._withdraw else 0)):
            m.d[out_of] += self.o.valid.eq(0)
        return m

    @staticmethod
    def _count(
        m: Module, domain: str, pointer: Signal, gray: Signal, step: ValueLike, clear: ValueLike
    ) -> None:
        following = Signal.like(pointer)
        m.d.comb += following.eq(pointer + step)
        with m.If(clear):
            m.d.comb += following.eq(0)
        m.d[domain] += [pointer.eq(following), gray.eq(following ^ (following >> 1))]

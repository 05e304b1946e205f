"""The draft queue: a ring of tokens and its pointers."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.control.params import UnitParams

__all__ = ["DraftQueue"]


class DraftQueue(wiring.Component):
    """Ring of 128 tokens with ``head`` <= ``checked`` <= ``tail`` (positions, 16 bits; the ring keeps their
    lower bits). One read port and one write port on the token memory.

    Latency: with ``read`` in cycle c, ``data`` is valid from cycle c + 1 until the next ``read``. Operations
    take effect at the end of their cycle. One of ``start``, ``append``, ``flush``, ``fix`` a cycle.

    Members
    -------
    write, in_place, position, token : In
        Write ``token`` at ``position``, else at ``tail``. Goes with ``start``, ``append``, ``flush`` and
        ``fix`` but apart from them: these come late in a cycle, and a write has far to go to every token.
    start : In(1)
        Empty the queue; ``token`` (the last prompt token) goes to ``position`` = -1, in place.
    append : In(1)
        ``token`` is appended at ``tail``, not in place.
    commit : In(1)
        The token at ``head`` is committed.
    flush, fix : In(1)
        ``token`` replaces what is at ``position``, in place; everything after it is dropped, and it counts as
        checked. ``measure`` must have been given with this ``position`` in an earlier cycle.
    measure : In(1)
        ``dropped`` becomes ``tail`` - ``position``.
    check, position : In
        ``checked`` advances to at least ``position``.
    catch_up : In(1)
        ``checked`` advances to at least ``head``.
    read, address : In
    data : Out(18)
    head, checked, tail : Out(16)
    fed_two : Out(1)
        The draft model's cache is right below ``tail`` - 2 (else below ``tail`` - 1): the first position to
        feed it is never elsewhere, since a batch must have been drafted before anything can flush it.
    dropped : Out(8)
        Tokens that ``flush`` or ``fix`` drops.
    """

    write: Signal
    in_place: Signal
    measure: Signal
    start: Signal
    append: Signal
    commit: Signal
    flush: Signal
    fix: Signal
    check: Signal
    catch_up: Signal
    position: Signal
    token: Signal
    read: Signal
    address: Signal
    data: Signal
    head: Signal
    checked: Signal
    tail: Signal
    fed_two: Signal
    dropped: Signal

    def __init__(self, params: UnitParams) -> None:
        self._params = p = params
        super().__init__(
            {
                "write": In(1),
                "in_place": In(1),
                "measure": In(1),
                "start": In(1),
                "append": In(1),
                "commit": In(1),
                "flush": In(1),
                "fix": In(1),
                "check": In(1),
                "catch_up": In(1),
                "position": In(p.position_bits),
                "token": In(p.token_bits),
                "read": In(1),
                "address": In(range(p.queue_depth)),
                "data": Out(p.token_bits),
                "head": Out(p.position_bits),
                "checked": Out(p.position_bits),
                "tail": Out(p.position_bits),
                "fed_two": Out(1),
                "dropped": Out(range(p.queue_depth + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = self._params
        tokens: memory.Memory = memory.Memory(shape=p.token_bits, depth=p.queue_depth, init=[])
        m.submodules.tokens = tokens
        read = tokens.read_port()
        write = tokens.write_port()
        replace = self.flush | self.fix
        after = Signal(p.position_bits)
        m.d.comb += [
            read.addr.eq(self.address),
            read.en.eq(self.read),
            self.data.eq(read.data),
            write.data.eq(self.token),
            write.en.eq(self.write),
            write.addr.eq(Mux(self.in_place, self.position, self.tail)),
            after.eq(self.position + 1),
        ]
        with m.If(self.measure):
            m.d.sync += self.dropped.eq(self.tail - self.position)
        with m.If(self.start):
            m.d.sync += [self.head.eq(0), self.checked.eq(0), self.tail.eq(0), self.fed_two.eq(0)]
        with m.Elif(replace):
            m.d.sync += [
                self.tail.eq(after),
                self.checked.eq(after),
                # All that was drafted is right and no more was: the token before ``position`` is not fed yet.
                self.fed_two.eq(self.dropped == 0),
            ]
        with m.Else():
            with m.If(self.append):
                m.d.sync += [self.tail.eq(self.tail + 1), self.fed_two.eq(0)]
            target = Mux(self.check, self.position, self.head)
            with m.If((self.check | self.catch_up) & (self.checked < target)):
                m.d.sync += self.checked.eq(target)
            with m.If(self.commit):
                m.d.sync += self.head.eq(self.head + 1)
        return m

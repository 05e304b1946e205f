"""Properties of the register block's bus and of the queue between two clocks."""

from __future__ import annotations

import itertools
from typing import Any

from amaranth.hdl import DomainRenamer, EnableInserter, Instance, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ahasd.rtl.clock_crossing import POINTER_STAGES, AsyncQueue
from ahasd.synth.formal.bench import Bench

__all__ = [
    "DEPTH",
    "Crossed",
    "bus_answers_once",
    "cover_bus",
    "cover_crossing",
    "crossing_keeps_all",
]

DEPTH = 4
"""Of the queue in the proof: a round trip of the pointers is longer than that, so it runs full."""
PAYLOAD_BITS = 2


class Crossed(wiring.Component):
    """A queue whose two clocks are free: at each step either, both or none of its sides has an edge.

    Members
    -------
    write_edge, read_edge : In(1)
    i : In(stream), o : Out(stream)
    """

    write_edge: Signal
    read_edge: Signal
    i: stream.Interface
    o: stream.Interface

    def __init__(self) -> None:
        super().__init__(
            {
                "write_edge": In(1),
                "read_edge": In(1),
                "i": In(stream.Signature(PAYLOAD_BITS)),
                "o": Out(stream.Signature(PAYLOAD_BITS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        queue = AsyncQueue(PAYLOAD_BITS, DEPTH, write_domain="w", read_domain="r", withdraw=False)
        clocked = EnableInserter({"w": self.write_edge, "r": self.read_edge})(queue)
        m.submodules.queue = DomainRenamer({"w": "sync", "r": "sync"})(clocked)
        connect(m, flipped(self.i), queue.i)
        connect(m, queue.o, flipped(self.o))
        return m


def _transfers(bench: Bench, name: str, happens: Any, bits: int) -> Signal:
    """How often it has happened, modulo 2^bits."""
    count = Signal(bits, name=name)
    with bench.m.If(happens):
        bench.m.d.sync += count.eq(count + 1)
    return count


def _binary(bench: Bench, gray: Any, name: str) -> Signal:
    code = Value.cast(gray)
    bits: list[Value] = []
    for place in reversed(range(len(code))):
        bits.append(code[place] if not bits else code[place] ^ bits[-1])
    return bench.wire(
        sum((bit << len(code) - 1 - k for k, bit in enumerate(bits)), start=Value.cast(0)), name
    )


def crossing_keeps_all(bench: Bench) -> None:
    dut: Any = bench.component
    bits = DEPTH.bit_length()
    written, taken = bench.signal("queue.written"), bench.signal("queue.taken")
    sent = _transfers(bench, "sent", dut.i.valid & dut.i.ready & dut.write_edge, bits)
    received = _transfers(bench, "received", dut.o.valid & dut.o.ready & dut.read_edge, bits)
    bench.check("all that was sent is in the queue", sent == written)
    bench.check("all that left it is offered or was received", (received + dut.o.valid - taken)[:bits] == 0)

    chain = [written]
    for pointer, following in (("written", taken), ("taken", None)):
        gray = bench.signal(f"queue.{pointer}_gray")
        bench.check(f"{pointer} in Gray code", _binary(bench, gray, f"{pointer}_binary") == chain[-1])
        for stage in range(POINTER_STAGES):
            caught = bench.signal(f"queue.{pointer}_{stage}")
            chain.append(_binary(bench, caught, f"{pointer}_{stage}_binary"))
        if following is not None:
            chain.append(following)
    distances = [(ahead - behind)[:bits] for ahead, behind in itertools.pairwise(chain)]
    bench.check("pointers are in order", sum(distances, start=Value.cast(0)) <= DEPTH)

    # Any one payload: the pointer it was written with, and what it was.
    chosen = Signal(bits, name="chosen")
    bench.m.submodules += Instance("$anyconst", ("p", "WIDTH", bits), ("o", "Y", chosen))
    payload = Signal(PAYLOAD_BITS, name="chosen_payload")
    with bench.m.If(dut.i.valid & dut.i.ready & dut.write_edge & (written == chosen)):
        bench.m.d.sync += payload.eq(dut.i.payload)
    stored = bench.opened.word("queue.storage", chosen[:-1], "stored")
    waits = (chosen - taken)[:bits] < (written - taken)[:bits]
    bench.implies("what waits is what was sent", waits, stored == payload)
    offered = dut.o.valid & ((taken - chosen)[:bits] == 1)
    bench.implies("what is offered is what was sent", offered, dut.o.payload == payload)
    held = bench.past(dut.o.valid & ~(dut.o.ready & dut.read_edge), "held")
    bench.implies("valid holds", held, dut.o.valid)
    bench.implies("payload holds", held, dut.o.payload == bench.past(dut.o.payload, "payload"))


def cover_crossing(bench: Bench) -> None:
    dut: Any = bench.component
    full = ~dut.i.ready & (bench.signal("queue.written") == DEPTH + 1)
    received = _transfers(bench, "received", dut.o.valid & dut.o.ready & dut.read_edge, 4)
    bench.reach("the queue is full", full)
    bench.reach("more than its depth has passed", received == DEPTH + 2)


def bus_answers_once(bench: Bench) -> None:
    dut: Any = bench.component
    axi = dut.axi
    address, data, read = (bench.signal(f"has_{name}") for name in ("address", "data", "read"))
    answered = axi.bvalid & axi.bready
    delivered = axi.rvalid & axi.rready
    for name, request, held, answer, valid in (
        ("address", axi.awvalid & axi.awready, address, answered, axi.bvalid),
        ("data", axi.wvalid & axi.wready, data, answered, axi.bvalid),
        ("read", axi.arvalid & axi.arready, read, delivered, axi.rvalid),
    ):
        asked = _transfers(bench, f"{name}_asked", request, 3)
        done = _transfers(bench, f"{name}_answered", answer, 3)
        bench.check(f"every {name} is held or answered once", (asked - done)[:3] == held + valid)
    for name, held in (("aw", address), ("w", data), ("ar", read)):
        bench.implies(f"{name} is taken only into its free place", getattr(axi, f"{name}ready"), ~held)
    for name, strobe, signals in (("b", dut.write, ("bresp",)), ("r", dut.read, ("rresp", "rdata"))):
        valid, ready = getattr(axi, f"{name}valid"), getattr(axi, f"{name}ready")
        waits = bench.past(valid & ~ready, f"{name}_waits")
        bench.implies(f"{name}valid holds", waits, valid)
        for signal in signals:
            value = Value.cast(getattr(axi, signal))
            bench.implies(f"{signal} holds", waits, value == bench.past(value, signal))
        bench.implies(f"{name}: an access is answered in the next cycle", bench.past(strobe, name), valid)
    bench.implies("a write that is complete is made", address & data & ~axi.bvalid, dut.write)
    bench.implies("a read is made", read & ~axi.rvalid, dut.read)


def cover_bus(bench: Bench) -> None:
    axi: Any = bench.component.axi  # type: ignore[attr-defined]
    writes = _transfers(bench, "writes", axi.bvalid & axi.bready, 2)
    reads = _transfers(bench, "reads", axi.rvalid & axi.rready, 2)
    bench.reach("a second write is answered while a read waits", (writes == 2) & axi.rvalid)
    bench.reach("an access that is an error", axi.bvalid & (Value.cast(axi.bresp) != 0) & (reads == 1))

"""AXI4-Lite: the bus as a signature, and a subordinate that turns transfers into single-cycle accesses."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["AxiLiteSignature", "AxiLiteSubordinate", "Response"]

DATA_BITS = 32
STROBE_BITS = DATA_BITS // 8


class Response(enum.Enum, shape=2):
    """RRESP and BRESP."""

    OKAY = 0
    SLVERR = 2


class AxiLiteSignature(wiring.Signature):
    """AXI4-Lite with 32-bit data, seen from the manager. AWPROT and ARPROT are there and mean nothing."""

    def __init__(self, address_bits: int) -> None:
        self.address_bits = address_bits
        super().__init__(
            {
                "awaddr": Out(address_bits),
                "awprot": Out(3),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(DATA_BITS),
                "wstrb": Out(STROBE_BITS),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(Response),
                "bvalid": In(1),
                "bready": Out(1),
                "araddr": Out(address_bits),
                "arprot": Out(3),
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(DATA_BITS),
                "rresp": In(Response),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )


class AxiLiteSubordinate(wiring.Component):
    """Takes AXI4-Lite transfers one at a time in each direction.

    Address and data of a write come in any order. An access lasts one cycle: ``write`` (``read``) is high
    and the answer is looked at in that cycle. Latency: from the later of address and data (from the address)
    to the response two cycles. Every output of the bus is a register; no input reaches one within a cycle.

    Members
    -------
    axi : In(AxiLiteSignature)
    write : Out(1)
    write_address : Out
        Byte address, as the manager sent it.
    write_data : Out(32), write_strobe : Out(4)
    write_error : In(1)
        Answer SLVERR.
    read : Out(1), read_address : Out
    read_data : In(32), read_error : In(1)
    """

    axi: Any
    write: Signal
    write_address: Signal
    write_data: Signal
    write_strobe: Signal
    write_error: Signal
    read: Signal
    read_address: Signal
    read_data: Signal
    read_error: Signal

    def __init__(self, address_bits: int) -> None:
        super().__init__(
            {
                "axi": In(AxiLiteSignature(address_bits)),
                "write": Out(1),
                "write_address": Out(address_bits),
                "write_data": Out(DATA_BITS),
                "write_strobe": Out(STROBE_BITS),
                "write_error": In(1),
                "read": Out(1),
                "read_address": Out(address_bits),
                "read_data": In(DATA_BITS),
                "read_error": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        axi = self.axi
        has_address = Signal()
        has_data = Signal()
        has_read = Signal()
        # Ready is a register of its own: low in reset, when nothing may be taken.
        with m.If(axi.awvalid & axi.awready):
            m.d.sync += [has_address.eq(1), self.write_address.eq(axi.awaddr), axi.awready.eq(0)]
        with m.Elif(~has_address):
            m.d.sync += axi.awready.eq(1)
        with m.If(axi.wvalid & axi.wready):
            m.d.sync += [
                has_data.eq(1),
                self.write_data.eq(axi.wdata),
                self.write_strobe.eq(axi.wstrb),
                axi.wready.eq(0),
            ]
        with m.Elif(~has_data):
            m.d.sync += axi.wready.eq(1)
        with m.If(axi.bvalid & axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        m.d.comb += self.write.eq(has_address & has_data & ~axi.bvalid)
        with m.If(self.write):
            m.d.sync += [has_address.eq(0), has_data.eq(0), axi.bvalid.eq(1), axi.bresp.eq(Response.OKAY)]
            with m.If(self.write_error):
                m.d.sync += axi.bresp.eq(Response.SLVERR)

        with m.If(axi.arvalid & axi.arready):
            m.d.sync += [has_read.eq(1), self.read_address.eq(axi.araddr), axi.arready.eq(0)]
        with m.Elif(~has_read):
            m.d.sync += axi.arready.eq(1)
        with m.If(axi.rvalid & axi.rready):
            m.d.sync += axi.rvalid.eq(0)
        m.d.comb += self.read.eq(has_read & ~axi.rvalid)
        with m.If(self.read):
            m.d.sync += [
                has_read.eq(0),
                axi.rvalid.eq(1),
                axi.rdata.eq(self.read_data),
                axi.rresp.eq(Response.OKAY),
            ]
            with m.If(self.read_error):
                m.d.sync += axi.rresp.eq(Response.SLVERR)
        return m

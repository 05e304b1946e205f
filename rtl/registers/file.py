"""A register map as hardware behind AXI4-Lite."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ahasd.rtl.axi_lite import STROBE_BITS, AxiLiteSignature, AxiLiteSubordinate
from ahasd.rtl.registers.description import WORD_BITS, Access, Register, RegisterMap

__all__ = ["RegisterFile", "fields_layout"]

_BYTE_OF_WORD = 2
"""Address bits within a word."""


def fields_layout(registers: RegisterMap, *access: Access) -> data.StructLayout:
    """The fields of all registers with these accesses, in the map's order, without constants."""
    return data.StructLayout({field.name: field.width for _, field in registers.fields(*access)})


class RegisterFile(wiring.Component):
    """Registers of a :class:`~ahasd.rtl.registers.description.RegisterMap`.

    An access to an address without a register, or a write to a read-only one, answers SLVERR and changes
    nothing. A write changes the bytes whose strobe is set. Fields' values are registers; a command lasts one
    cycle, the one after the write; a bit that is set and cleared at once stays set.

    Members
    -------
    axi : In(AxiLiteSignature)
    values : Out
        Fields of READ_WRITE and CONFIGURATION registers.
    state : In
        Fields of READ_ONLY registers.
    commands : Out
        Fields of COMMAND registers.
    events : In
        Fields of CLEAR registers: set the bit.
    flags : Out
        Those bits.
    locked : In(1)
        Writes to CONFIGURATION registers change nothing.
    refused : Out(1)
        One was attempted; in the cycle after it.
    """

    axi: Any
    values: data.View
    state: data.View
    commands: data.View
    events: data.View
    flags: data.View
    locked: Signal
    refused: Signal

    def __init__(self, registers: RegisterMap) -> None:
        self.registers = registers
        layouts = {
            "values": fields_layout(registers, Access.READ_WRITE, Access.CONFIGURATION),
            "commands": fields_layout(registers, Access.COMMAND),
            "flags": fields_layout(registers, Access.CLEAR),
        }
        resets = {
            field.name: field.reset for _, field in registers.fields(Access.READ_WRITE, Access.CONFIGURATION)
        }
        super().__init__(
            {
                "axi": In(AxiLiteSignature(registers.address_bits)),
                "values": Out(layouts["values"], init=resets),  # type: ignore[call-arg]  # not in the stubs
                "state": In(fields_layout(registers, Access.READ_ONLY)),
                "commands": Out(layouts["commands"]),
                "events": In(layouts["flags"]),
                "flags": Out(layouts["flags"]),
                "locked": In(1),
                "refused": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.axi_lite = bus = AxiLiteSubordinate(self.registers.address_bits)
        connect(m, flipped(self.axi), bus.axi)
        written = Signal(WORD_BITS)  # bits whose byte is written
        m.d.comb += written.eq(Cat(bus.write_strobe[k].replicate(8) for k in range(STROBE_BITS)))
        m.d.comb += [bus.write_error.eq(1), bus.read_error.eq(1)]
        m.d.sync += [self.commands.as_value().eq(0), self.refused.eq(0)]
        m.d.sync += self.flags.as_value().eq(self.flags.as_value() | self.events.as_value())

        with m.Switch(bus.write_address[_BYTE_OF_WORD:]):
            for register in self.registers:
                if register.access.writable:
                    with m.Case(register.offset >> _BYTE_OF_WORD):
                        m.d.comb += bus.write_error.eq(0)
                        with m.If(bus.write):
                            self._write(m, register, bus.write_data, written)

        with m.Switch(bus.read_address[_BYTE_OF_WORD:]):
            for register in self.registers:
                with m.Case(register.offset >> _BYTE_OF_WORD):
                    m.d.comb += bus.read_error.eq(0)
                    for field in register.fields:
                        value = self._value(register, field.name)
                        if value is not None:
                            m.d.comb += bus.read_data[field.low : field.low + field.width].eq(value)
        return m

    def _value(self, register: Register, name: str) -> Value | int | None:
        field = register.field(name)
        if field.constant:
            return field.reset
        if register.access is Access.COMMAND:
            return None
        views = {Access.READ_ONLY: self.state, Access.CLEAR: self.flags}
        return Value.cast(views.get(register.access, self.values)[name])

    def _write(self, m: Module, register: Register, word: Signal, written: Signal) -> None:
        if register.access is Access.CONFIGURATION:
            with m.If(self.locked):
                m.d.sync += self.refused.eq(1)
            with m.Else():
                self._store(m, register, word, written)
        elif register.access is Access.READ_WRITE:
            self._store(m, register, word, written)
        else:
            for field in register.fields:
                bits = slice(field.low, field.low + field.width)
                chosen = word[bits] & written[bits]
                if register.access is Access.COMMAND:
                    m.d.sync += self.commands[field.name].eq(chosen)
                else:
                    flag = self.flags[field.name]
                    m.d.sync += flag.eq(flag & ~chosen | self.events[field.name])

    def _store(self, m: Module, register: Register, word: Signal, written: Signal) -> None:
        for field in register.fields:
            for byte in range(STROBE_BITS):
                low, high = max(field.low, 8 * byte), min(field.low + field.width, 8 * byte + 8)
                if low < high:
                    value = Value.cast(self.values[field.name])
                    with m.If(written[8 * byte]):
                        m.d.sync += value[low - field.low : high - field.low].eq(word[low:high])

"""Registers as data: names, fields, offsets, reset values, access and text. No hardware library needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

__all__ = ["Access", "Field", "Register", "RegisterMap"]

WORD_BITS = 32
WORD_BYTES = 4


class Access(Enum):
    """What software can do with a register."""

    READ_ONLY = "RO"
    """Reads the hardware; a write answers SLVERR."""
    READ_WRITE = "RW"
    CONFIGURATION = "RW, idle"
    """As READ_WRITE, but a write while a sequence runs changes nothing and is a violation."""
    COMMAND = "WO"
    """Writing 1 to a bit is a command; reads as 0."""
    CLEAR = "RW1C"
    """Set by hardware; writing 1 to a bit clears it."""

    @property
    def writable(self) -> bool:
        """A write does not answer SLVERR."""
        return self is not Access.READ_ONLY

    @property
    def stored(self) -> bool:
        """Its fields are registers that software writes."""
        return self in (Access.READ_WRITE, Access.CONFIGURATION)


@dataclass(frozen=True)
class Field:
    """Bits ``low`` .. ``low`` + ``width`` - 1 of a register. A constant field reads as its ``reset``."""

    name: str
    low: int
    width: int
    text: str
    reset: int = 0
    constant: bool = False

    @property
    def mask(self) -> int:
        """Its bits, in place."""
        return ((1 << self.width) - 1) << self.low

    @property
    def bits(self) -> str:
        """As documentation writes it."""
        return str(self.low) if self.width == 1 else f"{self.low + self.width - 1}:{self.low}"


@dataclass(frozen=True)
class Register:
    """A 32-bit word at a byte ``offset``.

    Raises
    ------
    ValueError
        If the offset is not a word's, or fields overlap or leave the word.
    """

    name: str
    offset: int
    access: Access
    text: str
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        if self.offset % WORD_BYTES:
            raise ValueError(f"{self.name}: offset {self.offset:#x} must be a multiple of {WORD_BYTES}")
        used = 0
        for field in self.fields:
            if field.width < 1 or field.low < 0 or field.low + field.width > WORD_BITS or field.mask & used:
                raise ValueError(f"{self.name}.{field.name}: bits {field.bits} must be free and in the word")
            if field.reset >> field.width:
                raise ValueError(f"{self.name}.{field.name}: reset {field.reset:#x} must fit in its bits")
            used |= field.mask

    @property
    def reset(self) -> int:
        """The word after reset, as far as it is known."""
        return self.pack({field.name: field.reset for field in self.fields})

    def field(self, name: str) -> Field:
        """The field called ``name``.

        Raises
        ------
        KeyError
            If there is none.
        """
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(f"{self.name} has no field {name!r}")

    def pack(self, values: dict[str, int]) -> int:
        """A word with these fields, others 0.

        Raises
        ------
        KeyError, ValueError
            If a field does not exist or a value does not fit.
        """
        word = 0
        for name, value in values.items():
            field = self.field(name)
            if not 0 <= value < 1 << field.width:
                raise ValueError(f"{self.name}.{name}: {value} must fit in {field.width} bits")
            word |= value << field.low
        return word

    def unpack(self, word: int) -> dict[str, int]:
        """All fields of a word."""
        return {field.name: (word & field.mask) >> field.low for field in self.fields}


@dataclass(frozen=True)
class RegisterMap:
    """Registers of one block; field names are unique among the registers of one kind of access.

    Raises
    ------
    ValueError
        If names or offsets clash, a name is not usable in C, or an offset does not fit.
    """

    name: str
    address_bits: int
    registers: tuple[Register, ...]

    def __post_init__(self) -> None:
        names, offsets, fields = set(), set(), set()
        for register in self.registers:
            if not re.fullmatch(r"[A-Z][A-Z0-9_]*", register.name) or register.name in names:
                raise ValueError(f"{register.name}: must be a name of its own, in capitals")
            if register.offset in offsets or register.offset >> self.address_bits:
                raise ValueError(
                    f"{register.name}: offset {register.offset:#x} must be free and in the block"
                )
            names.add(register.name)
            offsets.add(register.offset)
            for field in register.fields:
                key = register.access.stored, register.access, field.name
                if register.access.stored:
                    key = True, Access.READ_WRITE, field.name
                if not re.fullmatch(r"[a-z][a-z0-9_]*", field.name) or key in fields:
                    raise ValueError(
                        f"{register.name}.{field.name}: must be a name of its own, in small letters"
                    )
                fields.add(key)

    def __iter__(self) -> Iterator[Register]:
        return iter(self.registers)

    def __getitem__(self, name: str) -> Register:
        for register in self.registers:
            if register.name == name:
                return register
        raise KeyError(f"{self.name} has no register {name!r}")

    def fields(self, *access: Access) -> Iterator[tuple[Register, Field]]:
        """Fields of the registers with one of these accesses, without constants."""
        for register in self.registers:
            if register.access in access:
                for field in register.fields:
                    if not field.constant:
                        yield register, field

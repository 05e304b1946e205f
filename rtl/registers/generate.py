"""Writes what is made of the register description: docs/registers.md and the C header.

``python -m ahasd.rtl.registers.generate``, in a checkout.
"""

from __future__ import annotations

from pathlib import Path

from ahasd.rtl.registers.ahasd_map import REGISTERS
from ahasd.rtl.registers.text import c_header, markdown

__all__ = ["DRIVER", "HEADER", "main"]

DRIVER = Path(__file__).with_name("driver")
"""Folder with the C driver."""
HEADER = DRIVER / "ahasd_registers.h"


def main(checkout: Path = Path()) -> None:
    """Write both files."""
    (checkout / "docs" / "registers.md").write_text(markdown(REGISTERS), encoding="utf-8")
    HEADER.write_text(c_header(REGISTERS), encoding="utf-8")


if __name__ == "__main__":
    main()

"""DRAM to the command: organisation and timing as tables, a scheduler, access patterns."""

from ahasd.models.dram.controller import Controller, Request
from ahasd.models.dram.patterns import PATTERNS
from ahasd.models.dram.presets import dram_of_platform, list_dram, load_dram
from ahasd.models.dram.spec import DramSpec, Organisation
from ahasd.models.dram.stream import KernelResult, stream, write_trace

__all__ = [
    "PATTERNS",
    "Controller",
    "DramSpec",
    "KernelResult",
    "Organisation",
    "Request",
    "dram_of_platform",
    "list_dram",
    "load_dram",
    "stream",
    "write_trace",
]

"""Systems: which schedule on which machine. One composition a file, found by being in this folder."""

from ahasd.sim.systems.registry import DEFAULT_SYSTEM, find_system, list_systems, register, register_family
from ahasd.sim.systems.spec import Case, SystemSpec

__all__ = [
    "DEFAULT_SYSTEM",
    "Case",
    "SystemSpec",
    "find_system",
    "list_systems",
    "register",
    "register_family",
]

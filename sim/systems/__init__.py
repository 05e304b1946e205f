"""Systems: which schedule on which machine. One composition a file; names and settings in ``registry``."""

from ahasd.sim.systems.registry import DEFAULT_SYSTEM, Schedule, SystemSpec, find_system, list_systems

__all__ = ["DEFAULT_SYSTEM", "Schedule", "SystemSpec", "find_system", "list_systems"]

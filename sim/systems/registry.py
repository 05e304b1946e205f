"""Systems by name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ahasd.models.errors import ConfigError
from ahasd.models.settings import near

__all__ = ["DEFAULT_SYSTEM", "Schedule", "SystemSpec", "find_system", "list_systems"]

DEFAULT_SYSTEM = "ahasd"
PARTS = ("aau", "edc", "tvc")
"""What may be added to ``async``, in the order of the canonical name."""
LATER = (
    "gpu-only",
    "gpu-mobile",
    "npu-only",
    "pim-only",
    "pim-sd",
    "specpim",
    "specpim-gpu",
    "oracle",
)


class Schedule(Enum):
    """Who decides what runs next."""

    LOCKSTEP = "lockstep"
    """Host software: draft, then verify, in turn."""
    ASYNC = "async"
    """The control unit: both at the same time."""


@dataclass(frozen=True, kw_only=True)
class SystemSpec:
    """A system: its schedule and which parts it has."""

    name: str
    schedule: Schedule
    aau: bool = False
    """Ranks have an attention unit; without it activations make a round trip to the NPU's vector unit."""
    edc: bool = False
    """Entropy-history drafting control."""
    tvc: bool = False
    """Time-aware pre-verification control. Acts only where EDC says stop."""

    @property
    def control_unit(self) -> bool:
        """It runs on the control unit, so that an engine can be chosen."""
        return self.schedule is Schedule.ASYNC


def list_systems() -> list[str]:
    """Names of available systems; parts may be added to ``async`` in any order."""
    return ["npu-pim-sync", "async", "async+aau", "async+aau+edc", "async+edc", "ahasd"]


def find_system(name: str) -> SystemSpec:
    """The system called ``name``; ``async`` takes any of ``+aau``, ``+edc``, ``+tvc`` in any order.

    Raises
    ------
    ConfigError
        If there is no such system, or it is not available yet; near names are listed.
    """
    if name == "npu-pim-sync":
        return SystemSpec(name=name, schedule=Schedule.LOCKSTEP)
    if name == "ahasd":
        return SystemSpec(name=name, schedule=Schedule.ASYNC, aau=True, edc=True, tvc=True)
    base, *parts = name.split("+")
    if base == "async" and set(parts) <= set(PARTS) and len(set(parts)) == len(parts):
        flags = {part: part in parts for part in PARTS}
        canonical = "+".join(["async", *(part for part in PARTS if flags[part])])
        return SystemSpec(name=canonical, schedule=Schedule.ASYNC, **flags)
    if base == "async":
        raise ConfigError(f"system {name!r}: after async come +aau, +edc, +tvc, each at most once")
    if name in LATER:
        raise ConfigError(f"system {name}: not available yet; available: {', '.join(list_systems())}")
    raise ConfigError(f"system {name!r}: unknown; near: {near(name, [*list_systems(), *LATER])}")

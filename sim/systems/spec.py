"""What a system is: a composition with a name, its own costs, and who decides how much is drafted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ahasd.models.cost import CostModel
from ahasd.models.language import LanguageModel
from ahasd.models.platform import Platform
from ahasd.models.policies import Policy
from ahasd.models.split.settings import SearchSettings

if TYPE_CHECKING:
    from ahasd.sim.systems.assembly import Assembly, Setup

__all__ = ["PARTS", "Case", "SystemSpec"]

PARTS = frozenset({"dram", "pim", "npu", "host", "gpu", "hbm"})
"""What a machine can be made of: each part has power of its own, busy or not. ``gpu`` together with ``dram``
is a phone's, on the platform's memory; without it one with memory of its own."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """What costs and drafting rule of a system are made from."""

    platform: Platform
    draft: LanguageModel
    target: LanguageModel
    aau: bool
    search: SearchSettings
    policy: str
    """As the user gave it, by its full name."""


@dataclass(frozen=True, kw_only=True)
class SystemSpec:
    """A system.

    Raises
    ------
    ValueError
        If a part is none of ``PARTS``.
    """

    name: str
    summary: str
    """One line: what drafts, what verifies, in which order."""
    build: Callable[[Setup], Assembly]
    """Modules and controller, connected."""
    costs: Callable[[Case], CostModel]
    """Raises ConfigError if a model does not fit."""
    parts: frozenset[str]
    """What the machine has, of ``PARTS``, whether this system uses it or not."""
    control_unit: bool = False
    """It runs on the control unit, so that an engine can be chosen."""
    policy: Callable[[Case], Policy] | None = None
    """The system's own drafting rule, made anew for each run; None: the user's policy."""
    aau: bool = False
    """Ranks have an attention unit; without it activations make a round trip to the NPU's vector unit."""
    edc: bool = False
    """Entropy-history drafting control."""
    tvc: bool = False
    """Time-aware pre-verification control. Acts only where EDC says stop."""

    def __post_init__(self) -> None:
        if not self.parts <= PARTS:
            raise ValueError(f"parts: {sorted(self.parts - PARTS)} must be of {sorted(PARTS)}")

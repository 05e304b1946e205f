"""What a piece of work consists of, in events that have an energy each."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

__all__ = ["Activity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Counts of events; adds up. Time-dependent energy (background, idle, a GPU's power) is not in it."""

    bus_bytes: int = 0
    """Read or written over a memory's off-chip bus."""
    pim_bytes: int = 0
    """Read from or written to a bank by its PIM unit."""
    row_activations: int = 0
    """Rows opened, for either."""
    pim_macs: int = 0
    npu_macs: int = 0
    scratchpad_bytes: int = 0
    """Read from and written to the NPU's scratchpad."""
    aau_elements: int = 0
    """Elements that pass an attention unit, each pass counted."""
    vector_elements: int = 0
    """Elements that pass the NPU's vector unit."""
    host_link_bytes: int = 0
    """Over the link between a host and its GPU (PCIe)."""
    gpu_bytes: int = 0
    """Read from or written to a GPU's own memory; for reports, its energy is in the GPU's power."""

    def __add__(self, other: Activity) -> Activity:
        return Activity(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in dataclasses.fields(self)}
        )

    def times(self, part: int, whole: int = 1) -> Activity:
        """``part`` / ``whole`` of it, rounded down: repetition, or work that was broken off."""
        return Activity(**{f.name: getattr(self, f.name) * part // whole for f in dataclasses.fields(self)})

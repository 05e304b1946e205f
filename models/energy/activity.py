"""What a piece of work consists of, in events that have an energy each."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Activity"]


class Activity(NamedTuple):
    """Counts of events, and the time of devices that have a power while they work; adds up.

    Energy that goes by the run's time (background, idle, host) is not in it.
    """

    bus_bytes: int = 0
    """Read or written over the LPDDR5 bus."""
    pim_bytes: int = 0
    """Read from or written to a bank by its PIM unit."""
    row_activations: int = 0
    """Rows of the LPDDR5 memory opened, for either."""
    pim_activations: int = 0
    """Of those, the ones for a PIM unit."""
    pim_macs: int = 0
    npu_macs: int = 0
    scratchpad_bytes: int = 0
    """Written to and read from the NPU's scratchpad on the way from or to memory: both are counted. What
    the arrays read again from it is in the energy of a MAC."""
    aau_elements: int = 0
    """Elements that pass an attention unit, each pass counted."""
    vector_elements: int = 0
    """Elements that pass the NPU's vector unit."""
    host_link_bytes: int = 0
    """Over the link between a host and its GPU (PCIe)."""
    hbm_bytes: int = 0
    """Read or written over the interface of an HBM-PIM stack."""
    hbm_pim_bytes: int = 0
    """Read from or written to a bank of an HBM-PIM stack by its PIM unit."""
    gpu_ps: int = 0
    """Time that a GPU works, ps; two of them for a time t: 2 t. The power of a discrete one has its memory
    in it; a phone's reads over the bus."""
    gpu_bytes: int = 0
    """Read from or written to a GPU's own memory; for reports, its energy is in the GPU's power."""

    def __add__(self, other: Activity) -> Activity:  # type: ignore[override]  # tuples would be joined
        return Activity._make(map(operator.add, self, other))

    @classmethod
    def total(cls, counted: Iterable[tuple[Activity, int]]) -> Activity:
        """Sum of each, so many times."""
        columns = zip(*([count * value for value in each] for each, count in counted), strict=True)
        return cls(*map(sum, columns))

    def times(self, part: int, whole: int = 1) -> Activity:
        """``part`` / ``whole`` of it, rounded down: repetition, or work that was broken off."""
        return Activity._make(value * part // whole for value in self)

"""What the NPU's DMA engine needs from memory, and simple memories."""

from __future__ import annotations

from typing import Protocol

from ahasd.models.first_order.dram import Streams, ceil_div
from ahasd.models.platform.params import Platform

__all__ = ["Dma", "FirstOrderDma", "FixedDma"]


class Dma(Protocol):
    """Transfers between memory and scratchpad, one behind the other."""

    @property
    def latency_ps(self) -> int:
        """From the request of a stream to its first bytes; transfers that follow each other hide it."""

    def dma_ps(self, size: int) -> int:
        """Time that ``size`` bytes of a longer stream occupy the memory."""


class FixedDma:
    """A memory of ``gbps`` GB/s, in steps of 1 MB/s."""

    def __init__(self, gbps: float, latency_ps: int = 0) -> None:
        self._bytes_per_us = round(1000 * gbps)
        self._latency_ps = latency_ps

    @property
    def latency_ps(self) -> int:
        return self._latency_ps

    def dma_ps(self, size: int) -> int:
        return ceil_div(1_000_000 * size, self._bytes_per_us)


class FirstOrderDma:
    """The off-chip bus by closed formula; bytes lie evenly on ``ranks`` ranks."""

    def __init__(self, platform: Platform, ranks: int) -> None:
        self._streams = Streams(platform)
        self._ranks = ranks
        self._latency_ps = platform.link.latency_ps

    @property
    def latency_ps(self) -> int:
        return self._latency_ps

    def dma_ps(self, size: int) -> int:
        return self._streams.bus_ps(size, self._ranks)

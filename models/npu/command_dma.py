"""DMA at the rate that commands on the memory's bus reach."""

from __future__ import annotations

from dataclasses import asdict, replace

from ahasd.models.cost_cache import CostCache
from ahasd.models.errors import ConfigError
from ahasd.models.first_order.dram import ceil_div
from ahasd.models.platform.params import Platform

__all__ = ["CommandDma", "memory_scope"]

_CLOCKS = 50_000
"""Length of the simulated window, at least; whole refresh intervals."""


class CommandDma:
    """Reads of bytes that lie evenly on ``ranks`` ranks, bank groups in turn, all-bank refresh on.

    The channel that has most of the ranks decides. A transfer is part of a longer stream: it takes its share
    of the time that the stream takes over whole refresh intervals, simulated once.
    """

    def __init__(self, platform: Platform, ranks: int, cache: CostCache) -> None:
        dram = platform.dram
        self._platform = platform
        self._ranks = ranks
        self._share = ceil_div(ranks, dram.channels)
        self._access = dram.access_bytes
        found = cache.get(("stream", "rotate", self._share), self._simulate)
        assert isinstance(found, list)
        first, self._window_ps, self._accesses = found
        self._latency_ps = platform.link.latency_ps + first

    @property
    def latency_ps(self) -> int:
        """Link, and one access to a closed bank."""
        return self._latency_ps

    @property
    def gbps(self) -> float:
        """All channels together, while all have data."""
        channels = min(self._ranks, self._platform.dram.channels)
        return 1000 * channels * self._accesses * self._access / self._window_ps

    def dma_ps(self, size: int) -> int:
        accesses = ceil_div(size * self._share, self._ranks * self._access)
        return ceil_div(accesses * self._window_ps, self._accesses)

    def _simulate(self) -> list[int]:
        """ps of one access alone; ps of a window of the stream, and accesses in it."""
        from ahasd.models.dram import dram_of_platform, stream
        from ahasd.models.dram.controller import Command

        spec = dram_of_platform(self._platform)
        spec = replace(spec, organisation=replace(spec.organisation, ranks=self._share))
        interval = spec["REFI"]
        intervals = ceil_div(_CLOCKS, interval)
        trace: list[Command] = []
        fastest = max(spec["CCD_S"], spec["BL"])
        stream(spec, "rotate", (intervals + 1) * interval // fastest, refresh="all", trace=trace)
        begin, end = interval, (1 + intervals) * interval
        accesses = sum(command.name == "RD" and begin <= command.clock < end for command in trace)
        if not accesses:
            raise ConfigError(f"platform.dram.trfc: {spec['RFCab']} leaves no time between refreshes")
        first = stream(spec, "rotate", 1).ps
        return [first, intervals * interval * spec.tck_ps, accesses]


def memory_scope(platform: Platform) -> dict[str, object]:
    """What costs of a platform's memory depend on."""
    return {"dram": asdict(platform.dram)}

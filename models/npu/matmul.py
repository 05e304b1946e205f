"""One matrix multiplication on the NPU, from memory to memory."""

from __future__ import annotations

from typing import NamedTuple

from ahasd.models.errors import ConfigError
from ahasd.models.first_order.dram import ceil_div
from ahasd.models.npu.array import SystolicArray
from ahasd.models.npu.blocks import Scratchpad
from ahasd.models.npu.dma import Dma

__all__ = ["MatmulResult", "matmul"]


class MatmulResult(NamedTuple):
    """What one multiplication took."""

    cycles: int
    units: int
    """Passes through an array, each with a load of weights."""
    bytes_read: int
    bytes_written: int


def matmul(
    array: SystolicArray,
    n: int,
    k: int,
    m: int,
    *,
    dma: Dma | None = None,
    arrays: int = 1,
    clock_ps: int = 1000,
    element_bytes: int = 1,
    scratchpad_bytes: int = 8 << 20,
) -> MatmulResult:
    """n x k inputs times k x m weights; without ``dma`` all is in the scratchpad before and after.

    With it, the DMA engine loads the first piece of inputs, then weights block by block, each into the one of
    two buffers that is free; further inputs follow the first block, results are written as they come, before
    loads that have not begun.

    Raises
    ------
    ConfigError
        If a size is below 1.
    """
    for name, value in (("-n", n), ("-k", k), ("-m", m), ("--arrays", arrays)):
        if value < 1:
            raise ConfigError(f"{name}: {value} must be at least 1")
    units = array.units(n, k, m)
    if dma is None:
        return MatmulResult(array.cycles(n, ceil_div(units, arrays)), units, 0, 0)
    scratchpad = Scratchpad(array, arrays, scratchpad_bytes // element_bytes)
    size, preload = element_bytes, array.preload * clock_ps
    channel = dma.latency_ps  # when the DMA engine is free
    buffers = [0, 0]
    enter = done = read = written = index = 0
    writes: list[tuple[int, int]] = []
    for rows in scratchpad.groups(n, k):
        inputs = min(rows, array.rows) * k * size
        channel += dma.dma_ps(inputs)
        rest = rows * k * size - inputs
        read += rows * k * size
        for part in scratchpad.parts(rows, k, m):
            while writes and writes[0][0] <= channel:
                channel += dma.dma_ps(writes.pop(0)[1])
            channel = max(channel, buffers[index % 2]) + dma.dma_ps(part.weights * size)
            read += part.weights * size
            first = max(enter, channel + preload)
            enter = first + ceil_div(part.units, arrays) * array.pace * clock_ps
            if rest:
                channel += dma.dma_ps(rest)
                enter, rest = max(enter, channel), 0
            buffers[index % 2] = enter
            index += 1
            done = enter + array.drain(rows) * clock_ps
            pieces = array.pieces(rows)
            behind = ceil_div(part.units // pieces, arrays) * array.pace * clock_ps
            for piece in range(pieces if part.complete else 0):
                count = min(array.rows, rows - piece * array.rows)
                ready = done - (pieces - 1 - piece) * behind
                writes.append((ready, count * part.columns * size))
                written += count * part.columns * size
    for ready, out in writes:
        channel = max(channel, ready) + dma.dma_ps(out)
    return MatmulResult(ceil_div(max(channel, done), clock_ps), units, read, written)

"""First-order NPU: one pass of a language model whose weights stream over the bus. Integer ps.

Each operator takes the longer of its compute and its DMA, as the double-buffered scratchpad allows, and a
drain of the arrays. Formulas: docs/first-order-timing.md.
"""

from __future__ import annotations

from ahasd.models.energy.activity import Activity
from ahasd.models.energy.passes import NpuActivity
from ahasd.models.first_order.dram import Streams, ceil_div
from ahasd.models.language import Gemv, LanguageModel
from ahasd.models.platform.params import Platform

__all__ = ["NpuPass"]


class NpuPass:
    """Passes of ``model``, whose weights and KV cache lie on ``ranks`` ranks."""

    def __init__(self, platform: Platform, model: LanguageModel, ranks: int) -> None:
        self._npu = platform.npu
        self._link_ps = platform.link.latency_ps
        self._streams = Streams(platform)
        self._model = model
        self._ranks = ranks
        self._weights: dict[int, int] = {}
        self._activity = NpuActivity(platform, model)

    def activity(self, kv_len: int, tokens: int, outputs: int) -> Activity:
        """Events of that pass."""
        return self._activity.of(kv_len, tokens, outputs)

    def pass_ps(self, kv_len: int, tokens: int, outputs: int) -> int:
        """Feed ``tokens`` up to ``kv_len`` KV entries; the LM head runs for the last ``outputs`` of them."""
        body = self._link_ps + self._model.layers * self._layer(kv_len, tokens)
        return body + (self._head(outputs) if outputs else 0)

    def _layer(self, kv_len: int, tokens: int) -> int:
        model = self._model
        if tokens not in self._weights:
            ps = sum(self._gemm(g, tokens) for g in model.gemvs)
            ps += sum(self._vector(tokens * op.elements) for op in model.elementwise)
            self._weights[tokens] = ps
        softmax = self._vector(tokens * model.softmax(kv_len).elements)
        return self._weights[tokens] + self._attention(kv_len, tokens) + softmax

    def _head(self, outputs: int) -> int:
        vector = self._vector(outputs * (self._model.hidden + self._model.vocab))
        return self._gemm(self._model.head, outputs) + vector

    def _gemm(self, gemv: Gemv, tokens: int) -> int:
        """Inputs stay in half the scratchpad, else weights are swept again; activations may spill."""
        npu = self._npu
        half = npu.scratchpad_kib * 512
        sweeps = ceil_div(tokens * gemv.inp, half)
        activations = tokens * (gemv.inp + gemv.out)
        spilled = activations if activations > half else 0
        tiles = ceil_div(gemv.out, npu.columns) * ceil_div(gemv.inp, npu.rows)
        dma = self._streams.bus_ps(sweeps * gemv.out * gemv.inp + spilled, self._ranks)
        return max(self._tiles(tiles, tokens), dma) + self._drain(tokens)

    def _attention(self, kv_len: int, tokens: int) -> int:
        """Keys and values are read once (new ones written), each stationary for the heads that share it."""
        model, npu = self._model, self._npu
        streamed = tokens * (model.heads // model.kv_heads)
        scores = ceil_div(kv_len, npu.columns) * ceil_div(model.head_dim, npu.rows)
        values = ceil_div(model.head_dim, npu.columns) * ceil_div(kv_len, npu.rows)
        dma = self._streams.bus_ps(2 * model.kv_width * kv_len, self._ranks)
        compute = self._tiles(model.kv_heads * (scores + values), streamed)
        return max(compute, dma) + 2 * self._drain(streamed)

    def _tiles(self, tiles: int, streamed: int) -> int:
        """The next tile's weights are loaded while the current one streams."""
        npu = self._npu
        return ceil_div(tiles, npu.arrays) * max(npu.rows, streamed) * npu.clock_ps

    def _drain(self, streamed: int) -> int:
        """Fill and drain of the last tile, which nothing hides."""
        npu = self._npu
        return (npu.rows + npu.columns + min(streamed, npu.rows)) * npu.clock_ps

    def _vector(self, elements: int) -> int:
        return ceil_div(1000 * elements * self._npu.vector_ops, self._npu.vector_gops)

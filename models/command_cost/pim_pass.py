"""A pass of a language model on its PIM ranks, from simulated kernels. Integer ps."""

from __future__ import annotations

from ahasd.models.command_cost.kernels import Kernels
from ahasd.models.energy.activity import Activity
from ahasd.models.energy.passes import PimActivity
from ahasd.models.first_order.dram import ceil_div
from ahasd.models.language import LanguageModel
from ahasd.models.npu.dma import Dma
from ahasd.models.operators import PARTIAL_BYTES, PASSES, merged_vectors
from ahasd.models.platform.params import Platform

__all__ = ["PimPass"]


class PimPass:
    """Passes of ``model`` on ``ranks`` ranks, with or without attention units.

    Weights are split by outputs; the KV cache by heads where there are at least as many as units, else by
    positions. ``dma``: the round trip of activations where there is no attention unit.
    """

    def __init__(
        self, platform: Platform, model: LanguageModel, ranks: int, kernels: Kernels, dma: Dma, *, aau: bool
    ) -> None:
        self._platform = platform
        self._model = model
        self._ranks = ranks
        self._kernels = kernels
        self._dma = dma
        self._aau = aau
        self._units = ranks * platform.pim.units_per_rank
        self._by_heads = model.kv_heads >= self._units
        self._weights: dict[tuple[int, int], tuple[int, int]] = {}
        self._exchanges: dict[int, int] = {}
        self._activity = PimActivity(platform, model, ranks, aau=aau)

    def activity(self, kv_len: int, tokens: int, outputs: int) -> Activity:
        """Events of that pass."""
        return self._activity.of(kv_len, tokens, outputs)

    def pass_ps(self, kv_len: int, tokens: int, outputs: int) -> int:
        """Feed ``tokens`` up to ``kv_len`` KV entries; the LM head runs for the last ``outputs`` of them."""
        key = (tokens, outputs)
        if key not in self._weights:
            self._weights[key] = self._without_context(tokens, outputs)
        memory, other = self._weights[key]
        softmax = self._model.softmax(kv_len)
        more = self._operator(softmax.name, tokens, softmax.elements, softmax.results)
        layers = self._model.layers
        memory += layers * (self._attention(kv_len, tokens) + more[0])
        return self._kernels.stretched(memory) + other + layers * more[1]

    def _without_context(self, tokens: int, outputs: int) -> tuple[int, int]:
        """All of a pass that does not depend on the KV cache: on memory, and elsewhere."""
        model, kernels = self._model, self._kernels
        memory = other = 0
        for g in model.gemvs:
            memory += kernels.gemv_ps(g.out, g.inp, tokens, broadcast=g.fresh, gather=True)
        for op in model.elementwise:
            a, b = self._operator(op.name, tokens, op.elements, op.results)
            memory, other = memory + a, other + b
        memory, other = model.layers * memory, model.layers * other
        if outputs:
            head = model.head
            memory += kernels.gemv_ps(head.out, head.inp, outputs, broadcast=True, gather=False)
            for name, elements, results in (("norm", model.hidden, model.hidden), ("logits", model.vocab, 0)):
                a, b = self._operator(name, outputs, elements, results)
                memory, other = memory + a, other + b
        return memory, other

    def _attention(self, kv_len: int, tokens: int) -> int:
        """Queries and new rows to the ranks, keys read, values read, results back."""
        model, pim = self._model, self._platform.pim
        if self._by_heads:
            share = ceil_div(model.kv_heads, self._units) * model.head_dim * kv_len
        else:
            share = ceil_div(kv_len, self._units) * model.kv_width
        if tokens not in self._exchanges:
            width = model.attention_width
            result = ceil_div(width, self._ranks) if self._by_heads else width
            inputs = tokens * (width + 2 * model.kv_width) * pim.input_bytes
            self._exchanges[tokens] = (
                self._kernels.exchange_ps(inputs, 0)
                + pim.switch_ps
                + self._kernels.exchange_ps(0, tokens * result * pim.result_bytes)
            )
        read = self._kernels.read_ps(share * pim.units_per_rank, tokens * (model.heads // model.kv_heads))
        return self._exchanges[tokens] + 2 * read

    def _operator(self, name: str, tokens: int, elements: int, results: int) -> tuple[int, int]:
        """On memory, and elsewhere."""
        return self._on_aau(name, tokens, elements) if self._aau else self._on_npu(tokens, elements, results)

    def _on_aau(self, name: str, tokens: int, elements: int) -> tuple[int, int]:
        """Each rank's unit has its share of the elements; sums over all of them are merged."""
        aau = self._platform.aau
        share = ceil_div(tokens * elements, self._ranks)
        ps = (PASSES[name] * ceil_div(share, aau.lanes) + aau.pipeline) * aau.clock_ps
        vectors = merged_vectors(name, tokens, self._model.heads, self._by_heads)
        if not vectors:
            return 0, ps
        size = vectors * PARTIAL_BYTES
        return self._kernels.exchange_ps(0, size) + self._kernels.exchange_ps(size, 0), ps

    def _on_npu(self, tokens: int, elements: int, results: int) -> tuple[int, int]:
        """Out of PIM mode, over the bus to the NPU's vector unit and back."""
        platform = self._platform
        size = tokens * platform.pim.result_bytes
        ops = tokens * elements * platform.npu.vector_ops
        vector = ceil_div(1000 * ops, platform.npu.vector_gops)
        bus = self._dma.dma_ps(size * elements) + self._dma.dma_ps(size * results)
        return 0, platform.pim.switch_ps + bus + vector + 2 * self._dma.latency_ps

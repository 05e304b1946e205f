"""First-order PIM: one pass of a language model on its ranks. Integer ps.

Weights are split over the PIM units by outputs. The KV cache is split by heads where there are at least as
many KV heads as units, else by positions. Formulas: docs/first-order-timing.md.
"""

from __future__ import annotations

from ahasd.models.energy.activity import Activity
from ahasd.models.energy.passes import PimActivity
from ahasd.models.first_order.dram import Streams, ceil_div
from ahasd.models.language import Gemv, LanguageModel
from ahasd.models.operators import PARTIAL_BYTES, PASSES, merged_vectors
from ahasd.models.platform.params import Platform

__all__ = ["PimPass"]


class PimPass:
    """Passes of ``model`` on ``ranks`` ranks, with or without attention units."""

    def __init__(self, platform: Platform, model: LanguageModel, ranks: int, *, aau: bool) -> None:
        self._platform = platform
        self._model = model
        self._aau = aau
        self._streams = Streams(platform)
        self._ranks = ranks
        self._units = ranks * platform.pim.units_per_rank
        self._by_heads = model.kv_heads >= self._units
        self._weights: dict[tuple[int, int], int] = {}
        self._activity = PimActivity(platform, model, ranks, aau=aau)

    def activity(self, kv_len: int, tokens: int, outputs: int) -> Activity:
        """Events of that pass."""
        return self._activity.of(kv_len, tokens, outputs)

    def pass_ps(self, kv_len: int, tokens: int, outputs: int) -> int:
        """Feed ``tokens`` up to ``kv_len`` KV entries; the LM head runs for the last ``outputs`` of them."""
        key = (tokens, outputs)
        if key not in self._weights:
            self._weights[key] = self._without_context(tokens, outputs)
        softmax = self._model.softmax(kv_len)
        layer = self._attention(kv_len, tokens)
        layer += self._operator(softmax.name, tokens, softmax.elements, softmax.results)
        return self._model.layers * layer + self._weights[key]

    def _without_context(self, tokens: int, outputs: int) -> int:
        """All of a pass that does not depend on the KV cache."""
        model = self._model
        layer = sum(self._gemv(g, tokens) for g in model.gemvs)
        layer += sum(self._operator(op.name, tokens, op.elements, op.results) for op in model.elementwise)
        if not outputs:
            return model.layers * layer
        final = self._operator("norm", outputs, model.hidden, model.hidden)
        final += self._product(model.head, outputs) + self._logits(outputs)
        return model.layers * layer + final

    def _gemv(self, gemv: Gemv, tokens: int) -> int:
        share = ceil_div(gemv.out, self._ranks)
        return self._product(gemv, tokens) + self._gather(tokens * share * self._platform.pim.result_bytes)

    def _product(self, gemv: Gemv, tokens: int) -> int:
        """Broadcast of the input if it is new, PIM mode, and the weights of the fullest unit."""
        rows = self._streams.unit_ps(ceil_div(gemv.out, self._units) * gemv.inp, tokens)
        broadcast = self._broadcast(tokens * gemv.inp) if gemv.fresh else 0
        return broadcast + self._platform.pim.switch_ps + rows

    def _attention(self, kv_len: int, tokens: int) -> int:
        """Scores and weighted sum: keys and values read once, with the MACs of all heads that share them."""
        model, pim = self._model, self._platform.pim
        group = model.heads // model.kv_heads
        if self._by_heads:
            size = ceil_div(model.kv_heads, self._units) * model.head_dim * kv_len
            result = ceil_div(model.attention_width, self._ranks)
        else:
            size = ceil_div(kv_len, self._units) * model.kv_width
            result = model.attention_width
        exchange = self._broadcast(tokens * (model.attention_width + 2 * model.kv_width))
        gather = self._gather(tokens * result * pim.result_bytes)
        return exchange + pim.switch_ps + 2 * self._streams.unit_ps(size, tokens * group) + gather

    def _logits(self, outputs: int) -> int:
        """Arg-max, its probability and the entropy."""
        return self._operator("logits", outputs, self._model.vocab, 0)

    def _operator(self, name: str, tokens: int, elements: int, results: int) -> int:
        if self._aau:
            return self._on_aau(name, tokens, elements)
        return self._on_npu(tokens, elements, results)

    def _on_aau(self, name: str, tokens: int, elements: int) -> int:
        """Each rank's unit has its share of the elements; sums over all of them are merged."""
        aau = self._platform.aau
        share = ceil_div(tokens * elements, self._ranks)
        ps = (PASSES[name] * ceil_div(share, aau.lanes) + aau.pipeline) * aau.clock_ps
        vectors = merged_vectors(name, tokens, self._model.heads, self._by_heads)
        if vectors:
            size = vectors * PARTIAL_BYTES
            ps += self._gather(size) + self._broadcast(size)
        return ps

    def _on_npu(self, tokens: int, elements: int, results: int) -> int:
        """Out of PIM mode, over the bus to the NPU's vector unit and back."""
        platform = self._platform
        size = tokens * platform.pim.result_bytes
        out = self._streams.bus_ps(size * elements, self._ranks)
        back = self._streams.bus_ps(size * results, self._ranks)
        ops = tokens * elements * platform.npu.vector_ops
        compute = ceil_div(1000 * ops, platform.npu.vector_gops)
        return platform.pim.switch_ps + out + compute + back + 2 * platform.link.latency_ps

    def _broadcast(self, size: int) -> int:
        """``size`` input elements to all ranks: each channel writes them once, its ranks listen together."""
        return self._streams.channel_ps(size * self._platform.pim.input_bytes)

    def _gather(self, size: int) -> int:
        """``size`` bytes from each rank: the ranks of a channel answer one after the other."""
        ranks = ceil_div(self._ranks, self._platform.dram.channels)
        return self._streams.channel_ps(ranks * size) + self._streams.exchange_ps

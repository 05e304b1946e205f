"""Events of a pass of a language model, from its shapes: one count for all timings. docs/energy.md.

What is counted is what the model needs, without padding: the fullest unit decides the time of a pass, the sum
over all units its energy. Rows are the exception: one that is opened for a part of it counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from ahasd.models.energy.activity import Activity
from ahasd.models.first_order.dram import ceil_div
from ahasd.models.language import Gemv, LanguageModel
from ahasd.models.operators import PARTIAL_BYTES, PASSES, merged_vectors
from ahasd.models.platform.params import Platform

__all__ = ["NpuActivity", "PimActivity"]


class _Passes(ABC):
    """What does not depend on the KV cache is counted once for a shape."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._fixed: dict[tuple[int, int], Activity] = {}

    def of(self, kv_len: int, tokens: int, outputs: int) -> Activity:
        """Feed ``tokens`` up to ``kv_len`` KV entries; the LM head runs for the last ``outputs`` of them."""
        key = (tokens, outputs)
        if key not in self._fixed:
            self._fixed[key] = self._without_context(tokens, outputs)
        return self._fixed[key] + self._context(kv_len, tokens)

    @abstractmethod
    def _without_context(self, tokens: int, outputs: int) -> Activity:
        """All but the reading of the KV cache and the softmax."""

    @abstractmethod
    def _context(self, kv_len: int, tokens: int) -> Activity:
        """The reading of the KV cache and the softmax."""


class PimActivity(_Passes):
    """Passes of ``model`` on ``ranks`` ranks, with or without attention units.

    Inputs, results and partial results lie in registers of the ranks: they cost bus bytes, and open no row.
    """

    def __init__(self, platform: Platform, model: LanguageModel, ranks: int, *, aau: bool) -> None:
        super().__init__(model)
        self._platform = platform
        self._ranks = ranks
        self._aau = aau
        self._units = ranks * platform.pim.units_per_rank
        self._channels = min(ranks, platform.dram.channels)
        self._by_heads = model.kv_heads >= self._units

    def _without_context(self, tokens: int, outputs: int) -> Activity:
        model = self._model
        layer = self._attention_exchange(tokens)
        for gemv in model.gemvs:
            layer += self._gemv(gemv, tokens, gather=True)
        for op in model.elementwise:
            layer += self._operator(op.name, tokens, op.elements, op.results)
        total = layer.times(model.layers)
        if outputs:
            total += self._gemv(model.head, outputs, gather=False)
            total += self._operator("norm", outputs, model.hidden, model.hidden)
            total += self._operator("logits", outputs, model.vocab, 0)
        return total

    def _gemv(self, gemv: Gemv, tokens: int, *, gather: bool) -> Activity:
        """Each weight read once, with a MAC for each token; outputs lie on the ranks in equal blocks."""
        pim = self._platform.pim
        rank_rows = self._rows(ceil_div(gemv.out, self._ranks) * gemv.inp, pim.units_per_rank)
        bus = self._broadcast(tokens * gemv.inp * pim.input_bytes) if gemv.fresh else 0
        bus += tokens * gemv.out * pim.result_bytes if gather else 0
        return Activity(
            bus_bytes=bus,
            pim_bytes=gemv.out * gemv.inp,
            row_activations=self._ranks * rank_rows,
            pim_activations=self._ranks * rank_rows,
            pim_macs=tokens * gemv.out * gemv.inp,
        )

    def _attention_exchange(self, tokens: int) -> Activity:
        """Queries, new keys and values to the ranks, where the new ones are written; results back."""
        model, pim = self._model, self._platform.pim
        inputs = tokens * (model.attention_width + 2 * model.kv_width) * pim.input_bytes
        results = tokens * model.attention_width * pim.result_bytes
        rows = 2 * tokens * self._rows(model.kv_width, self._units if self._by_heads else 1)
        return Activity(
            bus_bytes=self._broadcast(inputs) + results * (1 if self._by_heads else self._ranks),
            pim_bytes=2 * tokens * model.kv_width,
            row_activations=rows,
            pim_activations=rows,
        )

    def _context(self, kv_len: int, tokens: int) -> Activity:
        """Keys and values of all layers, each read once; the softmax over their products."""
        model, layers = self._model, self._model.layers
        rows = 2 * layers * self._rows(kv_len * model.kv_width, self._units)
        softmax = model.softmax(kv_len)
        cache = Activity(
            pim_bytes=2 * layers * kv_len * model.kv_width,
            row_activations=rows,
            pim_activations=rows,
            pim_macs=2 * layers * tokens * kv_len * model.attention_width,
        )
        return cache + self._operator(softmax.name, layers * tokens, softmax.elements, softmax.results)

    def _operator(self, name: str, tokens: int, elements: int, results: int) -> Activity:
        if not self._aau:
            size = tokens * (elements + results) * self._platform.pim.result_bytes
            return Activity(bus_bytes=size, scratchpad_bytes=2 * size, vector_elements=tokens * elements)
        partial = PARTIAL_BYTES * merged_vectors(name, tokens, self._model.heads, self._by_heads)
        return Activity(
            bus_bytes=self._ranks * partial + self._broadcast(partial),
            aau_elements=PASSES[name] * tokens * elements,
        )

    def _rows(self, size: int, units: int) -> int:
        """Rows that ``size`` bytes take, spread evenly over the banks that ``units`` units read at once."""
        banks = units * self._platform.pim.banks_at_once
        return banks * ceil_div(size, banks * self._platform.dram.row_bytes)

    def _broadcast(self, size: int) -> int:
        """Bus bytes: each channel writes all of it once, its ranks listen together."""
        return self._channels * size


class NpuActivity(_Passes):
    """Passes of ``model`` on the NPU; weights and KV cache stream over the bus, whole rows of them."""

    def __init__(self, platform: Platform, model: LanguageModel) -> None:
        super().__init__(model)
        self._npu = platform.npu
        self._row_bytes = platform.dram.row_bytes

    def sweeps(self, tokens: int, inp: int) -> int:
        """How often weights are read: inputs stay in half the scratchpad, by whole array heights."""
        fit = max(1, (self._npu.scratchpad_kib << 9) // inp)
        if tokens <= fit:
            return 1
        return ceil_div(tokens, max(1, fit // self._npu.rows) * self._npu.rows)

    def _without_context(self, tokens: int, outputs: int) -> Activity:
        model = self._model
        layer = self._vector(tokens * sum(op.elements for op in model.elementwise))
        for gemv in model.gemvs:
            layer += self._gemm(gemv, tokens)
        total = layer.times(model.layers)
        if outputs:
            total += self._gemm(model.head, outputs) + self._vector(outputs * (model.hidden + model.vocab))
        return total

    def _context(self, kv_len: int, tokens: int) -> Activity:
        """Keys and values of all layers, each read or written once; the softmax over their products."""
        model, layers = self._model, self._model.layers
        size = 2 * kv_len * model.kv_width
        return Activity(
            bus_bytes=layers * size,
            row_activations=layers * ceil_div(size, self._row_bytes),
            npu_macs=2 * layers * tokens * kv_len * model.attention_width,
            scratchpad_bytes=2 * layers * size,
            vector_elements=layers * tokens * model.softmax(kv_len).elements,
        )

    def _gemm(self, gemv: Gemv, tokens: int) -> Activity:
        """Activations that do not fit into half the scratchpad go over the bus too."""
        activations = tokens * (gemv.inp + gemv.out)
        spilled = activations if activations > self._npu.scratchpad_kib << 9 else 0
        weights = self.sweeps(tokens, gemv.inp) * gemv.out * gemv.inp
        return self._streamed(weights + spilled, tokens * gemv.out * gemv.inp)

    def _streamed(self, size: int, macs: int) -> Activity:
        return Activity(
            bus_bytes=size,
            row_activations=ceil_div(size, self._row_bytes),
            npu_macs=macs,
            scratchpad_bytes=2 * size,
        )

    def _vector(self, elements: int) -> Activity:
        return Activity(vector_elements=elements)

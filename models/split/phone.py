"""The platform's ranks divided for good: some in PIM mode, the others read by the NPU. First-order timing.

A rank in PIM mode does not answer the NPU, so that both can work at the same time on ranks of their own only.
"""

from __future__ import annotations

from ahasd.models.energy.activity import Activity
from ahasd.models.first_order.dram import Streams, ceil_div
from ahasd.models.first_order.npu import NpuPass
from ahasd.models.language import Gemv, LanguageModel
from ahasd.models.platform.params import Platform
from ahasd.models.split.device import Device, Part

__all__ = ["Phone"]


class _NpuDevice(NpuPass):
    """The NPU, over the bus from its ranks: weights stream, longer of DMA and tiles, as in its own passes."""

    def __init__(self, platform: Platform, model: LanguageModel, ranks: int) -> None:
        super().__init__(platform, model, ranks)
        self._row_bytes = platform.dram.row_bytes

    def gemv(self, part: Gemv, tokens: int) -> Part:
        return Part(0, self._gemm(part, tokens))

    def gemv_activity(self, part: Gemv, tokens: int) -> Activity:
        size = part.out * part.inp
        return self._streamed(size, tokens * size)

    def attention(self, kv_len: int, tokens: int) -> Part:
        return Part(0, self._attention(kv_len, tokens))

    def attention_activity(self, kv_len: int, tokens: int) -> Activity:
        macs = 2 * tokens * kv_len * self._model.attention_width
        return self._streamed(2 * kv_len * self._model.kv_width, macs)

    def _streamed(self, size: int, macs: int) -> Activity:
        rows = ceil_div(size, self._row_bytes)
        return Activity(bus_bytes=size, row_activations=rows, npu_macs=macs, scratchpad_bytes=2 * size)


class _PimDevice:
    """Ranks in PIM mode. Each operator: inputs to the ranks, mode switch, work, results back to the NPU."""

    def __init__(self, platform: Platform, model: LanguageModel, ranks: int) -> None:
        self._platform = platform
        self._model = model
        self._ranks = ranks
        self._streams = Streams(platform)
        self._units = ranks * platform.pim.units_per_rank
        self._by_heads = model.kv_heads >= self._units
        self._sharing = ceil_div(ranks, platform.dram.channels)
        self._channels = min(ranks, platform.dram.channels)

    def gemv(self, part: Gemv, tokens: int) -> Part:
        inputs, results = self._gemv_exchange(part, tokens)
        work = self._streams.unit_ps(ceil_div(part.out, self._units) * part.inp, tokens)
        return Part(self._exchange(inputs, results), work)

    def gemv_activity(self, part: Gemv, tokens: int) -> Activity:
        size = part.out * part.inp
        return self._read(size, tokens * size, *self._gemv_exchange(part, tokens))

    def _gemv_exchange(self, part: Gemv, tokens: int) -> tuple[int, int]:
        """Bytes to all ranks at once, and from each of them."""
        pim = self._platform.pim
        inputs = tokens * part.inp * pim.input_bytes if part.fresh else 0
        return inputs, tokens * ceil_div(part.out, self._ranks) * pim.result_bytes

    def attention(self, kv_len: int, tokens: int) -> Part:
        model = self._model
        if self._by_heads:
            share = ceil_div(model.kv_heads, self._units) * model.head_dim * kv_len
        else:
            share = ceil_div(kv_len, self._units) * model.kv_width
        work = 2 * self._streams.unit_ps(share, tokens * (model.heads // model.kv_heads))
        return Part(self._exchange(*self._attention_exchange(tokens)), work)

    def attention_activity(self, kv_len: int, tokens: int) -> Activity:
        model = self._model
        size, macs = 2 * kv_len * model.kv_width, 2 * tokens * kv_len * model.attention_width
        return self._read(size, macs, *self._attention_exchange(tokens))

    def _attention_exchange(self, tokens: int) -> tuple[int, int]:
        model, pim = self._model, self._platform.pim
        width = model.attention_width
        result = ceil_div(width, self._ranks) if self._by_heads else width
        return tokens * (width + 2 * model.kv_width) * pim.input_bytes, tokens * result * pim.result_bytes

    def _exchange(self, inputs: int, results: int) -> int:
        streams, pim = self._streams, self._platform.pim
        there = streams.channel_ps(inputs) + pim.switch_ps
        back = streams.channel_ps(self._sharing * results) + streams.exchange_ps
        return there + back + self._platform.link.latency_ps

    def _read(self, size: int, macs: int, inputs: int, results: int) -> Activity:
        """Rows of all banks that are read at once open together; each channel writes the inputs once."""
        bus = self._channels * inputs + self._ranks * results
        banks = self._units * self._platform.pim.banks_at_once
        rows = banks * ceil_div(size, banks * self._platform.dram.row_bytes)
        return Activity(
            bus_bytes=bus, pim_bytes=size, row_activations=rows, pim_activations=rows, pim_macs=macs
        )


class Phone:
    """NPU and PIM of a platform, ``pim_ranks`` of its ranks in PIM mode. See ``Machine``.

    There is no attention unit: nonlinear operators run in the NPU's vector unit, where results are gathered
    anyway, at no exchange of their own. Merging the partial softmax of a KV cache that is split is left out.
    """

    def __init__(self, platform: Platform, pim_ranks: int) -> None:
        self._platform = platform
        self._pim_ranks = pim_ranks
        self._npu_ranks = platform.dram.ranks - pim_ranks

    @property
    def rooms(self) -> tuple[int, int]:
        size = self._platform.dram.rank_bytes
        return self._npu_ranks * size, self._pim_ranks * size

    def devices(self, model: LanguageModel) -> tuple[Device | None, Device | None]:
        npu = _NpuDevice(self._platform, model, self._npu_ranks) if self._npu_ranks else None
        pim = _PimDevice(self._platform, model, self._pim_ranks) if self._pim_ranks else None
        return npu, pim

    def rest(self, model: LanguageModel, kv_len: int, tokens: int, outputs: int) -> tuple[int, Activity]:
        npu = self._platform.npu
        layer = [op.elements for op in (*model.elementwise, model.softmax(kv_len))]
        last = outputs * (model.hidden + model.vocab)

        def vector(elements: int) -> int:
            return ceil_div(1000 * elements * npu.vector_ops, npu.vector_gops)

        ps = model.layers * sum(vector(tokens * each) for each in layer)
        ps += vector(last) + self._platform.link.latency_ps
        elements = model.layers * tokens * sum(layer) + last
        return ps, Activity(vector_elements=elements)

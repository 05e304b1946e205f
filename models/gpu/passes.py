"""A pass of a language model on GPUs: bandwidth, a fitted overhead, and what PCIe has to bring. Integer ps.

pass = bytes / (efficiency x bandwidth) + overhead x layers / 32 + spilled bytes / PCIe
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ahasd.models.energy.activity import Activity
from ahasd.models.language import LanguageModel
from ahasd.models.platform.gpu import Gpu, MobileGpu

__all__ = ["GpuPass", "Rates", "discrete_pass", "mobile_pass", "spilled_bytes"]

FITTED_LAYERS = 32
"""Layers of the model whose overhead was fitted."""


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What a GPU sustains; bytes a nanosecond are GB/s, operations a picosecond TOPS."""

    gbps: float
    tops: float
    overhead_us: float
    """Of a pass of ``FITTED_LAYERS`` layers."""
    pcie_gbps: float = 1.0


class GpuPass:
    """Passes of ``model`` on one GPU, ``spilled`` bytes of which come from the host each time.

    Streaming from the host is not hidden behind the rest, which is short beside it. ``events`` makes the
    activity of a pass out of its time (ps), its bytes of weights and KV, and the bytes that came from the
    host.
    """

    def __init__(
        self,
        model: LanguageModel,
        rates: Rates,
        events: Callable[[int, int, int], Activity],
        spilled: int = 0,
    ) -> None:
        self._model = model
        self._rates = rates
        self._events = events
        self._spilled = spilled

    def pass_ps(self, kv_len: int, tokens: int, outputs: int) -> int:
        """Feed ``tokens`` up to ``kv_len`` KV entries; the LM head runs for the last ``outputs`` of them."""
        model, rates = self._model, self._rates
        head = model.head.out * model.head.inp
        macs = (
            tokens * model.layers * (model.layer_bytes + 2 * kv_len * model.attention_width) + outputs * head
        )
        memory, compute = 1000 * self._bytes(kv_len, outputs) / rates.gbps, 2 * macs / rates.tops
        overhead = 1e6 * rates.overhead_us * model.layers / FITTED_LAYERS
        return round(max(memory, compute) + overhead + 1000 * self._spilled / rates.pcie_gbps)

    def activity(self, kv_len: int, tokens: int, outputs: int) -> Activity:
        """Events of that pass."""
        ps = self.pass_ps(kv_len, tokens, outputs)
        return self._events(ps, self._bytes(kv_len, outputs), self._spilled)

    def _bytes(self, kv_len: int, outputs: int) -> int:
        model = self._model
        weights = model.streamed_bytes - (0 if outputs else model.head.out * model.head.inp)
        return weights + kv_len * model.kv_bytes_per_token


def spilled_bytes(gpu: Gpu, resident: int, model: LanguageModel) -> int:
    """Bytes of ``model``'s matrices that find no room beside ``resident`` others; embeddings stay outside."""
    return min(model.streamed_bytes, max(0, resident + model.streamed_bytes - round(gpu.room_gb * 1e9)))


def discrete_pass(gpu: Gpu, model: LanguageModel, spilled: int = 0) -> GpuPass:
    """``model`` on a GPU with memory of its own."""
    rates = Rates(
        gbps=gpu.efficiency * gpu.bandwidth_gbps,
        tops=gpu.int8_tops * gpu.int8_utilisation,
        overhead_us=gpu.overhead_us,
        pcie_gbps=gpu.pcie_gbps,
    )

    def events(ps: int, size: int, link: int) -> Activity:
        return Activity(gpu_ps=ps, gpu_bytes=size, host_link_bytes=link)

    return GpuPass(model, rates, events, spilled)


def mobile_pass(gpu: MobileGpu, bus_gbps: float, row_bytes: int, model: LanguageModel) -> GpuPass:
    """``model`` on a phone's GPU, whose memory has a peak of ``bus_gbps`` and rows of ``row_bytes``."""
    rates = Rates(
        gbps=gpu.efficiency * bus_gbps, tops=gpu.int8_tops * gpu.int8_utilisation, overhead_us=gpu.overhead_us
    )

    def events(ps: int, size: int, _: int) -> Activity:
        return Activity(gpu_ps=ps, bus_bytes=size, row_activations=-(-size // row_bytes))

    return GpuPass(model, rates, events)

"""GPUs with HBM-PIM stacks beside them, as the paper compares with: the GPU formula, split by operators.

Assumed, because nobody says: weights lie in the GPUs' own memory or in the stacks' banks; two GPUs halve the
bytes of each and synchronise once a pass; an operator with a part on the stacks ends in a barrier of its own.
"""

from __future__ import annotations

from ahasd.models.energy.activity import Activity
from ahasd.models.gpu.passes import FITTED_LAYERS
from ahasd.models.language import Gemv, LanguageModel
from ahasd.models.platform.params import Platform
from ahasd.models.split.device import Device, Part

__all__ = ["Desktop"]


class _Gpus:
    def __init__(self, platform: Platform, model: LanguageModel) -> None:
        gpu, count = platform.gpu, platform.hbm_pim.gpus
        self._model = model
        self._count = count
        self._gbps = count * gpu.efficiency * gpu.bandwidth_gbps
        self._tops = count * gpu.int8_tops * gpu.int8_utilisation

    def gemv(self, part: Gemv, tokens: int) -> Part:
        size = part.out * part.inp
        return self._part(size, tokens * size)

    def gemv_activity(self, part: Gemv, tokens: int) -> Activity:
        return self._events(part.out * part.inp, self.gemv(part, tokens))

    def attention(self, kv_len: int, tokens: int) -> Part:
        model = self._model
        return self._part(2 * kv_len * model.kv_width, 2 * tokens * kv_len * model.attention_width)

    def attention_activity(self, kv_len: int, tokens: int) -> Activity:
        return self._events(2 * kv_len * self._model.kv_width, self.attention(kv_len, tokens))

    def _part(self, size: int, macs: int) -> Part:
        return Part(0, round(max(1000 * size / self._gbps, 2 * macs / self._tops)))

    def _events(self, size: int, part: Part) -> Activity:
        return Activity(gpu_ps=self._count * part.work_ps, gpu_bytes=size)


class _Stacks:
    def __init__(self, platform: Platform, model: LanguageModel) -> None:
        hbm = platform.hbm_pim
        self._model = model
        self._gbps = hbm.stacks * hbm.efficiency * hbm.stack_gbps
        self._gmacs = hbm.stacks * hbm.efficiency * hbm.stack_gmacs
        self._sync_ps = round(1e6 * hbm.sync_us)
        self._element = platform.pim.input_bytes, platform.pim.result_bytes

    def gemv(self, part: Gemv, tokens: int) -> Part:
        size = part.out * part.inp
        return self._part(size, tokens * size)

    def gemv_activity(self, part: Gemv, tokens: int) -> Activity:
        size = part.out * part.inp
        return self._events(size, tokens * size, tokens * part.inp, tokens * part.out)

    def attention(self, kv_len: int, tokens: int) -> Part:
        model = self._model
        return self._part(2 * kv_len * model.kv_width, 2 * tokens * kv_len * model.attention_width)

    def attention_activity(self, kv_len: int, tokens: int) -> Activity:
        model = self._model
        width = model.attention_width
        inputs = tokens * (width + 2 * model.kv_width)
        macs = 2 * tokens * kv_len * width
        return self._events(2 * kv_len * model.kv_width, macs, inputs, tokens * width)

    def _part(self, size: int, macs: int) -> Part:
        """The exchange of activations is in the barrier."""
        return Part(self._sync_ps, round(max(1000 * size / self._gbps, 1000 * macs / self._gmacs)))

    def _events(self, size: int, macs: int, inputs: int, results: int) -> Activity:
        moved = inputs * self._element[0] + results * self._element[1]
        return Activity(hbm_pim_bytes=size, pim_macs=macs, hbm_bytes=moved)


class Desktop:
    """GPUs and HBM-PIM of ``platform.gpu`` and ``platform.hbm_pim``. See ``Machine``."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    @property
    def rooms(self) -> tuple[int, int]:
        gpu, hbm = self._platform.gpu, self._platform.hbm_pim
        return round(hbm.gpus * gpu.room_gb * 1e9), round(hbm.stacks * hbm.stack_gb * 1e9)

    def devices(self, model: LanguageModel) -> tuple[Device | None, Device | None]:
        return _Gpus(self._platform, model), _Stacks(self._platform, model)

    def rest(self, model: LanguageModel, kv_len: int, tokens: int, outputs: int) -> tuple[int, Activity]:
        """Launches, synchronisation and all that is no matrix, as fitted for one GPU; one more for two."""
        gpu, hbm = self._platform.gpu, self._platform.hbm_pim
        ps = round(1e6 * gpu.overhead_us * model.layers / FITTED_LAYERS)
        ps += round(1e6 * hbm.sync_us) if hbm.gpus > 1 else 0
        return ps, Activity(gpu_ps=hbm.gpus * ps)

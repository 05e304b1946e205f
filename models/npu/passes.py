"""A pass of a language model on the NPU: the sequence of its layers' operators. Integer ps."""

from __future__ import annotations

from ahasd.models.energy.activity import Activity
from ahasd.models.energy.passes import NpuActivity
from ahasd.models.first_order.dram import ceil_div
from ahasd.models.language import Gemv, LanguageModel, Nonlinear
from ahasd.models.npu.array import SystolicArray
from ahasd.models.npu.blocks import Scratchpad
from ahasd.models.npu.dma import Dma
from ahasd.models.npu.pipeline import Block, Pipeline, Run, runs
from ahasd.models.platform.params import Platform

__all__ = ["ATTENTION", "NpuPasses", "layer_steps"]

ATTENTION = "attention"

Step = Gemv | Nonlinear | str


def layer_steps(model: LanguageModel) -> list[Step]:
    """GEMVs, nonlinear operators and ``ATTENTION`` of one layer, in the order of their data."""
    gemvs = {g.name: g for g in model.gemvs}
    ops = list(model.elementwise)
    norm = ops.pop(0)
    rope = [ops.pop(0)] if ops[0].name == "rope" else []
    inward = [g for name, g in gemvs.items() if name in ("q", "k", "v", "qkv")]
    up = [g for name, g in gemvs.items() if name in ("gate", "up", "gate_up")]
    if model.parallel:
        activation, residual = ops
        return [norm, *inward, *up, *rope, ATTENTION, activation, gemvs["o"], gemvs["down"], residual]
    residual, second, activation, last = ops
    out: list[Step] = [norm, *inward, *rope, ATTENTION, gemvs["o"], residual, second]
    return [*out, *up, activation, gemvs["down"], last]


class NpuPasses:
    """Passes of ``model``, whose weights and KV cache come through ``dma``.

    Weights stream through two buffers, also across operators: the next operator's are loaded while the
    current one computes. Its inputs are the results of the one before, behind the vector unit.
    """

    def __init__(self, platform: Platform, model: LanguageModel, dma: Dma, *, skip: bool = True) -> None:
        npu = platform.npu
        self._npu = npu
        self._model = model
        self._dma = dma
        self._skip = skip
        self._array = SystolicArray(npu.rows, npu.columns)
        self._scratchpad = Scratchpad(self._array, npu.arrays, npu.scratchpad_kib << 10)
        self._preload = self._array.preload * npu.clock_ps
        self._half = npu.scratchpad_kib << 9
        self._steps = layer_steps(model)
        self._layers: dict[int, list[tuple[list[Run] | int, bool]]] = {}
        self._gemms: dict[tuple[Gemv, int], list[Run]] = {}
        self._activity = NpuActivity(platform, model)

    def activity(self, kv_len: int, tokens: int, outputs: int) -> Activity:
        """Events of that pass."""
        return self._activity.of(kv_len, tokens, outputs)

    def pass_ps(self, kv_len: int, tokens: int, outputs: int) -> int:
        """Feed ``tokens`` up to ``kv_len`` KV entries; the LM head runs for the last ``outputs`` of them."""
        model, pipeline = self._model, Pipeline(self._preload, self._skip)
        scores, values = self._attention(kv_len, tokens, False), self._attention(kv_len, tokens, True)
        softmax = self._vector(tokens * model.softmax(kv_len).elements)
        steps = self._layer(tokens)

        def layer() -> None:
            inputs = pipeline.done
            for work, fresh in steps:
                if isinstance(work, list):
                    if fresh:
                        inputs = pipeline.done
                    pipeline.run(work, inputs)
                elif work:
                    pipeline.delay(work)
                else:
                    pipeline.run(scores, pipeline.done)
                    pipeline.delay(softmax)
                    pipeline.run(values, pipeline.done)

        pipeline.repeat(layer, model.layers)
        if outputs:
            pipeline.delay(self._vector(outputs * model.hidden))
            pipeline.run(self._gemm(model.head, outputs), pipeline.done)
            pipeline.delay(self._vector(outputs * model.vocab))
        return self._dma.latency_ps + pipeline.done

    def _layer(self, tokens: int) -> list[tuple[list[Run] | int, bool]]:
        """Steps: blocks, or a vector operator's ps, or 0 for attention; and whether its inputs are new."""
        if tokens not in self._layers:
            steps: list[tuple[list[Run] | int, bool]] = []
            for step in self._steps:
                if isinstance(step, Nonlinear):
                    steps.append((self._vector(tokens * step.elements), False))
                elif not isinstance(step, Gemv):
                    steps.append((0, False))
                elif step.fresh or not isinstance(before := steps[-1][0], list):
                    steps.append((self._gemm(step, tokens), step.fresh))
                else:  # the same inputs: one row of blocks
                    blocks = [b for b, count in before + self._gemm(step, tokens) for _ in range(count)]
                    steps[-1] = (runs(blocks), steps[-1][1])
            self._layers[tokens] = steps
        return self._layers[tokens]

    def _gemm(self, gemv: Gemv, n: int) -> list[Run]:
        """Blocks of a GEMM; activations that do not fit into half the scratchpad go to memory and back."""
        key = (gemv, n)
        if key not in self._gemms:
            clock = self._npu.clock_ps
            activations = n * (gemv.inp + gemv.out)
            spilled = activations if activations > self._half else 0
            groups = self._scratchpad.groups(n, gemv.inp)
            parts = [self._scratchpad.parts(rows, gemv.inp, gemv.out) for rows in groups]
            extra = ceil_div(spilled, sum(map(len, parts)))
            self._gemms[key] = [
                (self._block(part.weights + extra, part.units, self._array.drain(rows) * clock), count)
                for rows, blocks in zip(groups, parts, strict=True)
                for part, count in runs(blocks)
            ]
        return self._gemms[key]

    def _attention(self, kv_len: int, tokens: int, values: bool) -> list[Run]:
        """Blocks of scores (keys stationary) or of their weighted sum (values stationary).

        All cached positions are read once, new ones written; each KV head's are stationary for all query
        heads that share it.
        """
        model, npu = self._model, self._npu
        streamed = tokens * (model.heads // model.kv_heads)
        drain = self._array.drain(streamed) * npu.clock_ps
        out = []
        for count, times in self._positions(kv_len):
            shape = (count, model.head_dim) if values else (model.head_dim, count)
            units = model.kv_heads * self._array.units(streamed, *shape)
            out.append((self._block(count * model.kv_width, units, drain), times))
        return out

    def _positions(self, kv_len: int) -> list[tuple[int, int]]:
        """The KV cache by blocks of a tile's width, or of what a weight buffer holds: positions, blocks."""
        most = max(1, min(self._npu.arrays * self._npu.columns, self._half // 2 // self._model.kv_width))
        full, rest = divmod(kv_len, most)
        return [(most, full)] * bool(full) + [(rest, 1)] * bool(rest)

    def _block(self, size: int, units: int, drain: int) -> Block:
        entry = ceil_div(units, self._npu.arrays) * self._array.pace * self._npu.clock_ps
        return Block(self._dma.dma_ps(size), entry, drain)

    def _vector(self, elements: int) -> int:
        return ceil_div(1000 * elements * self._npu.vector_ops, self._npu.vector_gops)

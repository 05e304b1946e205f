"""NPU: systolic arrays, scratchpad with double buffering, DMA, vector unit. See docs/npu.md."""

from ahasd.models.npu.array import SystolicArray
from ahasd.models.npu.dma import Dma, FirstOrderDma, FixedDma
from ahasd.models.npu.matmul import MatmulResult, matmul
from ahasd.models.npu.passes import NpuPasses

__all__ = ["Dma", "FirstOrderDma", "FixedDma", "MatmulResult", "NpuPasses", "SystolicArray", "matmul"]

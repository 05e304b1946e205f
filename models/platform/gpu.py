"""Parameters of the GPUs that systems are compared with, and of the HBM-PIM beside one.

Sources: [AH] arXiv 2604.25326; [fit] two parameters fitted to llama.cpp decode rates of LLaMA-7B on RTX 5000
Ada, 4080 and 4090 (github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference): .93-.96 of the peak bandwidth and
2.34-2.51 ms on all three; (U) engineering judgement.
"""

from __future__ import annotations

from dataclasses import dataclass

from ahasd.models.settings import check, param

__all__ = ["Gpu", "HbmPim", "MobileGpu"]


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A discrete GPU with memory of its own (RTX 4090 Laptop), and its link to the host."""

    bandwidth_gbps: float = param(576, unit="GB/s", low=50, high=10000, source="GDDR6 256 bit at 18 Gb/s")
    efficiency: float = param(0.94, low=0.3, high=1, source="[fit] .93-.96")
    overhead_us: float = param(
        2450,
        unit="us for 32 layers",
        low=0,
        high=50000,
        source="[fit] 2340-2510",
        note="launches, synchronisation, attention; CUDA graphs may halve it, PyTorch eager 20000-30000 (U)",
    )
    int8_tops: float = param(303.5, unit="TOPS", low=1, high=10000, source="dense INT8 at 140 W, 1950 MHz")
    int8_utilisation: float = param(
        0.7, low=0.1, high=1, source="a 4080 Laptop's FP16 GEMM reaches 54 of 79 TFLOPS"
    )
    room_gb: float = param(
        15.0,
        unit="GB",
        low=1,
        high=200,
        source="16,376 MiB less runtime, activations and KV caches (U)",
        note="for weights; what does not fit is streamed from the host in each pass",
    )
    pcie_gbps: float = param(25.0, unit="GB/s", low=1, high=128, source="PCIe 4.0 x16, 31.5 raw (U)")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class MobileGpu:
    """A phone's GPU, on the platform's own LPDDR5."""

    efficiency: float = param(
        0.68,
        low=0.3,
        high=0.95,
        source="of the bus peak: INT8 on Jetson AGX Orin .68; llama.cpp 4-bit .42-.48, FP16 .82",
    )
    overhead_us: float = param(
        0, unit="us for 32 layers", low=0, high=50000, source="in the efficiency, which is of whole tokens"
    )
    int8_tops: float = param(10.0, unit="TOPS", low=1, high=100, source="(U) INT8 dot products")
    int8_utilisation: float = param(0.7, low=0.1, high=1, source="as the discrete GPU (U)")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class HbmPim:
    """HBM-PIM stacks beside the GPUs of specpim-gpu (Samsung Aquabolt-XL)."""

    gpus: int = param(2, low=1, high=16, source="[AH] 2 x RTX 4090 Laptop")
    stacks: int = param(2, low=1, high=40, source="one a GPU (U); [AH] gives no number")
    stack_gb: float = param(6.0, unit="GB", low=1, high=64, source="Aquabolt-XL, 20 nm")
    stack_gbps: float = param(
        1230.0, unit="GB/s", low=100, high=10000, source="4 x 307 GB/s in the banks (U)"
    )
    efficiency: float = param(
        0.62, low=0.3, high=1, source="4096 x 4096 GEMV on Samsung's PIMSimulator: 2.74 of 4 x"
    )
    stack_gmacs: float = param(
        1230.0,
        unit="GMAC/s",
        low=100,
        high=20000,
        source="INT8, one a byte at the peak; 1.2 TFLOPS FP16 are 600 (U)",
    )
    sync_us: float = param(
        10.0, unit="us", low=0.5, high=100, source="barrier of GPU and PIM behind an operator (U)"
    )

    def __post_init__(self) -> None:
        check(self)

"""GPUs: one pass of a language model by a fitted formula."""

from ahasd.models.gpu.passes import GpuPass, Rates, discrete_pass, mobile_pass, spilled_bytes

__all__ = ["GpuPass", "Rates", "discrete_pass", "mobile_pass", "spilled_bytes"]

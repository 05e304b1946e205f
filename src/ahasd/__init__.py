"""AHASD: hardware model of asynchronous NPU + PIM speculative decoding."""

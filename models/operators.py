"""Non-linear operators on the attention units: what their time and their energy both follow from."""

from __future__ import annotations

__all__ = ["PARTIAL_BYTES", "PASSES", "merged_vectors"]

PASSES = {"norm": 2, "softmax": 2, "logits": 2, "rope": 1, "residual": 1, "activation": 1}
"""Passes of the attention unit over an operator's elements."""
PARTIAL_BYTES = 8
"""Partial results of one vector on one rank: maximum, two sums, index, 16 bits each."""


def merged_vectors(name: str, tokens: int, heads: int, by_heads: bool) -> int:
    """Vectors of operator ``name`` that lie over several ranks, so that their partial results are merged.

    Parameters
    ----------
    name, tokens : the operator, and for how many tokens
    heads : int
        Of the model.
    by_heads : bool
        Each head's KV cache lies on one unit.
    """
    if name == "softmax":
        return 0 if by_heads else tokens * heads
    return tokens if name in ("norm", "logits") else 0

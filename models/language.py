"""Decoder language models layer by layer: what a pass reads and computes. INT8 weights and KV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ahasd.models.errors import ConfigError
from ahasd.models.settings import check, param

__all__ = ["Gemv", "LanguageModel", "Nonlinear"]


class Gemv(NamedTuple):
    """One matrix-vector product: ``out`` results from ``inp`` inputs, out x inp bytes of weights."""

    name: str
    out: int
    inp: int
    fresh: bool = True
    """Its input is not that of the GEMV before it."""


class Nonlinear(NamedTuple):
    """One operator that is no GEMV, for one token: elements it reads and elements it gives back."""

    name: str
    elements: int
    results: int


@dataclass(frozen=True, kw_only=True)
class LanguageModel:
    """A decoder-only transformer.

    Raises
    ------
    ConfigError
        If a number is out of range, or heads are no multiple of kv_heads.
    """

    name: str
    layers: int = param(low=1, high=512)
    hidden: int = param(low=1, high=1 << 17)
    heads: int = param(low=1, high=1024)
    kv_heads: int = param(low=1, high=1024)
    head_dim: int = param(low=1, high=4096)
    ffn: int = param(low=1, high=1 << 20)
    norm: str = param("rmsnorm", choices=("rmsnorm", "layernorm"))
    activation: str = param("silu", choices=("relu", "gelu", "silu"))
    gated: bool = param(False, note="two up projections, one of them through the activation")
    vocab: int = param(low=2, high=1 << 18)
    tied: bool = param(False, note="LM head is the embedding")
    bias: bool = param(False, note="every matrix and layer norm has one")
    positions: int = param(0, low=0, high=1 << 20, note="rows of a learned position table; 0: rotary")
    parallel: bool = param(False, note="attention and FFN side by side after one norm, projections fused")
    max_context: int = param(2048, unit="tokens", low=1, high=1 << 20)

    def __post_init__(self) -> None:
        check(self)
        if self.heads % self.kv_heads:
            raise ConfigError(f"heads: {self.heads} must be a multiple of kv_heads = {self.kv_heads}")

    @property
    def attention_width(self) -> int:
        """Elements of all query heads."""
        return self.heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Elements of all key heads, and of all value heads."""
        return self.kv_heads * self.head_dim

    @property
    def gemvs(self) -> tuple[Gemv, ...]:
        """GEMVs of one layer, in order; fused ones where the block is parallel."""
        h, f, a, kv = self.hidden, self.ffn, self.attention_width, self.kv_width
        up = [Gemv("gate", f, h), Gemv("up", f, h, fresh=False)] if self.gated else [Gemv("up", f, h)]
        if self.parallel:
            wide = Gemv("gate_up", 2 * f, h, fresh=False) if self.gated else Gemv("up", f, h, fresh=False)
            return (Gemv("qkv", a + 2 * kv, h), wide, Gemv("o", h, a), Gemv("down", h, f))
        qkv = (Gemv("q", a, h), Gemv("k", kv, h, fresh=False), Gemv("v", kv, h, fresh=False))
        return (*qkv, Gemv("o", h, a), *up, Gemv("down", h, f))

    @property
    def head(self) -> Gemv:
        """The LM head."""
        return Gemv("lm_head", self.vocab, self.hidden)

    @property
    def layer_bytes(self) -> int:
        """Weights of one layer's matrices."""
        return sum(g.out * g.inp for g in self.gemvs)

    @property
    def streamed_bytes(self) -> int:
        """Bytes that a pass reads: matrices of all layers and LM head; not the embedding, a gather."""
        return self.layers * self.layer_bytes + self.vocab * self.hidden

    @property
    def kv_bytes_per_token(self) -> int:
        """Keys and values of one token, all layers."""
        return self.layers * 2 * self.kv_width

    @property
    def parameters(self) -> int:
        """All parameters, as published counts do: embedding once if tied."""
        norm = self.hidden * (2 if self.norm == "layernorm" and self.bias else 1)
        biases = sum(g.out for g in self.gemvs) if self.bias else 0
        layer = self.layer_bytes + biases + (1 if self.parallel else 2) * norm
        embedding = self.vocab * self.hidden * (1 if self.tied else 2)
        return self.layers * layer + embedding + self.positions * self.hidden + norm

    @property
    def weight_bytes(self) -> int:
        """INT8 bytes that the model takes in memory."""
        return self.parameters

    @property
    def full_bytes(self) -> int:
        """Weights, and the KV cache at full context."""
        return self.weight_bytes + self.kv_bytes_per_token * self.max_context

    def softmax(self, context: int) -> Nonlinear:
        """The softmax of one layer, for one token that attends to ``context`` positions."""
        return Nonlinear("softmax", self.heads * context, self.heads * context)

    @property
    def elementwise(self) -> tuple[Nonlinear, ...]:
        """All other operators of one layer that are no GEMV, for one token, in order."""
        h, f, a = self.hidden, self.ffn, self.attention_width
        ops = [Nonlinear("norm", h, h)]
        if not self.positions:
            ops.append(Nonlinear("rope", a + self.kv_width, a + self.kv_width))
        if not self.parallel:
            ops += [Nonlinear("residual", 2 * h, h), Nonlinear("norm", h, h)]
        ops.append(Nonlinear("activation", (2 if self.gated else 1) * f, f))
        ops.append(Nonlinear("residual", (3 if self.parallel else 2) * h, h))
        return tuple(ops)

"""Parameters of the control unit: one frozen object each for its sizes and for its configuration.

Source of defaults and ranges: the control-unit specification, sections "State" and "Ranges".
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from ahasd.models.errors import ConfigError

__all__ = ["ControlConfig", "UnitParams"]


@dataclass(frozen=True, kw_only=True)
class UnitParams:
    """Sizes fixed at elaboration, shared by golden model, RTL and benches.

    Raises
    ------
    ConfigError
        If the ring could overflow or a size is not what the encodings need.
    """

    queue_depth: int = 128
    """Tokens in the ring, a power of two, at least ``max_draft`` for each closed batch and an open one."""
    token_bits: int = 18
    entropy_bits: int = 8
    """Bits of a token's entropy, in 1/256 of H_max."""
    max_draft: int = 16
    """Largest legal ``ControlConfig.max_draft``."""
    verify_max: int = 32
    preverify_max: int = 8
    bucket_bits: int = 3
    """Bits of a batch's mean entropy; two of them index the PHT."""
    history: int = 8
    """Length of LEHT and LCEHT, a power of two."""
    llr_bits: int = 3
    """Bits of LLR, which counts closed batches; it also indexes the PHT."""
    cycle_entries: int = 4
    """Entries of NVCT, PDCT and PVCT each, a power of two."""
    ratio_bits: int = 32
    """Cycle-table entry, UQ24.8 ticks per unit of length."""
    duration_bits: int = 24
    time_bits: int = 32
    position_bits: int = 16
    context_bits: int = 15
    counter_bits: int = 32
    sequence_limit: int = 32000
    """Committed tokens after which the status bit asks software for a new sequence."""

    RANGES: ClassVar[dict[str, tuple[int, int]]] = {
        "bucket_bits": (1, 4),
        "history": (2, 32),
        "llr_bits": (2, 4),
        "cycle_entries": (1, 8),
        "queue_depth": (64, 512),
        "token_bits": (12, 18),
    }
    """The sizes that a user may choose, within what golden model and RTL are tested for."""

    def __post_init__(self) -> None:
        for key in ("queue_depth", "history", "cycle_entries"):
            size = getattr(self, key)
            if size < 1 or size & (size - 1):
                raise ConfigError(f"{key}: {size} must be a power of two")
        if self.history < 2:
            raise ConfigError(f"history: {self.history} must be at least 2, an older and a newer half")
        least = (self.batches + 1) * self.max_draft
        if self.queue_depth < least:
            raise ConfigError(
                f"queue_depth: {self.queue_depth} must be at least 2^llr_bits x max_draft = {least}, "
                "or the ring could overflow"
            )

    @property
    def batches(self) -> int:
        """Closed batches at most; LLR counts them."""
        return (1 << self.llr_bits) - 1

    @property
    def index_bits(self) -> int:
        """Width of a PHT index: two averaged buckets and LLR."""
        return 2 * self.bucket_bits + self.llr_bits

    @property
    def pht_entries(self) -> int:
        """2-bit counters in the pattern history table."""
        return 1 << self.index_bits

    @property
    def context_position_bits(self) -> int:
        """Width of context + position."""
        return self.position_bits + 1

    @property
    def duration_max(self) -> int:
        """Largest duration, in ticks; longer ones saturate."""
        return (1 << self.duration_bits) - 1


@dataclass(frozen=True, kw_only=True)
class ControlConfig:
    """What software configures before a sequence; also the first line of a replay file.

    Raises
    ------
    ConfigError
        If a value has the wrong type or is out of its range, naming key, value and range.
    """

    edc: bool = True
    """Entropy-history drafting control on."""
    tvc: bool = True
    """Time-aware pre-verification control on."""
    suppress: str = "wait"
    """What the PIM does when EDC says stop and ``tvc`` is off: ``wait`` or ``preverify``."""
    verify_all: bool = True
    """Verify up to the newest closed batch, else only the oldest."""
    max_draft: int = 16
    """Tokens in a batch, 1..16."""
    verify_max: int = 32
    """Tokens in a verification, 1..32."""
    preverify_max: int = 8
    """Tokens in a pre-verification, 1..8."""
    context: int = 1
    """Prompt tokens, 1..32767."""
    prompt_token: int = 0
    """Id of the last prompt token, 18 bits."""
    npu_preset: int = 0
    """First content of NVCT, UQ24.8 ticks per KV entry."""
    draft_preset: int = 0
    """First content of PDCT, UQ24.8 ticks per drafted token."""
    preverify_preset: int = 0
    """First content of PVCT, UQ24.8 ticks per pre-verified token."""

    RANGES: ClassVar[dict[str, tuple[int, int]]] = {
        "max_draft": (1, 16),
        "verify_max": (1, 32),
        "preverify_max": (1, 8),
        "context": (1, 32767),
        "prompt_token": (0, (1 << 18) - 1),
        "npu_preset": (0, (1 << 32) - 1),
        "draft_preset": (0, (1 << 32) - 1),
        "preverify_preset": (0, (1 << 32) - 1),
    }

    def __post_init__(self) -> None:
        for key in ("edc", "tvc", "verify_all"):
            if not isinstance(getattr(self, key), bool):
                raise ConfigError(f"{key}: {getattr(self, key)!r} must be true or false")
        if self.suppress not in ("wait", "preverify"):
            raise ConfigError(f"suppress: {self.suppress!r} must be 'wait' or 'preverify'")
        for key, (low, high) in self.RANGES.items():
            value = getattr(self, key)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise ConfigError(f"{key}: {value!r} must be an integer from {low} to {high}")

    def to_dict(self) -> dict[str, bool | int | str]:
        """The configuration in the replay format's key order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

"""Draft-control predictors: is drafting further ahead worth it?

:class:`Predictor` is the protocol of the golden model; ``ahasd.rtl.predictor`` has the same operations as
a hardware signature. :class:`EntropyHistoryPredictor` is the design's EDC, :class:`AlwaysGoOn` the second,
trivial implementation. Bring your own by implementing the protocol (and, for RTL, the signature).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ahasd.models.control.params import UnitParams

__all__ = ["PREDICTORS", "AlwaysGoOn", "EntropyHistoryPredictor", "Look", "Predictor", "bucket_of"]


@dataclass(frozen=True, slots=True)
class Look:
    """A prediction: the index it was read at (kept with the batch) and whether to go on drafting."""

    index: int
    go_on: bool


def bucket_of(entropy_sum: int, tokens: int, params: UnitParams) -> int:
    """Average entropy of a batch, reduced to ``bucket_bits``: floor(sum / n) >> 5 for 8-bit entropies."""
    return (entropy_sum // tokens) >> (params.entropy_bits - params.bucket_bits)


class Predictor(Protocol):
    """What the control unit asks of a draft-control predictor. ``llr`` counts closed batches."""

    def clear(self) -> None:
        """Forget all training (reset and ``clear``)."""

    def start_sequence(self) -> None:
        """Forget the histories of the sequence; training goes on."""

    def close(self, bucket: int, llr: int) -> Look:
        """A batch of average entropy ``bucket`` has closed and is counted in ``llr``: record and predict."""

    def lookup(self, llr: int) -> Look:
        """Predict for the present history."""

    def accept(self, index: int, bucket: int) -> None:
        """A batch that was closed with ``index`` and ``bucket`` has retired."""

    def reject(self, index: int) -> None:
        """A batch that was closed with ``index`` has been refuted."""

    def restore(self) -> None:
        """Back to the history of accepted batches (after a flush or a fix)."""


class EntropyHistoryPredictor:
    """EDC: LEHT, LCEHT and a pattern history table of 2-bit counters, as a two-level branch predictor."""

    WEAKLY_GO_ON = 2
    STRONGLY_GO_ON = 3

    def __init__(self, params: UnitParams) -> None:
        self.params = params
        self.pht: list[int] = []
        self.leht: list[int] = []
        self.lceht: list[int] = []
        self.clear()
        self.start_sequence()

    def clear(self) -> None:
        self.pht = [self.WEAKLY_GO_ON] * self.params.pht_entries

    def start_sequence(self) -> None:
        self.leht = [0] * self.params.history
        self.lceht = [0] * self.params.history

    def index(self, llr: int) -> int:
        """PHT index: average of the older half, of the newer half, and LLR, most significant first."""
        half = self.params.history // 2
        older = sum(self.leht[half:]) // half
        newer = sum(self.leht[:half]) // half
        return (older << self.params.bucket_bits | newer) << self.params.llr_bits | llr

    def close(self, bucket: int, llr: int) -> Look:
        self.leht = [bucket, *self.leht[:-1]]
        return self.lookup(llr)

    def lookup(self, llr: int) -> Look:
        index = self.index(llr)
        return Look(index, self.pht[index] >= self.WEAKLY_GO_ON)

    def accept(self, index: int, bucket: int) -> None:
        self.pht[index] = min(self.pht[index] + 1, self.STRONGLY_GO_ON)
        self.lceht = [bucket, *self.lceht[:-1]]

    def reject(self, index: int) -> None:
        self.pht[index] = max(self.pht[index] - 1, 0)

    def restore(self) -> None:
        self.leht = list(self.lceht)


class AlwaysGoOn:
    """The trivial predictor: drafting ahead is always worth it. Keeps no state."""

    def __init__(self, params: UnitParams) -> None:
        self.params = params

    def clear(self) -> None:
        pass

    def start_sequence(self) -> None:
        pass

    def close(self, bucket: int, llr: int) -> Look:
        return Look(0, True)

    def lookup(self, llr: int) -> Look:
        return Look(0, True)

    def accept(self, index: int, bucket: int) -> None:
        pass

    def reject(self, index: int) -> None:
        pass

    def restore(self) -> None:
        pass


PREDICTORS = {"edc": EntropyHistoryPredictor, "always-go": AlwaysGoOn}
"""Predictors by the name that ``control.predictor`` takes."""

"""What an operator's part costs on one of two devices, and the machine that the two make up."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ahasd.models.energy.activity import Activity
from ahasd.models.language import Gemv, LanguageModel

__all__ = ["Device", "Machine", "Part"]


class Part(NamedTuple):
    """One device's part of an operator, ps."""

    exchange_ps: int
    """Inputs and results on their way, with nothing else under way."""
    work_ps: int
    """At the same time as the other device's work."""


class Device(Protocol):
    """One of the two, with the weights and KV entries of one model that lie with it."""

    def gemv(self, part: Gemv, tokens: int) -> Part:
        """``part.out`` of an operator's outputs, for ``tokens`` inputs."""

    def gemv_activity(self, part: Gemv, tokens: int) -> Activity:
        """Events of that."""

    def attention(self, kv_len: int, tokens: int) -> Part:
        """``kv_len`` of the KV entries of one layer, for ``tokens`` queries."""

    def attention_activity(self, kv_len: int, tokens: int) -> Activity:
        """Events of that."""


class Machine(Protocol):
    """Two devices with a memory each. The first one is in charge: it does all that is not split."""

    @property
    def rooms(self) -> tuple[int, int]:
        """Bytes of the memories."""

    def devices(self, model: LanguageModel) -> tuple[Device | None, Device | None]:
        """Both, with ``model``; None for one that has no memory."""

    def rest(self, model: LanguageModel, kv_len: int, tokens: int, outputs: int) -> tuple[int, Activity]:
        """What the first device does beside operators in a pass, ps and events."""

"""What every drafting policy is: when does the token just drafted, or the one before it, end the batch?

A policy sees what hardware would: features of the current token, its own state, verdicts that came back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, ClassVar, NamedTuple

__all__ = ["Features", "Policy", "Verdict"]


class Features(NamedTuple):
    """What the draft model's head says of one token."""

    entropy: float
    """Nats, of its softmax at temperature 1."""
    top1: float
    """Largest probability of that softmax."""
    accept_pred: float
    """Learned probability of acceptance, given that all before it is accepted."""


class Verdict(Enum):
    """A policy's answer to one more token."""

    GO_ON = "go on"
    LAST = "last"
    """This token ends the batch."""
    LAST_BEFORE = "last before"
    """The token before this one ended the batch; this one opens the next. Never for the first of a batch."""


class Policy(ABC):
    """A drafting policy. The caller (``Cutter``) keeps the order of calls and the cap on a batch's length.

    ``begin_sequence``, then for each batch ``begin_batch`` and ``after`` for each of its tokens; ``verdict``
    comes in between, whenever the NPU answers. A policy that may return ``LAST_BEFORE`` sets ``holds_back``:
    each token then waits for the next one's answer. After ``LAST_BEFORE`` the same token is shown again,
    after ``begin_batch``, as the first of its batch.
    """

    holds_back: ClassVar[bool] = False

    @property
    @abstractmethod
    def name(self) -> str:
        """As a user would give it, variant and numbers included."""

    @property
    @abstractmethod
    def params(self) -> Any:
        """Frozen dataclass of settings (``ahasd.models.settings``)."""

    def begin_sequence(self) -> None:  # noqa: B027 - a hook
        """A new sequence: forget everything."""

    def begin_batch(self, position: int | None = None) -> None:  # noqa: B027 - a hook
        """A new batch: the next token is its first.

        ``position`` counts generated tokens from 0; what had been drafted from there on is void. None: the
        caller drafts and verifies in turn, so that a verdict is always of the latest batch.
        """

    @abstractmethod
    def after(self, token: Features) -> Verdict:
        """One more token has been drafted."""

    def verdict(  # noqa: B027 - a hook
        self, issued: int, accepted: int, position: int | None = None, now: int | None = None
    ) -> None:
        """A verification of ``issued`` tokens came back with the first ``accepted`` right.

        ``position`` is that of the first of them; it may lie in any batch drafted since. ``now`` is what a
        timebase shows: ps since the sequence began.
        """

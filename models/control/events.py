"""Events into the control unit and decisions out of it, as plain values.

``at`` is the timebase reading (32 bits, ticks) at which the unit accepted the event.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "Abort",
    "Aborted",
    "Commit",
    "Decision",
    "Draft",
    "Event",
    "Feedback",
    "Preverified",
    "Preverify",
    "Request",
    "Token",
    "Verify",
]


@dataclass(frozen=True, slots=True)
class Token:
    """A drafted token: its id, its entropy in 1/256 of H_max, and whether it ends its batch."""

    id: int
    entropy: int
    last: bool


@dataclass(frozen=True, slots=True)
class Feedback:
    """The NPU's verdict: tokens accepted and the target model's own token after them."""

    accepted: int
    next: int


@dataclass(frozen=True, slots=True)
class Preverified:
    """A pre-verification's result: tokens found right and, if not all were, the target's token instead."""

    passed: int
    fix: int | None


@dataclass(frozen=True, slots=True)
class Aborted:
    """The PIM has stopped the task that it was told to abort."""


@dataclass(frozen=True, slots=True)
class Commit:
    """Tokens that are final, oldest first."""

    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Abort:
    """Stop the task in progress."""


@dataclass(frozen=True, slots=True)
class Verify:
    """Keep ``position`` KV entries, feed ``tokens``, compare outputs with those after the first (NPU)."""

    position: int
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Preverify:
    """As :class:`Verify`, on the PIM with the target model."""

    position: int
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """Keep ``position`` KV entries of the draft model, feed ``tokens``, then generate (PIM)."""

    position: int
    tokens: tuple[int, ...]


Event = Token | Feedback | Preverified | Aborted
Request = Verify | Preverify | Draft
Decision = Commit | Abort | Request

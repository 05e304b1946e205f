"""When a claim holds. Fixed before any ledger was made; docs/reproduce.md gives the reasons."""

from __future__ import annotations

from enum import Enum

__all__ = ["TOLERANCE", "Rule", "follows"]

TOLERANCE = 1.25
"""Factor, either way, within which a figure counts as the paper's."""


class Rule(Enum):
    """What kind of statement a claim is."""

    AVERAGE = "average"
    """A mean over pairs and policies (or a single figure): ours is within the tolerance."""
    MOST = "at most"
    """The largest of all: ours, the largest too, is within the tolerance. Above it the claim understates."""
    LEAST = "at least"
    """The smallest of all, likewise."""
    BELOW = "less than"
    """A bound: ours is below it, without tolerance."""
    GAIN_BELOW = "a gain, less than"
    """A bound on a gain: ours is below it, and is a gain, that is, above 1."""


def follows(rule: Rule, paper: float, ours: float) -> bool:
    """Whether ``ours`` bears the claim out. Figures that may be negative need the same sign."""
    if rule is Rule.BELOW:
        return ours < paper
    if rule is Rule.GAIN_BELOW:
        return 1 < ours < paper
    ratio = ours / paper
    return 1 / TOLERANCE <= ratio <= TOLERANCE

"""Brings a pair of units into a named phase of a sequence."""

from __future__ import annotations

from collections.abc import Callable

from ahasd.models.control.events import Abort, Draft, Feedback, Preverify, Token
from ahasd.models.control.params import ControlConfig

from .pair import Pair

__all__ = ["BATCH", "DRAFT_CONFIG", "PHASES", "PREVERIFY_CONFIG", "in_phase"]

DRAFT_CONFIG = ControlConfig(edc=False, max_draft=4, context=300, prompt_token=99)
PREVERIFY_CONFIG = ControlConfig(
    tvc=False, suppress="preverify", max_draft=4, preverify_max=8, context=300, prompt_token=99
)
BATCH = 3


def draft_batch(pair: Pair) -> None:
    for number in range(1, BATCH + 1):
        pair.step(Token(10 * number, 60 * number, number == BATCH))


def idle() -> Pair:
    return Pair()


def drafting() -> Pair:
    pair = Pair()
    pair.start(DRAFT_CONFIG)
    assert pair.golden.task is not None
    return pair


def verifying() -> Pair:
    """A verification runs, and a draft with one token in."""
    pair = drafting()
    draft_batch(pair)
    pair.step(Token(5, 5, False))
    assert pair.golden.npu_busy
    return pair


def full() -> Pair:
    """Seven batches closed: no task."""
    pair = drafting()
    for _ in range(7):
        draft_batch(pair)
    assert pair.golden.task is None
    return pair


def preverifying() -> Pair:
    """A pre-verification of three tokens beside a verification of the same."""
    pair = Pair(never_go_on=True)
    pair.start(PREVERIFY_CONFIG)
    draft_batch(pair)
    task = pair.golden.task
    assert task is not None
    assert task.kind is Preverify
    assert task.tokens == BATCH
    return pair


def aborting_draft() -> Pair:
    pair = verifying()
    outcome = pair.step(Feedback(1, 12345))
    assert Abort() in outcome.decisions
    task = pair.golden.task
    assert task is not None
    assert task.kind is Draft
    return pair


def aborting_preverification() -> Pair:
    pair = preverifying()
    outcome = pair.step(Feedback(1, 12345))
    assert Abort() in outcome.decisions
    return pair


def stopping() -> Pair:
    """Told to stop while a verification runs; the draft beside it is being aborted."""
    pair = verifying()
    pair.stop()
    assert pair.golden.stopping
    return pair


PHASES: dict[str, Callable[[], Pair]] = {
    "idle": idle,
    "drafting": drafting,
    "verifying": verifying,
    "full": full,
    "preverifying": preverifying,
    "aborting draft": aborting_draft,
    "aborting preverification": aborting_preverification,
    "stopping": stopping,
}


def in_phase(name: str) -> Pair:
    return PHASES[name]()

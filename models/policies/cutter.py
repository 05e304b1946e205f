"""Cuts a stream of drafted tokens into batches as a policy says; here alone tokens are held back."""

from __future__ import annotations

from typing import Generic, TypeVar

from ahasd.models.policies.base import Features, Policy, Verdict

__all__ = ["Cutter"]

T = TypeVar("T")


class Cutter(Generic[T]):
    """Puts a policy between the draft model and the queue.

    ``begin`` a batch, ``push`` its tokens; both give back the tokens that may leave now, each with whether
    it is the last of its batch. With a policy that holds back, a token leaves one step later, and the token
    that showed that the batch had ended stays here and opens the next one.
    """

    def __init__(self, policy: Policy, max_draft: int) -> None:
        self._policy = policy
        self._max_draft = max_draft
        self._count = 0
        self._held: tuple[T, Features] | None = None
        self.done = True
        """No batch is open."""

    @property
    def held(self) -> int:
        """Tokens drafted and kept here, 0 or 1."""
        return int(self._held is not None)

    def begin(self, position: int | None = None) -> list[tuple[T, bool]]:
        """Open a batch at ``position``, with the token left over from the last one if there is one."""
        self._policy.begin_batch(position)
        self._count, self.done = 0, False
        if self._held is None:
            return []
        item, features = self._held
        self._held = None
        return self.push(item, features)

    def push(self, item: T, features: Features) -> list[tuple[T, bool]]:
        """The draft model has made one more token of the open batch.

        Raises
        ------
        RuntimeError
            If no batch is open, or the policy ends a batch before its first token or holds back unannounced.
        """
        if self.done:
            raise RuntimeError("a token without an open batch")
        verdict = self._policy.after(features)
        before = self._held
        self._held = None
        if verdict is Verdict.LAST_BEFORE:
            if before is None:
                raise RuntimeError(f"{self._policy.name}: no token before this one to end the batch with")
            self._held, self.done = (item, features), True
            return [(before[0], True)]
        out = [] if before is None else [(before[0], False)]
        self._count += 1
        if verdict is Verdict.LAST or self._count == self._max_draft:
            self.done = True
            out.append((item, True))
        elif self._policy.holds_back:
            self._held = (item, features)
        else:
            out.append((item, False))
        return out

    def drop(self) -> int:
        """A flush, a fix or an abort: forget the open batch and the held token; how many tokens that cost."""
        count, self._held, self.done = self.held, None, True
        return count

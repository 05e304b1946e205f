"""The draft model as the PIM runs it: KV cache with roll-back, and what it says next, from a trace."""

from __future__ import annotations

from collections.abc import Sequence

from ahasd.models.rollout import DraftRollout, DraftToken
from ahasd.sim.caches import TrueText
from ahasd.sim.ports import ModelError

__all__ = ["Drafter"]


class Drafter:
    """The draft model and its KV cache.

    A request that continues exactly what the model has said itself goes on with the same rollout of the
    trace; any other begins a new rollout at the position after its last token, whose prefix must be true (a
    trace has rollouts from true prefixes only; the control unit never asks for another).
    """

    def __init__(self, rollout: DraftRollout, text: TrueText) -> None:
        self._rollout = rollout
        self._text = text
        self._fed: list[int] = []
        """Tokens whose KV rows are there, from position -1 on."""
        self._said: int | None = None
        """The model's latest token, not fed yet."""
        self._pending: list[int] = []
        self._base = 0
        self._step = 0

    @property
    def rows(self) -> int:
        """Entries of the KV cache, the prompt's included."""
        return self._text.context - 1 + len(self._fed)

    @property
    def feeding(self) -> int:
        """Tokens that the next pass feeds."""
        return len(self._pending)

    @property
    def position(self) -> int:
        """Generated tokens before the one that :meth:`next` will say."""
        return self._base + self._step

    def resume(self, position: int, tokens: Sequence[int], said_is_next: bool) -> bool:
        """Keep the first ``position`` entries and feed ``tokens``, in the next pass.

        Parameters
        ----------
        position, tokens
            The request.
        said_is_next : bool
            The latest token is being held back and would open the next batch.

        Returns
        -------
        bool
            True if the token held back is the answer, so that no pass is needed for it.
        """
        keep = position - (self._text.context - 1)
        if not 0 <= keep <= len(self._fed):
            raise ModelError(
                f"draft: keeps {position} entries of the draft model's KV cache, {self.rows} are there"
            )
        sequence = [*self._fed[:keep], *tokens]
        if said_is_next and sequence == self._fed:
            return True
        if self._said is not None and sequence == [*self._fed, self._said]:
            self._pending = [self._said]
            return False
        self._text.check("prefix of a draft", -1, sequence)
        self._fed = self._fed[:keep]
        self._pending = list(tokens)
        self._said = None
        self._base, self._step = len(sequence) - 1, 0
        return False

    def next(self) -> DraftToken:
        """One pass: feed what is pending, say one token."""
        self._fed += self._pending
        token = self._rollout.token(self._base, self._step)
        self._step += 1
        self._said = token.id
        self._pending = [token.id]
        return token

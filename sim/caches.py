"""KV caches by content, so that a request which needs a row that is not there is caught."""

from __future__ import annotations

from collections.abc import Sequence

from ahasd.sim.ports import ModelError

__all__ = ["TargetCache", "TrueText"]


class TrueText:
    """The target model's own output y, by which all is judged; position -1 is the last prompt token."""

    def __init__(self, y: Sequence[int], context: int, prompt_token: int) -> None:
        self.context = context
        self._tokens = [prompt_token, *y]

    def __getitem__(self, position: int) -> int:
        return self._tokens[position + 1]

    def check(self, what: str, position: int, tokens: Sequence[int]) -> None:
        """``tokens`` must be the target's own from ``position`` on.

        Raises
        ------
        ModelError
            Naming ``what`` and the first position that differs.
        """
        expected = self._tokens[position + 1 : position + 1 + len(tokens)]
        if list(tokens) != expected:
            at = next(i for i, (a, b) in enumerate(zip(tokens, expected, strict=False)) if a != b)
            raise ModelError(
                f"{what}: token {tokens[at]} at position {position + at}, the target model has {expected[at]}"
            )

    def judge(self, position: int, tokens: Sequence[int]) -> int:
        """How many leading ``tokens`` are the target's own from ``position`` on."""
        expected = self._tokens[position + 1 : position + 1 + len(tokens)]
        return next(
            (i for i, (a, b) in enumerate(zip(tokens, expected, strict=False)) if a != b), len(expected)
        )


class TargetCache:
    """The target model's one KV cache in memory.

    A verification's rows stay with the NPU until its verdict; with the commit of m tokens, rows first - 1 ..
    first + m - 2 of the sequence become part of this cache. Pre-verification reads and extends it at once.
    """

    def __init__(self, text: TrueText) -> None:
        self._text = text
        self._rows = text.context - 1
        self._committed = 0

    @property
    def rows(self) -> int:
        """Entries that are there, the prompt's included."""
        return self._rows

    def need(self, what: str, position: int) -> None:
        """A request keeps the first ``position`` entries: they must be there."""
        if position > self._rows:
            raise ModelError(
                f"{what}: keeps {position} entries of the target's KV cache, {self._rows} are there"
            )

    def keep(self, position: int) -> None:
        """A pre-verification begins: it overwrites what comes after the first ``position`` entries."""
        self.need("pre-verification", position)
        self._rows = position

    def add(self, position: int, tokens: Sequence[int]) -> None:
        """A pre-verification has left the rows of ``tokens``, found right, after the first ``position``."""
        self._join(position, tokens)

    def commit(self, tokens: Sequence[int]) -> None:
        """``tokens`` are final: the verification's rows that led to them are here now."""
        first = self._committed
        self._committed += len(tokens)
        before = self._text[first - 1]
        self._join(self._text.context + first - 1, [before, *tokens[:-1]])

    def _join(self, position: int, tokens: Sequence[int]) -> None:
        self.need("rows of the target model", position)
        self._text.check("KV cache of the target model", position - self._text.context, tokens)
        self._rows = max(self._rows, position + len(tokens))

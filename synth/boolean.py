"""Boolean expressions as Liberty writes them, with AND as ``&``, ``*`` or a space, NOT as ``!`` or ``'``."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["evaluate"]

_TOKEN = re.compile(r"\s*(?:(\w+(?:\[\d+\])?)|(.))")


def evaluate(expression: str, values: Mapping[str, bool]) -> bool:
    """The value of ``expression``; binding, tightest first: ``'``, ``!``, ``^``, AND, OR.

    Raises
    ------
    ValueError
        If the expression is malformed or names a pin that ``values`` lacks.
    """
    parser = _Parser(expression, values)
    result = parser.disjunction()
    if parser.tokens:
        raise ValueError(f"{expression!r}: unexpected {parser.tokens[0]!r}")
    return result


class _Parser:
    def __init__(self, expression: str, values: Mapping[str, bool]) -> None:
        self.expression = expression
        self.values = values
        self.tokens = [word or mark for word, mark in _TOKEN.findall(expression.strip())]

    def accept(self, marks: str) -> bool:
        if self.tokens and self.tokens[0] in marks:
            del self.tokens[0]
            return True
        return False

    def disjunction(self) -> bool:
        result = self.conjunction()
        while self.accept("|+"):
            result = self.conjunction() or result
        return result

    def conjunction(self) -> bool:
        result = self.exclusive()
        while self.accept("&*") or (
            self.tokens and self.tokens[0] not in ")|+^'"
        ):  # two terms side by side: AND
            result = self.exclusive() and result
        return result

    def exclusive(self) -> bool:
        result = self.negation()
        while self.accept("^"):
            result ^= self.negation()
        return result

    def negation(self) -> bool:
        if self.accept("!"):
            return not self.negation()
        result = self.atom()
        while self.accept("'"):
            result = not result
        return result

    def atom(self) -> bool:
        if self.accept("("):
            result = self.disjunction()
            if not self.accept(")"):
                raise ValueError(f"{self.expression!r}: a parenthesis is not closed")
            return result
        token = self.tokens.pop(0) if self.tokens else "end"
        if token in ("0", "1"):
            return token == "1"
        if token not in self.values:
            raise ValueError(f"{self.expression!r}: unexpected {token!r}")
        return self.values[token]

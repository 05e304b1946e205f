"""Arithmetic of the constraint tables: integers, timing parameters, + - * and max()."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ahasd.models.errors import ConfigError

__all__ = ["evaluate"]


def evaluate(text: str, values: Mapping[str, int]) -> int:
    """The value of ``text`` in clocks.

    Raises
    ------
    ConfigError
        If it is not such an expression or names an unknown parameter.
    """
    try:
        return _value(ast.parse(text, mode="eval").body, values)
    except (SyntaxError, TypeError) as error:
        raise ConfigError(f"constraint {text!r}: expected integers, parameters, + - * and max()") from error
    except KeyError as error:
        raise ConfigError(f"constraint {text!r}: {error.args[0]} is no parameter of the standard") from None


def _value(node: ast.expr, values: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return values[name]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left, values) + _value(right, values)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _value(left, values) - _value(right, values)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _value(left, values) * _value(right, values)
        case ast.Call(func=ast.Name(id="max"), args=[first, *rest], keywords=[]):
            return max(_value(argument, values) for argument in (first, *rest))
    raise TypeError(type(node).__name__)

"""Settings: dataclass fields that know their unit, range and source, and overrides that users give.

A frozen dataclass declares each field with ``param`` and calls ``check`` from ``__post_init__``; then
``override`` changes it by dotted keys and ``rows`` lists it. Plain frozen dataclasses that check themselves
work too.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from ahasd.models.errors import ConfigError

__all__ = ["GROUPS", "Row", "by_group", "check", "near", "override", "param", "parse_assignments", "rows"]

T = TypeVar("T")

GROUPS = ("platform", "control", "policy", "system")
"""First parts of the keys that a user may set."""


class Row(NamedTuple):
    """One setting as it is printed."""

    path: str
    value: Any
    unit: str
    allowed: str
    """``low..high`` or the choices."""
    source: str
    note: str = ""


def param(
    default: Any = dataclasses.MISSING,
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    source: str = "",
    note: str = "",
) -> Any:
    """A dataclass field with unit, inclusive range or choices, source of the default, and a remark."""
    metadata = {
        "unit": unit,
        "low": low,
        "high": high,
        "choices": choices,
        "source": source,
        "note": note,
    }
    return dataclasses.field(default=default, metadata=metadata)


def check(settings: Any) -> None:
    """Types and ranges of all fields declared with ``param``.

    Raises
    ------
    ConfigError
        For the first field that is outside: its name, value and range.
    """
    for field, kind in _fields(settings):
        if "unit" in field.metadata:
            value = getattr(settings, field.name)
            object.__setattr__(settings, field.name, _coerce(field.name, value, kind, field))


def override(settings: T, path: str, changes: Mapping[str, Any]) -> T:
    """A copy of the dataclass at ``path`` with ``changes``: full dotted keys to values, or to typed text.

    Raises
    ------
    ConfigError
        If a key is unknown (near ones are listed), a value has the wrong type or is out of range.
    """
    known = {row.path for row in rows(settings, path)}
    for key in changes:
        if key not in known:
            raise ConfigError(f"{key}: unknown key; near: {near(key, known)}")
    return _override(settings, path, changes)


def _override(settings: T, path: str, changes: Mapping[str, Any]) -> T:
    new: dict[str, Any] = {}
    for field, kind in _fields(settings):
        key, value = f"{path}.{field.name}", getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            inner = {k: v for k, v in changes.items() if k.startswith(key + ".")}
            if inner:
                new[field.name] = _override(value, key, inner)
        elif key in changes:
            new[field.name] = _coerce(key, changes[key], kind, field)
    try:
        return typing.cast(T, dataclasses.replace(typing.cast(Any, settings), **new))
    except ConfigError as error:
        raise ConfigError(f"{path}.{error}") from None


def rows(settings: Any, path: str) -> list[Row]:
    """All settings below ``path``, in the order of their declaration; fields marked as labels are none."""
    out: list[Row] = []
    for field, kind in _fields(settings):
        key, value = f"{path}.{field.name}", getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            out += rows(value, key)
            continue
        if field.metadata.get("label"):
            continue
        ranges = getattr(type(settings), "RANGES", {})
        out.append(
            Row(
                path=key,
                value=value,
                unit=field.metadata.get("unit", ""),
                allowed=_allowed(kind, *_bounds(field, ranges), field.metadata.get("choices", ())),
                source=field.metadata.get("source", ""),
                note=field.metadata.get("note", ""),
            )
        )
    return out


def near(name: str, known: Iterable[str], count: int = 4) -> str:
    """Names that resemble ``name``, or all if none does: the end of an error message."""
    names = sorted(known)
    return ", ".join(difflib.get_close_matches(name, names, n=count, cutoff=0.5) or names)


def parse_assignments(assignments: Iterable[str]) -> dict[str, str]:
    """``["key=value", ...]`` as a mapping; the last of equal keys counts."""
    out: dict[str, str] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"{text!r}: expected key=value, such as platform.pim.draft_ranks=4")
        out[key.strip()] = value.strip()
    return out


def by_group(changes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Changes sorted by ``GROUPS``, keys still full; every group is there.

    Raises
    ------
    ConfigError
        If a key begins with none of the groups.
    """
    out: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
    for key, value in changes.items():
        group = key.partition(".")[0]
        if group not in out or "." not in key:
            raise ConfigError(f"{key}: keys begin with {', '.join(f'{g}.' for g in GROUPS)}")
        out[group][key] = value
    return out


def _fields(settings: Any) -> list[tuple[dataclasses.Field[Any], Any]]:
    """Fields that can be given, each with its type."""
    hints = _hints(type(settings))
    return [(field, hints[field.name]) for field in dataclasses.fields(settings) if field.init]


_HINTS: dict[type, dict[str, Any]] = {}


def _hints(kind: type) -> dict[str, Any]:
    if kind not in _HINTS:
        _HINTS[kind] = typing.get_type_hints(kind)
    return _HINTS[kind]


def _bounds(
    field: dataclasses.Field[Any], ranges: Mapping[str, tuple[float, float]]
) -> tuple[float | None, float | None]:
    low, high = ranges.get(field.name, (None, None))
    return field.metadata.get("low", low), field.metadata.get("high", high)


def _allowed(kind: Any, low: float | None, high: float | None, choices: tuple[str, ...]) -> str:
    if choices:
        return " | ".join(choices)
    if low is None and high is None:
        return "true | false" if kind is bool else ""
    return f"{'' if low is None else f'{low:g}'}..{'' if high is None else f'{high:g}'}"


_WORDS = {
    "true": True,
    "on": True,
    "yes": True,
    "1": True,
    "false": False,
    "off": False,
    "no": False,
    "0": False,
}


def _coerce(key: str, value: Any, kind: Any, field: dataclasses.Field[Any]) -> Any:
    """``value`` (typed, or text) as the field's type and inside its range."""
    meta = field.metadata
    low, high, choices = meta.get("low"), meta.get("high"), meta.get("choices", ())
    if isinstance(kind, types.UnionType):
        if value is None or value == "none":
            return None
        kind = next(k for k in typing.get_args(kind) if k is not types.NoneType)
    converted = _convert(value, kind)
    inside = converted is not None
    if inside and choices:
        inside = converted in choices
    if inside and kind in (int, float):
        inside = (low is None or converted >= low) and (high is None or converted <= high)
    if inside:
        return converted
    word = {int: "an integer", float: "a number", bool: "true or false", str: "text"}.get(kind, str(kind))
    span = _allowed(kind, low, high, ())
    if choices:
        word = f"one of {', '.join(choices)}"
    elif kind in (int, float) and span:
        word += f" in {span}"
    unit = f" ({meta['unit']})" if meta.get("unit") else ""
    raise ConfigError(f"{key}: {value!r} must be {word}{unit}")


def _convert(value: Any, kind: Any) -> Any:
    """None if ``value`` is no ``kind``."""
    if kind is bool:
        return (
            _WORDS.get(value.lower())
            if isinstance(value, str)
            else value
            if isinstance(value, bool)
            else None
        )
    if kind is str:
        return value if isinstance(value, str) else None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        if kind is int:
            return int(value, 0) if isinstance(value, str) else value if isinstance(value, int) else None
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None

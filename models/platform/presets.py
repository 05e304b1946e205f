"""Platforms by name or from a user's TOML, overrides, capacity, and the table of all parameters."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ahasd.models.errors import ConfigError
from ahasd.models.language import LanguageModel
from ahasd.models.platform.params import Platform
from ahasd.models.settings import Row, near, override, rows

__all__ = [
    "DEFAULT_PLATFORM",
    "check_capacity",
    "check_room",
    "list_platforms",
    "load_platform",
    "platform_rows",
    "with_overrides",
]

DEFAULT_PLATFORM = "ahasd"
_HOME = Path(__file__).parents[1] / "data" / "platforms"


def list_platforms() -> list[str]:
    """Names that ``load_platform`` takes."""
    return sorted(path.stem for path in _HOME.glob("*.toml"))


def load_platform(name_or_path: str | Path = DEFAULT_PLATFORM) -> Platform:
    """A preset, or the platform of a TOML file that gives what differs from the ``ahasd`` preset.

    Raises
    ------
    ConfigError
        If there is no such preset or file, a key is unknown or a value out of range.
    """
    name = str(name_or_path)
    if name in list_platforms():
        return _read(_HOME / f"{name}.toml")
    if not name.endswith(".toml"):
        raise ConfigError(
            f"platform {name!r}: unknown; near: {near(name, list_platforms())}; or a .toml file"
        )
    return _read(Path(name))


def with_overrides(platform: Platform, changes: Mapping[str, Any]) -> Platform:
    """A copy with full dotted keys changed: ``{"platform.pim.draft_ranks": "4"}``, values or typed text."""
    return override(platform, "platform", changes)


def platform_rows(platform: Platform) -> list[Row]:
    """Every parameter with its value, unit, range and source; one that differs from the default says so."""
    out = []
    for row, default in zip(rows(platform, "platform"), rows(Platform(), "platform"), strict=True):
        if row.value == default.value:
            out.append(row)
        else:
            source = f"{platform.source or platform.name} (default {default.value})"
            out.append(row._replace(source=source))
    return out


def check_capacity(platform: Platform, draft: LanguageModel | None, target: LanguageModel | None) -> None:
    """Weights and KV cache at full context, INT8, must fit on the ranks of each model.

    Raises
    ------
    ConfigError
        If one does not: what it takes and what there is.
    """
    for role, model, ranks in (
        ("draft", draft, platform.pim.draft_ranks),
        ("target", target, platform.target_ranks),
    ):
        if model is None:
            continue
        need, room = model.full_bytes, ranks * platform.dram.rank_bytes
        if need > room:
            raise ConfigError(
                f"platform.pim.draft_ranks: {role} model {model.name} needs {need / 1e9:.2f} GB with the "
                f"KV cache of {model.max_context} tokens, its {ranks} ranks hold {room / 1e9:.2f} GB"
            )


def check_room(platform: Platform, models: Sequence[LanguageModel], ranks: int) -> None:
    """As :func:`check_capacity`, of models that share ``ranks`` ranks.

    Raises
    ------
    ConfigError
        If they do not fit: what they take and what there is.
    """
    need, room = sum(model.full_bytes for model in models), ranks * platform.dram.rank_bytes
    if need > room:
        names = " and ".join(model.name for model in models)
        raise ConfigError(
            f"platform.dram.rank_mib: {names} need {need / 1e9:.2f} GB with KV caches at full context, "
            f"{ranks} ranks hold {room / 1e9:.2f} GB"
        )


def _read(path: Path) -> Platform:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not TOML ({str(error).splitlines()[0]})") from None
    base = Platform(
        name=str(table.pop("name", path.stem)),
        description=str(table.pop("description", "")),
        source=str(table.pop("source", "")),
    )
    try:
        return with_overrides(base, dict(_flat("platform", table)))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _flat(prefix: str, table: Mapping[str, Any]) -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for key, value in table.items():
        path = f"{prefix}.{key}"
        out += _flat(path, value) if isinstance(value, dict) else [(path, value)]
    return out

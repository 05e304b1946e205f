"""Systems by name. Each module of this package registers its own when it is imported."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ahasd.models.errors import ConfigError
from ahasd.models.settings import near
from ahasd.sim.systems.spec import SystemSpec

__all__ = ["DEFAULT_SYSTEM", "find_system", "list_systems", "register", "register_family"]

DEFAULT_SYSTEM = "ahasd"


class _Family(NamedTuple):
    make: Callable[[list[str]], SystemSpec]
    examples: tuple[str, ...]


_systems: dict[str, SystemSpec] = {}
_families: dict[str, _Family] = {}
_files: dict[Path, SystemSpec] = {}


def register(spec: SystemSpec) -> SystemSpec:
    """Make ``spec`` available under its name.

    Raises
    ------
    ValueError
        If the name is taken.
    """
    if spec.name in _systems or spec.name.partition("+")[0] in _families:
        raise ValueError(f"system {spec.name!r} is registered already")
    _systems[spec.name] = spec
    return spec


def register_family(base: str, make: Callable[[list[str]], SystemSpec], examples: Sequence[str] = ()) -> None:
    """Make ``base`` and all ``base+PART+...`` available; ``make`` is given the parts, raises ConfigError.

    ``examples`` are members that are listed.
    """
    if base in _families or base in _systems:
        raise ValueError(f"system {base!r} is registered already")
    _families[base] = _Family(make, (base, *examples))


def list_systems() -> list[str]:
    """Names of available systems, of a family some members."""
    _discover()
    return sorted([*_systems, *(name for family in _families.values() for name in family.examples)])


def find_system(name: str) -> SystemSpec:
    """The system called ``name``, or that of a Python file which registers one.

    Raises
    ------
    ConfigError
        If there is no such system (near names are listed) or the file cannot be used.
    """
    _discover()
    if name in _systems:
        return _systems[name]
    base, *parts = name.split("+")
    if base in _families:
        return _families[base].make(parts)
    if name.endswith(".py"):
        return _from_file(Path(name))
    raise ConfigError(f"system {name!r}: unknown; near: {near(name, list_systems())}; or a .py file")


def _discover() -> None:
    package = importlib.import_module("ahasd.sim.systems")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


def _from_file(path: Path) -> SystemSpec:
    """The last system that ``path`` registers; a file is executed once."""
    where = path.resolve()
    if where in _files:
        return _files[where]
    before = set(_systems)
    loader = importlib.util.spec_from_file_location(f"ahasd_system_{path.stem}", where)
    assert loader is not None, "a .py file has a loader"
    assert loader.loader is not None, "a .py file has a loader"
    try:
        loader.loader.exec_module(importlib.util.module_from_spec(loader))
    except Exception as error:
        for name in set(_systems) - before:
            del _systems[name]
        what = f"cannot be read ({error.strerror})" if isinstance(error, OSError) else repr(error)
        raise ConfigError(f"{path}: {what}") from error
    new = [name for name in _systems if name not in before]
    if not new:
        raise ConfigError(f"{path}: registers no system")
    _files[where] = _systems[new[-1]]
    return _files[where]

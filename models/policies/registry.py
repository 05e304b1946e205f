"""Names of drafting policies."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ahasd.models.errors import ConfigError
from ahasd.models.policies.base import Policy
from ahasd.models.policies.fixed_k import FixedK, FixedKParams
from ahasd.models.policies.svip import Svip, SvipParams
from ahasd.models.settings import near, override

__all__ = ["DEFAULT_POLICY", "list_policies", "make_policy"]

DEFAULT_POLICY = "svip"

_Make = Callable[[Any], Policy]
_POLICIES: dict[str, tuple[Any, _Make]] = {
    "fixed-K": (FixedKParams(), FixedK),
    "svip:code": (SvipParams(), Svip),
    "svip:paper": (SvipParams(scale=1.0), lambda params: Svip(params, "paper")),
}
_ALIASES = {"svip": "svip:code"}
_LATER = ("specdec++", "adaedl", "banditspec")


def list_policies() -> list[str]:
    """Names that ``make_policy`` takes; K stands for a number."""
    return sorted([*_POLICIES, *_ALIASES])


def make_policy(spec: str, **params: Any) -> Policy:
    """The policy called ``spec``, with its settings changed: values, or text as typed by a user.

    ``params`` may be named bare (``k=4``) or with the prefix of an override (``**{"policy.k": "4"}``).

    Raises
    ------
    ConfigError
        If there is no such policy or setting, or a value is out of range.
    """
    name = _ALIASES.get(spec, spec)
    changes = {key if key.startswith("policy.") else f"policy.{key}": value for key, value in params.items()}
    if number := re.fullmatch(r"fixed-(\d+)", name):
        name = "fixed-K"
        changes = {"policy.k": number[1], **changes}
    if name.partition(":")[0] in _LATER:
        raise ConfigError(f"policy {spec}: not available yet; available: {', '.join(list_policies())}")
    if name not in _POLICIES:
        raise ConfigError(f"policy {spec!r}: unknown; near: {near(spec, list_policies())}")
    defaults, make = _POLICIES[name]
    return make(override(defaults, "policy", changes))

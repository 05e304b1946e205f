"""Names of drafting policies."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ahasd.models.errors import ConfigError
from ahasd.models.policies.adaedl import AdaEdl, AdaEdlParams
from ahasd.models.policies.bandit import BanditParams
from ahasd.models.policies.bandit_exp3 import Exp3Spec
from ahasd.models.policies.bandit_ucb import CodeParams, CodeSpec, UcbParams, UcbSpec
from ahasd.models.policies.base import Policy
from ahasd.models.policies.fixed_k import FixedK, FixedKParams
from ahasd.models.policies.specdecpp import SpecDecPP, SpecDecPPParams
from ahasd.models.policies.svip import Svip, SvipParams
from ahasd.models.settings import near, override

__all__ = ["DEFAULT_POLICY", "canonical_policies", "list_policies", "make_policy"]

DEFAULT_POLICY = "svip"

_Make = Callable[[Any, int], Policy]
_POLICIES: dict[str, tuple[Any, _Make]] = {
    "adaedl:code": (AdaEdlParams(max_length=8), lambda params, _: AdaEdl(params, "code")),
    "adaedl:paper": (AdaEdlParams(), lambda params, _: AdaEdl(params)),
    "banditspec:code": (CodeParams(), lambda params, _: CodeSpec(params)),
    "banditspec:exp3": (BanditParams(), Exp3Spec),
    "banditspec:ucb": (UcbParams(), lambda params, _: UcbSpec(params)),
    "fixed-K": (FixedKParams(), lambda params, _: FixedK(params)),
    "specdec++:code": (SpecDecPPParams(), lambda params, _: SpecDecPP(params)),
    "specdec++:paper": (SpecDecPPParams(min_length=1), lambda params, _: SpecDecPP(params, "paper")),
    "svip:code": (SvipParams(), lambda params, _: Svip(params)),
    "svip:paper": (SvipParams(scale=1.0), lambda params, _: Svip(params, "paper")),
}
# The form that the authors measured, where they have released it; else the paper's.
_ALIASES = {
    "adaedl": "adaedl:paper",
    "banditspec": "banditspec:code",
    "specdec++": "specdec++:code",
    "svip": "svip:code",
}


def canonical_policies() -> list[str]:
    """As :func:`list_policies`, each policy once: by its full name."""
    return sorted(_POLICIES)


def list_policies() -> list[str]:
    """Names that ``make_policy`` takes; K stands for a number."""
    return sorted([*_POLICIES, *_ALIASES])


def make_policy(spec: str, *, seed: int = 0, **params: Any) -> Policy:
    """The policy called ``spec``, with its settings changed: values, or text as typed by a user.

    ``params`` may be named bare (``k=4``) or with the prefix of an override (``**{"policy.k": "4"}``).
    ``seed`` is for policies that draw random numbers.

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
    if name not in _POLICIES:
        raise ConfigError(f"policy {spec!r}: unknown; near: {near(spec, list_policies())}")
    defaults, make = _POLICIES[name]
    return make(override(defaults, "policy", changes), seed)

"""Drafting policies: how many tokens the draft model makes before it asks for a verdict."""

from ahasd.models.policies.base import Features, Policy, Verdict
from ahasd.models.policies.cutter import Cutter
from ahasd.models.policies.registry import DEFAULT_POLICY, list_policies, make_policy

__all__ = ["DEFAULT_POLICY", "Cutter", "Features", "Policy", "Verdict", "list_policies", "make_policy"]

"""Several systems and policies on the same traces: their figures side by side, the first as the yardstick."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ahasd.models.errors import ConfigError
from ahasd.sim.config import RunConfig
from ahasd.sim.paired import Ratio, paired_ratio
from ahasd.sim.run import prepare, simulate
from ahasd.sim.systems import find_system

__all__ = ["Entry", "compare", "csv_text", "plan_comparison"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One system with one policy."""

    document: dict[str, Any]
    """As `ahasd run --json`; of several traces, all of them together."""
    ratio: Ratio
    """Tokens/s over those of the first entry, paired by trace."""
    efficiency: Ratio | None
    """Tokens/J likewise; None without energy."""

    @property
    def system(self) -> str:
        return str(self.document["system"])

    @property
    def policy(self) -> str:
        """The policy that was used: a system may have a rule of its own."""
        return str(self.document["config"]["policy"])

    def joules(self) -> tuple[float, float, float] | None:
        """A token: with the default coefficients, all at their low and all at their high end."""
        energy = self.document["energy"]
        if not energy:
            return None
        return energy["per_token_j"], energy["low"]["per_token_j"], energy["high"]["per_token_j"]

    def to_dict(self) -> dict[str, Any]:
        """A row of the table."""
        joules = self.joules()
        ends = None if joules is None else dict(zip(("default", "low", "high"), joules, strict=True))
        return {
            "system": self.system,
            "policy": self.policy,
            "tokens_per_s": self.document["tokens_per_s"],
            "ratio": self.ratio._asdict(),
            "efficiency_ratio": None if self.efficiency is None else self.efficiency._asdict(),
            "per_token_j": ends,
            "acceptance": self.document["acceptance"],
            "useful": self.document["useful"],
        }


def plan_comparison(systems: Sequence[str], policies: Sequence[str], base: RunConfig) -> list[RunConfig]:
    """A checked configuration for each system and policy, systems with the golden engine.

    A system with a drafting rule of its own is there once, whatever the policies.

    Raises
    ------
    AhasdError
        If a name or setting is wrong, or a name is given twice.
    """
    for option, names in (("--systems", systems), ("--policy", policies)):
        if "" in names:
            raise ConfigError(f"{option}: a name is empty; expected names with commas between them")
        for name in names:
            if list(names).count(name) > 1:
                raise ConfigError(f"{option}: {name} is given twice")
    configs: list[RunConfig] = []
    seen: set[tuple[str, str]] = set()
    for system in systems:
        engine = "golden" if find_system(system).control_unit else None
        for policy in policies:
            config = dataclasses.replace(base, system=system, policy=policy, engine=engine)
            used = prepare(config).make_policy().name
            if (system, used) not in seen:
                seen.add((system, used))
                configs.append(config)
    return configs


def compare(
    configs: Sequence[RunConfig], progress: Callable[[str, int, int], None] | None = None
) -> list[Entry]:
    """Simulate all and set each beside the first."""
    documents = [simulate(config, progress=progress).to_dict() for config in configs]
    first = _runs(documents[0])
    entries = []
    for document in documents:
        pairs = list(zip(_runs(document), first, strict=True))
        efficiency = []
        if all(run["energy"] for pair in pairs for run in pair):
            efficiency = [b["energy"]["per_token_j"] / a["energy"]["per_token_j"] for a, b in pairs]
        entries.append(
            Entry(
                document=document,
                ratio=paired_ratio(a["tokens_per_s"] / b["tokens_per_s"] for a, b in pairs),
                efficiency=paired_ratio(efficiency) if efficiency else None,
            )
        )
    return entries


def _runs(document: dict[str, Any]) -> list[dict[str, Any]]:
    """One document a trace."""
    return document.get("runs") or [document]


def csv_text(entries: Sequence[Entry]) -> str:
    """A row an entry, nested keys joined by dots."""
    rows = [_flat(entry.to_dict()) for entry in entries]
    text = io.StringIO()
    writer = csv.DictWriter(
        text, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in values.items():
        out |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return out

"""The search for a static split and draft length, after SpecPIM (ASPLOS'24): offline, for one initial shape.

Its authors search with a genetic algorithm and a tree; with barriers behind operators the time of an
iteration is a sum over kinds of operators, so that the best split of each is found by itself. What couples
them is room: where a memory is too small, the step that costs least time a byte is moved, until all fits.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ahasd.models.errors import ConfigError
from ahasd.models.language import LanguageModel
from ahasd.models.split.device import Machine
from ahasd.models.split.passes import ATTENTION, STEPS, Split, SplitPass, kinds, operator
from ahasd.models.split.settings import SearchSettings

__all__ = ["Mapping", "find_mapping", "time_per_token"]


@dataclass(frozen=True, kw_only=True)
class Mapping:
    """What the search found."""

    machine: Machine
    draft: Split
    target: Split
    length: int
    """Drafted tokens before each verification."""
    ps_per_token: float
    """Expected, at the initial shape."""


def time_per_token(draft_ps: int, verify_ps: int, length: int, acceptance: float) -> float:
    """Expected ps of an iteration over its expected tokens, (1 - a^(K+1)) / (1 - a) (arXiv 2211.17192)."""
    tokens = (1 - acceptance ** (length + 1)) / (1 - acceptance)
    return (length * draft_ps + verify_ps) / tokens


def find_mapping(
    machines: Sequence[Machine],
    draft: LanguageModel,
    target: LanguageModel,
    settings: SearchSettings,
    length: int | None = None,
) -> Mapping:
    """The best of all ``machines``, splits and draft lengths, or with the draft ``length`` that is given.

    Raises
    ------
    ConfigError
        If the models fit on none of the machines.
    """
    best: Mapping | None = None
    for machine in machines:
        if sum(machine.rooms) < draft.full_bytes + target.full_bytes:
            continue
        search = _Search(machine, draft, target, settings)
        verify_ps = 0
        for k in range(1, settings.max_draft + 1) if length is None else [length]:
            # Verifications get no shorter with k, and commit fewer than 1 / (1 - a) tokens each.
            floor = (k * search.draft_ps + verify_ps) * (1 - settings.acceptance)
            if best is not None and floor >= best.ps_per_token:
                break
            verify_ps = search.fastest_ps(TARGET, k + 1)
            found = search.mapping(k)
            if found is not None and (best is None or found.ps_per_token < best.ps_per_token):
                best = found
    if best is None:
        need, room = draft.full_bytes + target.full_bytes, max(sum(m.rooms) for m in machines)
        raise ConfigError(
            f"{draft.name} and {target.name} need {need / 1e9:.2f} GB with KV caches at full context, split "
            f"over memories of {room / 1e9:.2f} GB in which they do not fit"
        )
    return best


DRAFT, TARGET = "draft", "target"

Splits = dict[tuple[str, str], int]
"""Role and kind of operator to its step."""


class _Search:
    def __init__(
        self, machine: Machine, draft: LanguageModel, target: LanguageModel, settings: SearchSettings
    ) -> None:
        self._machine = machine
        self._models = {DRAFT: draft, TARGET: target}
        self._settings = settings
        self._context = settings.context
        devices = {role: machine.devices(model) for role, model in self._models.items()}
        self._one_sided = devices[DRAFT][0] is None or devices[DRAFT][1] is None
        self._operators = {
            (role, kind): operator(model, devices[role], kind, STEPS if devices[role][0] is None else 0)
            for role, model in self._models.items()
            for kind in kinds(model)
        }
        self._fastest = functools.cache(self._find_fastest)
        self.draft_ps = self.fastest_ps(DRAFT, 1)

    def fastest_ps(self, role: str, tokens: int) -> int:
        """A pass, if there were room for everything anywhere."""
        model = self._models[role]
        rest, _ = self._machine.rest(model, self._context, tokens, tokens)
        return rest + sum(
            self._count(role, kind) * self._ps(role, kind, self._fastest(role, kind, tokens), tokens)
            for kind in kinds(model)
        )

    def mapping(self, length: int) -> Mapping | None:
        """The best splits for drafts of ``length``; None if they do not fit."""
        tokens = {DRAFT: 1, TARGET: length + 1}
        splits = {
            (role, kind): self._fastest(role, kind, tokens[role])
            for role, model in self._models.items()
            for kind in kinds(model)
        }
        if not self._fit(splits, tokens, {DRAFT: length, TARGET: 1}):
            return None
        found = {
            role: {kind: splits[role, kind] for kind in kinds(model)} for role, model in self._models.items()
        }
        draft_ps, verify_ps = (
            SplitPass(self._machine, model, found[role]).pass_ps(self._context, tokens[role], tokens[role])
            for role, model in self._models.items()
        )
        return Mapping(
            machine=self._machine,
            draft=found[DRAFT],
            target=found[TARGET],
            length=length,
            ps_per_token=time_per_token(draft_ps, verify_ps, length, self._settings.acceptance),
        )

    def _find_fastest(self, role: str, kind: str, tokens: int) -> int:
        """The step at which the devices take equally long, or all on one of them."""
        one = self._operators[role, kind]
        if self._one_sided:
            return one.steps
        low, high = 0, STEPS
        while high - low > 1:  # more on the second: it takes longer, the first less
            middle = (low + high) // 2
            times = one._replace(steps=middle).times(self._context, tokens)
            low, high = (low, middle) if times.second > times.first else (middle, high)
        return min({0, low, high, STEPS}, key=lambda steps: (self._ps(role, kind, steps, tokens), steps))

    def _ps(self, role: str, kind: str, steps: int, tokens: int) -> int:
        return self._operators[role, kind]._replace(steps=steps).times(self._context, tokens).total

    def _count(self, role: str, kind: str) -> int:
        """Operators of a kind in a pass."""
        model = self._models[role]
        return 1 if kind == model.head.name else model.layers

    def _fit(self, splits: Splits, tokens: dict[str, int], passes: dict[str, int]) -> bool:
        """Move steps until each memory holds its part; False if there is no way.

        ``passes`` of each model are in an iteration. Embeddings, biases and norms go where room is left.
        """
        for which in (1, 0):
            sign = -1 if which else 1
            while self._held(splits, which) > self._machine.rooms[which]:
                moves = []
                for (role, kind), steps in splits.items():
                    if not 0 <= steps + sign <= STEPS:
                        continue
                    count = passes[role] * self._count(role, kind)
                    before = self._ps(role, kind, steps, tokens[role])
                    after = self._ps(role, kind, steps + sign, tokens[role])
                    cost = Fraction(count * (after - before), _bytes(self._models[role], kind))
                    moves.append((cost, role, kind))
                if not moves or self._one_sided:
                    return False
                _, role, kind = min(moves)
                splits[role, kind] += sign
        return self._held(splits, 1) <= self._machine.rooms[1]

    def _held(self, splits: Splits, which: int) -> int:
        """Bytes on a device."""
        total = 0
        for (role, kind), steps in splits.items():
            total += _bytes(self._models[role], kind) * (steps if which else STEPS - steps)
        return -(-total // STEPS)


@functools.cache
def _bytes(model: LanguageModel, kind: str) -> int:
    """Bytes of all operators of a kind; the KV cache at full context."""
    if kind == ATTENTION:
        return model.kv_bytes_per_token * model.max_context
    if kind == model.head.name:
        return model.head.out * model.head.inp
    return model.layers * next(gemv.out * gemv.inp for gemv in model.gemvs if gemv.name == kind)

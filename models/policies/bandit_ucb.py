"""BanditSpec's upper-confidence-bound forms: the paper's UCBSpec, and what its code does."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ahasd.models.policies.bandit import BanditParams, BanditSpec, Means, Pull
from ahasd.models.settings import param

__all__ = ["CodeParams", "CodeSpec", "UcbParams", "UcbSpec"]


@dataclass(frozen=True, kw_only=True)
class UcbParams(BanditParams):
    """Settings of the paper's UCBSpec."""

    delta: float = param(0.5, low=1e-9, high=1, source="arXiv 2505.15141, proof")
    bonus_scale: float = param(
        1.0,
        low=0,
        high=10,
        source="1: arXiv 2505.15141 as printed",
        note="below 1 the policy settles within the 300 rounds that 1024 tokens take",
    )


class UcbSpec(BanditSpec[UcbParams]):
    """Each arm once, then the largest mean + bonus; reward = tokens emitted, at most L + 1."""

    form = "ucb"

    def begin_sequence(self) -> None:
        super().begin_sequence()
        self.means = Means(self.arms)

    def bonus(self, pulls: int, t: int) -> float:
        """Tokens: cr_i = L/2 sqrt((1 + n) / n^2 (1 + 2 ln(K t^2 sqrt(1 + n) / delta)))."""
        params = self._params
        log = math.log(self.arms * t * t * math.sqrt(1 + pulls) / params.delta)
        return params.bonus_scale * self.arms / 2 * math.sqrt((1 + pulls) / pulls**2 * (1 + 2 * log))

    def pull(self) -> Pull:
        arm = self.means.unknown()
        if arm is None:
            arm = self.means.best([self.bonus(n, self.t) for n in self.means.pulls])
        return Pull(arm, 1.0)

    def learn(self, pull: Pull, emitted: int, now: int | None) -> None:
        # Of merged batches more may be emitted than the bonus is scaled for.
        self.means.add(pull.arm, min(emitted, self.arms + 1))


@dataclass(frozen=True, kw_only=True)
class CodeParams(BanditParams):
    """Settings of the released code's form."""

    warm_up: int = param(
        7, unit="rounds", low=0, high=1024, source="sail-sg/BanditSpec, generate_utils.py: t < 8"
    )
    bonus: float = param(
        6.0, low=0, high=1000, source="sail-sg/BanditSpec, generate_utils.py: sqrt(6 ln t / n)"
    )


class CodeSpec(BanditSpec[CodeParams]):
    """Arms in turn for the warm-up, then the largest mean + bonus; reward = tokens a second of the round.

    The bonus has the number of all rounds below the fraction, so it is the same for every arm: after the
    warm-up the arm with the best mean is played. The time of a round is that since the verdict before.
    """

    form = "code"

    def begin_sequence(self) -> None:
        super().begin_sequence()
        self.means = Means(self.arms)
        self._since = 0

    def pull(self) -> Pull:
        if self.t <= self._params.warm_up:
            return Pull((self.t - 1) % self.arms, 1.0)
        arm = self.means.unknown()
        if arm is None:
            rounds = sum(self.means.pulls)
            bonus = math.sqrt(self._params.bonus * math.log(self.t) / rounds)
            arm = self.means.best([bonus] * self.arms)
        return Pull(arm, 1.0)

    def learn(self, pull: Pull, emitted: int, now: int | None) -> None:
        if now is None or now <= self._since:
            raise RuntimeError(
                f"{self.name}: round from {self._since} to {now} ps, expected a time that passes"
            )
        self.means.add(pull.arm, emitted * 1e12 / (now - self._since))
        self._since = now

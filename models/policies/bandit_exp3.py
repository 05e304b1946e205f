"""BanditSpec's EXP3Spec, for rewards that change as the text goes on; arms are drawn at random."""

from __future__ import annotations

import math
import random

from ahasd.models.policies.bandit import BanditParams, BanditSpec, Pull

__all__ = ["Exp3Spec"]


class Exp3Spec(BanditSpec[BanditParams]):
    """Draws arm i with p_i proportional to exp(-eta_t x its estimated losses), eta_t = sqrt(ln K / (t K)).

    The loss of a round is (L + 1 - Y) / L for Y tokens emitted (at most L + 1), over the chance of the arm.
    ``seed`` begins anew with each sequence, so that a trace gives the same run alone and in a set.
    """

    form = "exp3"

    def __init__(self, params: BanditParams, seed: int = 0) -> None:
        self._seed = seed
        super().__init__(params)

    def begin_sequence(self) -> None:
        super().begin_sequence()
        self._random = random.Random(self._seed)
        self._losses = [0.0] * self.arms

    def eta(self, t: int) -> float:
        """Learning rate of round ``t``."""
        return math.sqrt(math.log(self.arms) / (t * self.arms))

    def chances(self) -> list[float]:
        """With which each arm is drawn now."""
        eta, least = self.eta(self.t), min(self._losses)
        weights = [math.exp(-eta * (loss - least)) for loss in self._losses]
        whole = sum(weights)
        return [weight / whole for weight in weights]

    def pull(self) -> Pull:
        chances = self.chances()
        (arm,) = self._random.choices(range(self.arms), chances)
        return Pull(arm, chances[arm])

    def learn(self, pull: Pull, emitted: int, now: int | None) -> None:
        most = self.arms + 1  # also of merged batches
        self._losses[pull.arm] += (most - min(emitted, most)) / self.arms / pull.chance

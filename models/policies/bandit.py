"""BanditSpec (arXiv 2505.15141): the length of a draft as the arm of a bandit. What its three forms share.

The arms are the lengths 1..L. The paper's length experiment has 0 (plain decoding) too; the control unit
verifies one draft token at least, and the authors' code has no arm 0 either.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, NamedTuple, TypeVar

from ahasd.models.policies.base import Features, Policy, Verdict
from ahasd.models.policies.rounds import Rounds
from ahasd.models.settings import check, param

__all__ = ["BanditParams", "BanditSpec", "Pull"]


@dataclass(frozen=True, kw_only=True)
class BanditParams:
    """Settings that all forms of BanditSpec have."""

    max_length: int = param(
        4,
        unit="tokens",
        low=1,
        high=64,
        source="L: arXiv 2505.15141, length experiment, and code",
        note="arms are 1..L; the control unit's max_draft caps further",
    )

    def __post_init__(self) -> None:
        check(self)


class Pull(NamedTuple):
    """An arm that a batch was drafted with."""

    arm: int
    """From 0; its length is one more."""
    chance: float
    """With which it was drawn; 1 where nothing is drawn."""


P = TypeVar("P", bound=BanditParams)


class BanditSpec(Policy, Generic[P]):
    """Draws an arm for each batch and learns from each verdict on a batch that it knows of.

    ``t`` counts rounds, that is verdicts, from 1; all state is of one sequence.
    """

    form: ClassVar[str]

    def __init__(self, params: P) -> None:
        self._params = params
        self._left = 0
        self.begin_sequence()

    @property
    def name(self) -> str:
        return f"banditspec:{self.form}"

    @property
    def params(self) -> P:
        return self._params

    @property
    def arms(self) -> int:
        """K."""
        return self._params.max_length

    def begin_sequence(self) -> None:
        self.t = 1
        self._rounds: Rounds[Pull] = Rounds()

    def begin_batch(self, position: int | None = None) -> None:
        pull = self.pull()
        self._rounds.opened(position, pull)
        self._left = pull.arm + 1

    def after(self, token: Features) -> Verdict:
        self._left -= 1
        return Verdict.GO_ON if self._left > 0 else Verdict.LAST

    def verdict(
        self, issued: int, accepted: int, position: int | None = None, now: int | None = None
    ) -> None:
        pull = self._rounds.judged(position)
        if pull is None or issued == 0:
            return
        self.learn(pull, accepted + 1, now)
        self.t += 1

    @abstractmethod
    def pull(self) -> Pull:
        """The arm for the next batch."""

    @abstractmethod
    def learn(self, pull: Pull, emitted: int, now: int | None) -> None:
        """A round of ``pull`` has emitted so many tokens, the target's own included."""


class Means:
    """Running mean of each arm's rewards."""

    def __init__(self, arms: int) -> None:
        self.pulls = [0] * arms
        """Rounds of each arm that have come back."""
        self.mean = [0.0] * arms
        self._tries = [0] * arms

    def add(self, arm: int, reward: float) -> None:
        """One more round of ``arm``."""
        self.pulls[arm] += 1
        self.mean[arm] += (reward - self.mean[arm]) / self.pulls[arm]

    def unknown(self) -> int | None:
        """The arm without a reward that was tried least, lowest first; counts as tried now.

        Drafting ahead, an arm's batch may be dropped before it is verified; it is tried again.
        """
        unknown = [arm for arm, count in enumerate(self.pulls) if count == 0]
        if not unknown:
            return None
        arm = min(unknown, key=lambda arm: (self._tries[arm], arm))
        self._tries[arm] += 1
        return arm

    def best(self, bonus: list[float]) -> int:
        """The arm with the largest mean + bonus; the lowest of equals."""
        scores = [mean + more for mean, more in zip(self.mean, bonus, strict=True)]
        return scores.index(max(scores))

"""A random environment around a control unit: a PIM and an NPU that abide by the protocol and little else.

Latencies (timebase wrap-around and saturation included), tokens, acceptances, aborts with stale tokens and
late results, and verdicts that contradict pre-verification are drawn from a seed. What is recorded has the
replay format, so a run on the golden unit is a conformance vector.

The environment also holds the unit to what it promises: requests agree with the tokens of the sequence and
with the draft model's KV cache, one task and one verification at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from ahasd.models.control.events import (
    Abort,
    Aborted,
    Commit,
    Decision,
    Draft,
    Event,
    Feedback,
    Preverified,
    Preverify,
    Token,
    Verify,
)
from ahasd.models.control.params import ControlConfig, UnitParams
from ahasd.models.replay import Replay, ReplayUnit, Step

__all__ = ["ContractError", "Environment", "Habits", "random_config"]

TIMEBASE = 1 << 32
MOST = {"max_draft": 16, "verify_max": 32, "preverify_max": 8}
LONG = ((1 << 24) - 2, (1 << 24) - 1, 1 << 24, (1 << 24) + 1, 1 << 25, 3 << 30, TIMEBASE - 1)
"""Durations, in ticks, at which something saturates or wraps around."""
CACHE_BEYOND = 32
"""Entries of the draft model's KV cache that are compared, beyond as many as the queue holds."""


class ContractError(RuntimeError):
    """The unit decided something that it must not, whatever its predictor says."""


def random_config(rng: Random, params: UnitParams | None = None) -> ControlConfig:
    """Any legal configuration; small limits and small and extreme presets are likelier than others."""
    tokens = 1 << (params or UnitParams()).token_bits

    def limit(key: str) -> int:
        most = MOST[key]
        return rng.choice((1, 2, 3, most, rng.randint(1, most)))

    def preset() -> int:
        return rng.choice((0, 256, rng.randrange(1 << 12), rng.randrange(1 << 20), rng.randrange(1 << 32)))

    return ControlConfig(
        edc=rng.random() < 0.85,
        tvc=rng.random() < 0.65,
        suppress=rng.choice(("wait", "preverify")),
        verify_all=rng.random() < 0.6,
        max_draft=limit("max_draft"),
        verify_max=limit("verify_max"),
        preverify_max=limit("preverify_max"),
        context=rng.choice((1, 2, rng.randint(1, 2000), rng.randint(1, 32767), 32767)),
        prompt_token=rng.randrange(tokens),
        npu_preset=preset(),
        draft_preset=preset(),
        preverify_preset=preset(),
    )


@dataclass(frozen=True, kw_only=True)
class Habits:
    """How the PIM, the NPU and the two models behave in one run. The rest are probabilities."""

    token_ticks: float
    """Mean ticks of a drafted token; likewise of a verification and of a pre-verified token."""
    verify_ticks: float
    preverify_ticks: float
    vocabulary: int
    """Token ids in use: with few, wrong tokens are often right by chance."""
    entropy: tuple[int, int]
    """Lowest and highest; a narrow range trains few predictor counters."""
    last: float
    """A token ends its batch."""
    accept: float
    """The NPU accepts a token that it has not refused one before."""
    ahead: float
    """After a full acceptance the target model goes on as the look-ahead does."""
    right: float
    """Pre-verification finds a token right."""
    agree: float
    """A refusal at a pre-verified fix names the fix."""
    contradict: float
    """The NPU may accept tokens after a fix."""
    late: float
    """A pre-verification that is to be aborted gives its result all the same."""
    stale: float
    """The PIM draws another token before it notices the abort."""
    long: float
    """A duration is one of :data:`LONG`."""

    @classmethod
    def random(cls, rng: Random, params: UnitParams | None = None) -> Habits:
        """Habits of any kind."""
        tokens = 1 << (params or UnitParams()).token_bits

        def often(*more: float) -> float:
            return rng.choice((0.05, 0.5, 0.95, rng.random(), *more))

        low = rng.choice((0, rng.randrange(256), 192))
        verify_ticks = 2 ** rng.uniform(1, 13)
        return cls(
            token_ticks=rng.choice((0.0, 2 ** rng.uniform(0, 7), verify_ticks * rng.uniform(0, 0.1))),
            verify_ticks=verify_ticks,
            preverify_ticks=rng.choice((0.0, 2 ** rng.uniform(0, 12), verify_ticks * rng.uniform(0.02, 0.5))),
            vocabulary=rng.choice((2, 5, tokens, tokens)),
            entropy=(low, min(255, low + rng.choice((0, 20, 20, 255)))),
            last=rng.choice((0.0, 0.1, 0.3, 0.7)),
            accept=often(0.8),
            ahead=often(0.8),
            right=often(0.8),
            agree=often(),
            contradict=rng.choice((0.0, 0.2, 1.0)),
            late=often(),
            stale=often(),
            long=rng.choice((0.0, 0.0, 0.002, 0.05)),
        )


class Environment:
    """A seeded run.

    Parameters
    ----------
    seed : int
    config : ControlConfig, optional
        Random if not given.
    habits : Habits, optional
        Random if not given.
    params : UnitParams, optional
        Sizes of the unit: token ids fit, a sequence ends in time.
    """

    def __init__(
        self,
        seed: int,
        config: ControlConfig | None = None,
        habits: Habits | None = None,
        params: UnitParams | None = None,
    ) -> None:
        rng = Random(seed)
        self.seed = seed
        self.params = params or UnitParams()
        self.config = config or random_config(rng, self.params)
        self.habits = habits or Habits.random(rng, self.params)

    def run(self, unit: ReplayUnit, events: int = 700) -> Replay:
        """Drive ``unit`` through a start and ``events`` events, fewer if the sequence is full.

        The same environment gives the same run on any unit that decides the same.

        Raises
        ------
        ContractError
            If the unit breaks its side of the protocol.
        VectorError
            If it finds that the environment does, which also is the unit's error.
        """
        platform = _Platform(Random(f"{self.seed} events"), self.config, self.habits, self.params)
        at = platform.time % TIMEBASE
        decisions = unit.start(self.config, at)
        steps = [Step(at, None, decisions)]
        platform.receive(decisions)
        for _ in range(events):
            event = platform.next_event()
            at = platform.time % TIMEBASE
            decisions = unit.step(event, at)
            steps.append(Step(at, event, decisions))
            platform.receive(decisions)
            if platform.head >= self.params.sequence_limit:
                break
        return Replay(self.config, steps, unit.counters())


class _Platform:
    """PIM, NPU and what they know of the sequence. Time is in ticks and does not wrap."""

    def __init__(self, rng: Random, config: ControlConfig, habits: Habits, params: UnitParams) -> None:
        self.rng, self.config, self.habits = rng, config, habits
        self.tokens = 1 << params.token_bits
        self.cache_checked = params.queue_depth + CACHE_BEYOND
        self.random = rng.random
        self.time = rng.choice((0, rng.randrange(TIMEBASE), TIMEBASE - 1 - rng.randrange(1 << 12)))
        # The sequence: the token at position p is sequence[p + 1].
        self.sequence = [config.prompt_token]
        self.head = 0
        # NPU.
        self.npu_due: int | None = None
        self.issued = 0
        self.limit: int | None = None
        # PIM.
        self.pim_due: int | None = None
        self.task: Draft | Preverify | None = None
        self.aborting = False
        self.drafted = 0
        self.ended = False
        self.cache: list[int] = []
        self.unfed: int | None = None

    @property
    def tail(self) -> int:
        return len(self.sequence) - 1

    # Random things.

    def _ticks(self, mean: float) -> int:
        if self.random() < self.habits.long:
            return self.rng.choice(LONG)
        return int(self.random() * 2 * mean + 0.5)

    def _any_token(self) -> int:
        return int(self.random() * self.habits.vocabulary)

    def _other_token(self, token: int) -> int:
        return (token + 1 + int(self.random() * (self.habits.vocabulary - 1))) % self.tokens

    def _run_of(self, probability: float, most: int) -> int:
        """Successes before the first failure."""
        count = 0
        while count < most and self.random() < probability:
            count += 1
        return count

    # Events.

    def next_event(self) -> Event:
        """The event that is due next; a verdict before a PIM event, as the unit takes them."""
        if self.npu_due is not None and (self.pim_due is None or self.npu_due <= self.pim_due):
            self.time = max(self.time, self.npu_due)
            return self._verdict()
        if self.pim_due is None:
            raise ContractError("neither the NPU nor the PIM has work")
        self.time = max(self.time, self.pim_due)
        return self._token() if isinstance(self.task, Draft) else self._result()

    def _verdict(self) -> Feedback:
        habits, random = self.habits, self.random
        self.npu_due = None
        accepted = self._run_of(habits.accept, self.issued)
        limit = self.limit
        if limit is not None and self.head + accepted > limit and random() >= habits.contradict:
            accepted = limit - self.head
        position = self.head + accepted
        following = self._any_token()
        if position < self.tail:
            there = self.sequence[position + 1]
            same = habits.ahead if accepted == self.issued else habits.agree if position == limit else 0.02
            following = there if random() < same else self._other_token(there)
        return Feedback(accepted, following)

    def _token(self) -> Token | Aborted:
        habits = self.habits
        if self.aborting and (
            self.ended or self.drafted == self.config.max_draft or self.random() >= habits.stale
        ):
            self._end_task()
            return Aborted()
        self.drafted += 1
        token = self._any_token()
        if self.unfed is not None:
            self.cache.append(self.unfed)
        self.unfed = token
        low, high = habits.entropy
        entropy = low + int(self.random() * (high - low + 1))
        last = self.drafted == self.config.max_draft or self.random() < habits.last
        if self.aborting:
            self.ended = last
        else:
            self.sequence.append(token)
            if last:
                self._end_task()
        if self.task is not None:
            self.pim_due = self.time + self._ticks(habits.token_ticks)
        return Token(token, entropy, last)

    def _result(self) -> Preverified | Aborted:
        task = self.task
        assert isinstance(task, Preverify)
        aborting = self.aborting
        self._end_task()
        if aborting and self.random() >= self.habits.late:
            return Aborted()
        size = len(task.tokens) - 1
        passed = self._run_of(self.habits.right, size)
        if passed == size:
            return Preverified(passed, None)
        fix = self._other_token(task.tokens[passed + 1])
        position = task.position - self.config.context + 1 + passed
        if not aborting and position >= self.head:
            del self.sequence[position + 1 :]
            self.sequence.append(fix)
            if self.npu_due is not None and position < self.head + self.issued and self.limit is None:
                self.limit = position
        return Preverified(passed, fix)

    def _end_task(self) -> None:
        self.task = self.pim_due = None
        self.aborting = False

    # Decisions.

    def receive(self, decisions: Sequence[Decision]) -> None:
        """Take what the unit decided, in order."""
        for decision in decisions:
            match decision:
                case Commit():
                    self._commit(decision.tokens)
                case Abort():
                    self._require(self.task is not None and not self.aborting, "abort without a task")
                    self.aborting, self.ended = True, False
                    self.pim_due = self.time + self._ticks(self.habits.token_ticks)
                case Verify():
                    self._verify(decision)
                case Preverify():
                    self._preverify(decision)
                case Draft():
                    self._draft(decision)

    @staticmethod
    def _require(condition: bool, message: str) -> None:
        if not condition:
            raise ContractError(message)

    def _commit(self, tokens: tuple[int, ...]) -> None:
        """All but the last are in the queue; the last one is, or it ends the queue."""
        start = self.head + 1
        final = start + len(tokens) - 1
        self._require(bool(tokens) and final <= len(self.sequence), "commit beyond the queue")
        self._require(tuple(self.sequence[start:final]) == tokens[:-1], "commit of other tokens")
        if final == len(self.sequence) or self.sequence[final] != tokens[-1]:
            del self.sequence[final:]
            self.sequence.append(tokens[-1])
        self.head += len(tokens)
        self.limit = None

    def _agree(self, position: int, tokens: tuple[int, ...]) -> bool:
        """``tokens`` are those of the sequence from an absolute position on."""
        start = position - self.config.context + 1
        return start >= 0 and tuple(self.sequence[start : start + len(tokens)]) == tokens

    def _verify(self, request: Verify) -> None:
        self._require(self.npu_due is None, "a second verification")
        self._require(request.position == self.config.context + self.head - 1, "verify: wrong position")
        self.issued = len(request.tokens) - 1
        self._require(1 <= self.issued <= self.config.verify_max, "verify: wrong number of tokens")
        self._require(self._agree(request.position, request.tokens), "verify: wrong tokens")
        self.limit = None
        self.npu_due = self.time + self._ticks(self.habits.verify_ticks)

    def _preverify(self, request: Preverify) -> None:
        self._require(self.task is None, "a second task")
        self._require(request.position >= self.config.context + self.head - 1, "preverify: wrong position")
        size = len(request.tokens) - 1
        self._require(1 <= size <= self.config.preverify_max, "preverify: wrong number of tokens")
        self._require(self._agree(request.position, request.tokens), "preverify: wrong tokens")
        self.task = request
        self.pim_due = self.time + self._ticks(self.habits.preverify_ticks * size)

    def _draft(self, request: Draft) -> None:
        self._require(self.task is None, "a second task")
        kept = request.position - self.config.context + 1
        self._require(0 <= kept <= len(self.cache), "draft: keeps more than the KV cache has")
        del self.cache[kept:]
        self.cache += request.tokens
        self._require(
            len(self.cache) == len(self.sequence)
            and self.cache[-self.cache_checked :] == self.sequence[-self.cache_checked :],
            "draft: the KV cache does not hold the sequence",
        )
        self.task = request
        self.drafted = 0
        self.unfed = None
        self.pim_due = self.time + self._ticks(self.habits.token_ticks)

"""A scheduler that knows how far the draft model is right: drafts end exactly before its first wrong token.

From a true position the next r drafts are right and the one behind them is wrong. The text up to the target's
token in that one's place is a segment; nothing of the next one can be drafted before it is there, so that a
segment can be planned by itself. Its plan is the shortest: which verifications, of how many drafts each, by
dynamic programming over the times at which drafts are ready and verifications over.
"""

from __future__ import annotations

from typing import NamedTuple

import simpy

from ahasd.models.control.events import Draft, Feedback, Token, Verify
from ahasd.models.cost import CostModel
from ahasd.models.rollout import DraftRollout
from ahasd.sim.own_rules import Foreseen
from ahasd.sim.ports import DELIVERY, At, ModelError
from ahasd.sim.scheduler import HostScheduler

__all__ = ["Foresight"]


class _Step(NamedTuple):
    """The best known way to a number of committed tokens."""

    ps: int
    drafts: int
    """Of the verification that leads there."""


class Foresight(HostScheduler):
    """Asynchronous drafting and verification without control latency, a wrong draft or a late stop.

    Parameters
    ----------
    env : simpy.Environment
    context, prompt_token : int
    rollout : DraftRollout
        What the draft model will say, and how much of it is right.
    rule : Foreseen
        Is told how many tokens to draft.
    costs : CostModel
    tokens : int
        Committed tokens after which the run ends.
    verify_max : int
        Drafts of a verification, at most.
    """

    def __init__(
        self,
        env: simpy.Environment,
        context: int,
        prompt_token: int,
        *,
        rollout: DraftRollout,
        rule: Foreseen,
        costs: CostModel,
        tokens: int,
        verify_max: int,
    ) -> None:
        super().__init__(env)
        self._context = context
        self._rollout = rollout
        self._rule = rule
        self._costs = costs
        self._wanted = tokens
        self._verify_max = verify_max
        self._head = 0
        """Position of the next token to be committed."""
        self._first = 0
        """Position at which the segment begins."""
        self._last = prompt_token
        self._drafts: list[int] = []
        """Of the segment so far."""
        self._plan: list[int] = []
        """Drafts of each verification to come in the segment."""
        self._passes = 0
        """Passes of the draft model in the segment."""
        self._verifying = False
        self._fed = -1
        """The draft model's KV cache is right below this position."""
        self._unfed = [prompt_token]

    def start(self) -> None:
        """Begin a segment.

        If it needs no drafts, the draft model takes in what it has not been fed, as long as that is over in
        time; the token that it says then is not used. Without that, what waits to be fed would add up.
        """
        self._first, self._drafts = self._head, []
        right = min(self._rollout.right(self._head), self._wanted - self._head - 1)
        self._plan, ps = self._shortest(right)
        self._passes = self._drafts_of(self._plan)
        if not self._passes:
            feeding = len(self._unfed)
            self._passes = int(self._costs.draft_ps(self._context + self._first, feeding) <= ps)
        if self._passes:
            self._rule.left = self._passes
            self.task.put(Draft(self._context + self._fed, tuple(self._unfed)))
        self._issue()

    def _shortest(self, right: int) -> tuple[list[int], int]:
        """Drafts of each verification, so that ``right`` + 1 tokens are committed as soon as possible; ps."""
        context, first = self._context, self._first
        ready, rows, feeding = [0], context + self._fed, len(self._unfed)
        for _ in range(right):
            rows += feeding
            ready.append(ready[-1] + self._costs.draft_ps(rows, feeding))
            feeding = 1
        best = [_Step(0, 0)]
        for end in range(1, right + 2):
            steps = []
            for drafts in range(min(end - 1, self._verify_max), -1, -1):
                begin = end - 1 - drafts
                start = max(best[begin].ps, ready[end - 1] if drafts else 0)
                kv_len = context + first + end - 1
                steps.append(_Step(start + self._costs.verify_ps(kv_len, drafts + 1), drafts))
            best.append(min(steps, key=lambda step: step.ps))
        plan, end = [], right + 1
        while end:
            plan.append(best[end].drafts)
            end -= best[end].drafts + 1
        return plan[::-1], best[-1].ps

    @staticmethod
    def _drafts_of(plan: list[int]) -> int:
        """Drafts up to the last that is verified."""
        needed = done = 0
        for drafts in plan:
            needed = done + drafts if drafts else needed
            done += drafts + 1
        return needed

    def _drafted(self, token: Token) -> None:
        self._drafts.append(token.id)
        position = self._first + len(self._drafts) - 1
        if position < self._head:  # the target model has said it before
            self.dropped += 1
        if token.last and len(self._drafts) < self._passes:
            more = Draft(self._context + position, (token.id,))
            At(self.env, 0, DELIVERY, lambda: self.task.put(more))  # when this task is over
        self._issue()

    def _issue(self) -> None:
        if self._verifying or not self._plan:
            return
        begin = self._head - self._first
        end = begin + self._plan[0]
        if self._plan[0] and len(self._drafts) < end:
            return
        self._verifying = True
        self.verify.put(Verify(self._context + self._head - 1, (self._last, *self._drafts[begin:end])))

    def _judged(self, verdict: Feedback) -> None:
        drafts = self._plan.pop(0)
        if verdict.accepted != drafts:
            raise ModelError(f"a wrong draft at position {self._head + verdict.accepted} was not foreseen")
        begin = self._head - self._first
        tokens = (*self._drafts[begin : begin + drafts], verdict.next)
        for draft, token in zip(self._drafts[begin:], tokens, strict=False):
            self.committed_drafts += draft == token
            self.dropped += draft != token
        self._verifying = False
        self._head, self._last = self._head + len(tokens), verdict.next
        self._feed(tokens)
        self.commit.put(tokens)
        At(self.env, 0, DELIVERY, self._issue if self._plan else self.start)  # not if the run is over

    def _feed(self, committed: tuple[int, ...]) -> None:
        """Keep what the next segment's first draft has to be fed."""
        self._unfed += committed
        if not self._plan and self._passes:
            # All that was drafted but the last has been fed.
            fed = self._first + self._passes - 1
            self._unfed, self._fed = self._unfed[fed - self._fed :], fed

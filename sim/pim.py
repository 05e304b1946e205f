"""The PIM as a module: one task at a time, a draft or a pre-verification, each on its own ranks."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from ahasd.models.control.events import Aborted, Draft, Preverified, Preverify, Token
from ahasd.models.cost import CostModel
from ahasd.models.policies import Cutter, Features
from ahasd.models.rollout import DraftToken, quantise_entropy
from ahasd.sim.caches import TargetCache, TrueText
from ahasd.sim.drafter import Drafter
from ahasd.sim.jobs import Job, TargetRanks
from ahasd.sim.meter import Meter
from ahasd.sim.ports import Controller, ModelError
from ahasd.sim.spans import Span

__all__ = ["Pim"]


class Pim:
    """Draft model and pre-verification.

    Inputs are :meth:`request` and :meth:`abort`; outputs go to the controller's ``token`` and ``result``.
    A task is outstanding from its request until the controller has taken the event that ends it.
    """

    def __init__(
        self,
        env: simpy.Environment,
        *,
        costs: CostModel,
        drafter: Drafter,
        cutter: Cutter[DraftToken],
        cache: TargetCache,
        ranks: TargetRanks,
        text: TrueText,
        controller: Controller,
        h_max: float,
    ) -> None:
        self.env = env
        self.spans: list[Span] = []
        self.meter = Meter()
        self.drafted = 0
        """Tokens that the draft model has made."""
        self.wasted = 0
        """Tokens that were held back and never sent."""
        self._costs = costs
        self._drafter = drafter
        self._cutter = cutter
        self._cache = cache
        self._ranks = ranks
        self._text = text
        self._controller = controller
        self._h_max = h_max
        self._on_target = False
        self._task: Draft | Preverify | None = None
        self._process: simpy.Process | None = None
        self._ending: simpy.Event | None = None
        controller.task.connect(self.request)
        controller.abort.connect(self.abort)

    @property
    def held(self) -> int:
        """Tokens held back at present."""
        return self._cutter.held

    # Inputs.

    def request(self, request: Draft | Preverify) -> None:
        """Begin a task."""
        if self._task is not None:
            raise ModelError(f"the PIM was given {request} while {self._task} is outstanding")
        self._task = request
        self.spans.append(Span(_NAMES[type(request)], int(self.env.now)))
        body = self._draft(request) if isinstance(request, Draft) else self._preverify(request)
        self._process = self.env.process(body)

    def abort(self, _: None = None) -> None:
        """Stop the task: ``aborted`` follows, or a pre-verification's result that is already on its way."""
        if self._task is None:
            raise ModelError("the PIM was told to abort, but has no task")
        if self._ending is not None and isinstance(self._task, Preverify):
            return
        span = self.spans[-1]
        span.aborted, span.end = True, None
        if self._ending is None and self._process is not None:
            self._process.interrupt()
        else:  # the last token waits to be taken, and will be stale
            self._ending = None
            self.env.process(self._stop())

    # Tasks.

    def _end_with(self, sent: simpy.Event) -> None:
        """The task is over as soon as the controller has taken ``sent``, unless it is aborted before."""
        self._ending = sent
        self.spans[-1].end = int(self.env.now)
        sent.callbacks.append(self._taken)

    def _taken(self, sent: simpy.Event) -> None:
        if sent is self._ending:
            self._task = self._ending = None

    def _stop(self) -> Generator[simpy.Event, Any, None]:
        yield self.env.timeout(self._costs.switch_ps())
        self.wasted += self._cutter.drop()
        self._end_with(self._controller.result.send(Aborted()))

    def _turn_to(self, target: bool) -> Generator[simpy.Event, Any, None]:
        if self._on_target != target:
            self._on_target = target
            yield self.env.timeout(self._costs.switch_ps())

    def _draft(self, request: Draft) -> Generator[simpy.Event, Any, None]:
        try:
            yield from self._turn_to(target=False)
            cutter = self._cutter
            at_hand = self._drafter.resume(request.position, request.tokens, bool(cutter.held))
            if not at_hand:
                self.wasted += cutter.drop()
            self._send(cutter.begin(self._drafter.position - cutter.held))
            while not cutter.done:
                drafter = self._drafter
                kv_len = drafter.rows + drafter.feeding
                yield self._pass(kv_len, drafter.feeding)
                self.meter.end()
                token = drafter.next()
                self.drafted += 1
                self.spans[-1].tokens += 1
                self._send(cutter.push(token, Features(token.entropy, token.top1, token.accept_pred)))
        except simpy.Interrupt:
            self.meter.end()
            yield from self._stop()

    def _pass(self, kv_len: int, tokens: int) -> simpy.Event:
        """A pass of the draft model begins; fires when it is complete."""
        begin, length = int(self.env.now), self._costs.draft_ps(kv_len, tokens)
        activity = self._costs.draft_activity
        self.meter.begin(activity, kv_len, tokens, lambda: int(self.env.now) - begin, length)
        return self.env.timeout(length)

    def _send(self, ready: list[tuple[DraftToken, bool]]) -> None:
        for token, last in ready:
            entropy = quantise_entropy(token.entropy, self._h_max)
            sent = self._controller.token.send(Token(token.id, entropy, last))
            if last:
                self._end_with(sent)

    def _metered(self, kv_len: int, tokens: int, job: Job) -> None:
        activity = self._costs.preverify_activity
        self.meter.begin(activity, kv_len, tokens, lambda: job.progress, job.total)

    def _preverify(self, request: Preverify) -> Generator[simpy.Event, Any, None]:
        span = self.spans[-1]
        span.tokens = len(request.tokens) - 1
        job = None
        try:
            yield from self._turn_to(target=True)
            self._cache.keep(request.position)
            kv_len = request.position + len(request.tokens)
            job = self._ranks.preverify(self._costs.preverify_ps(kv_len, len(request.tokens)))
            self._metered(kv_len, len(request.tokens), job)
            yield job.done
            self.meter.end()
            self._ranks.release(job)
        except simpy.Interrupt:
            if job is not None:
                self.meter.end()
                self._ranks.release(job)
            yield from self._stop()
            return
        first = request.position + 1 - self._text.context
        drafts = request.tokens[1:]
        passed = self._text.judge(first, drafts)
        span.good = passed
        self._cache.add(request.position, request.tokens[: passed + 1])
        fix = self._text[first + passed] if passed < len(drafts) else None
        self._end_with(self._controller.result.send(Preverified(passed, fix)))


_NAMES: dict[type[Draft] | type[Preverify], str] = {Draft: "draft", Preverify: "preverify"}

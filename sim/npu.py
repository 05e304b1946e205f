"""The NPU as a module: verifications with the target model, one at a time."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from ahasd.models.control.events import Feedback, Verify
from ahasd.models.cost import CostModel
from ahasd.sim.caches import TargetCache, TrueText
from ahasd.sim.jobs import TargetRanks
from ahasd.sim.meter import Meter
from ahasd.sim.ports import Controller, ModelError, Output
from ahasd.sim.spans import Span

__all__ = ["Npu"]


class Npu:
    """Verification. Input is :meth:`request`, the output goes to the controller's ``feedback``."""

    def __init__(
        self,
        env: simpy.Environment,
        *,
        costs: CostModel,
        cache: TargetCache,
        ranks: TargetRanks,
        text: TrueText,
        controller: Controller,
    ) -> None:
        self.env = env
        self.spans: list[Span] = []
        self.meter = Meter()
        self.judged: Output[tuple[int, int, int]] = Output()
        """(issued, accepted, position of the first), as soon as the controller has taken the verdict."""
        self._costs = costs
        self._cache = cache
        self._ranks = ranks
        self._text = text
        self._controller = controller
        controller.verify.connect(self.request)

    @property
    def busy(self) -> bool:
        """A verification runs."""
        return bool(self.spans) and self.spans[-1].end is None

    def request(self, request: Verify) -> None:
        """Begin a verification."""
        if self.busy:
            raise ModelError(f"the NPU was given {request} while it verifies")
        self._cache.need("verification", request.position)
        self.env.process(self._verify(request))

    def _verify(self, request: Verify) -> Generator[simpy.Event, Any, None]:
        drafts = request.tokens[1:]
        span = Span("verify", int(self.env.now), tokens=len(drafts))
        self.spans.append(span)
        kv_len = request.position + len(request.tokens)
        job = self._ranks.verify(self._costs.verify_ps(kv_len, len(request.tokens)))
        self.meter.begin(
            self._costs.verify_activity, kv_len, len(request.tokens), lambda: job.progress, job.total
        )
        yield job.done
        self.meter.end()
        self._ranks.release(job)
        first = request.position + 1 - self._text.context
        accepted = self._text.judge(first, drafts)
        span.end, span.good, span.work = int(self.env.now), accepted, job.total
        span.wasted = job.total - self._costs.verify_ps(request.position + 1 + accepted, 1 + accepted)
        sent = self._controller.feedback.send(Feedback(accepted, self._text[first + accepted]))
        issued = len(drafts)
        sent.callbacks.append(lambda _: self.judged.put((issued, accepted, first)))

"""An NPU and a PIM that keep the protocol and are otherwise as awkward as a random source makes them."""

from __future__ import annotations

import random
from collections import deque

from ahasd.models.control.events import Aborted, Draft, Event, Feedback, Preverified, Preverify, Token
from ahasd.models.control.params import ControlConfig

from .streams import ALPHABET

__all__ = ["Npu", "Pim"]


class Npu:
    """Takes a verify request and answers it once, after a while.

    ``ready`` is the chance to take a beat in a cycle.
    """

    def __init__(self, source: random.Random, ready: float = 0.5, delay: int = 60) -> None:
        self.source, self.ready, self.delay = source, ready, delay
        self._script: deque[Event] = deque()
        self._wait = 0

    def took_request(self, tokens: int) -> None:
        """The last beat of a request of ``tokens`` tokens, the one before the first included, is taken."""
        assert not self._script
        issued = tokens - 1
        accepted = issued if self.source.random() < 0.5 else self.source.randint(0, issued)
        self._script.append(Feedback(accepted, self.source.choice(ALPHABET)))
        self._wait = self.source.randint(0, self.delay)

    def offer(self) -> Event | None:
        """What it starts to offer in this cycle, if anything."""
        if self._script and self._wait == 0:
            return self._script.popleft()
        self._wait = max(self._wait - 1, 0)
        return None


class Pim:
    """Takes a task, answers it; stops when told to, not at once, and says so after its last stale token."""

    def __init__(
        self, source: random.Random, config: ControlConfig, ready: float = 0.5, delay: int = 8
    ) -> None:
        self.source, self.config, self.ready, self.delay = source, config, ready, delay
        self.late_results = 0
        self._script: deque[Event] = deque()
        self._offered: Event | None = None
        self._wait = 0
        self._stopping = False

    def _pause(self) -> None:
        self._wait = self.source.choice([0, self.source.randint(0, self.delay)])

    def took_request(self, kind: type[Draft] | type[Preverify], tokens: int, abort: bool) -> None:
        """The last beat of a task request is taken; ``abort`` is up or not."""
        assert not self._script
        assert self._offered is None
        source = self.source
        self._stopping = abort
        self._pause()
        if abort:
            self._script.append(Aborted())
            self._wait = 0
        elif kind is Draft:
            count = source.randint(1, self.config.max_draft)
            entropy = source.choice([30, 128, 255])
            for number in range(1, count + 1):
                self._script.append(
                    Token(source.choice(ALPHABET), source.randint(0, entropy), number == count)
                )
        else:
            passed = source.randint(0, tokens - 1)
            fix = None if passed == tokens - 1 else source.choice(ALPHABET)
            self._script.append(Preverified(passed, fix))
            self._wait += source.randint(0, 40)

    def sees(self, abort: bool) -> None:
        """The abort level in this cycle: sooner or later it stops what is left of its task."""
        if not abort or self._stopping or self.source.random() < 0.8:
            return
        if not self._script and self._offered is None:
            return  # no task yet: its request is still to come
        if isinstance(self._offered, Preverified):
            return  # too late to stop
        if self._script and isinstance(self._script[0], Preverified) and self.source.random() < 0.5:
            return  # a late result instead
        stale = self.source.randint(0, len(self._script))
        while len(self._script) > stale or (self._script and isinstance(self._script[-1], Preverified)):
            self._script.pop()
        self._script.append(Aborted())
        self._stopping = True

    def offer(self) -> Event | None:
        """What it starts to offer in this cycle, if anything."""
        if self._script and self._offered is None:
            if self._wait == 0:
                self._offered = self._script.popleft()
                return self._offered
            self._wait -= 1
        return None

    def was_taken(self, event: Event, abort: bool) -> None:
        """The unit has taken ``event``; a last token is stale if ``abort`` is up."""
        assert event is self._offered
        self._offered = None
        self._pause()
        match event:
            case Token(last=True) if abort and not self._stopping:
                self._script.append(Aborted())
                self._stopping = True
            case Preverified() if abort:
                self.late_results += 1
                assert not self._script

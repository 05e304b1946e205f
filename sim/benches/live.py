"""A PIM with its ranks and an NPU that answer what they are asked, at random, and keep the protocol."""

from __future__ import annotations

from collections import Counter, deque
from random import Random

from ahasd.models.control.events import Aborted, Draft, Event, Feedback, Preverified, Preverify, Token

__all__ = ["LiveNpu", "LivePim", "Ranks"]

ALPHABET = 3
"""Few token ids, so that guesses are often right."""


class LivePim:
    """Takes a task, answers it; told to stop, stops after some more tokens and says so."""

    def __init__(self, rng: Random, max_draft: int) -> None:
        self.rng, self.max_draft = rng, max_draft
        self._script: deque[Event] = deque()
        self._offered: Event | None = None
        self._wait = 0
        self._stopping = False

    @property
    def working(self) -> bool:
        """A task has been taken and has not ended."""
        return bool(self._script) or self._offered is not None

    def took(self, task: Draft | Preverify, abort: bool) -> None:
        """A request's last beat is taken; ``abort`` is up or not."""
        rng = self.rng
        assert not self.working, "a task while one is outstanding"
        self._stopping = abort
        self._wait = rng.choice((0, rng.randint(0, 60)))
        if abort:
            self._script.append(Aborted())
        elif isinstance(task, Draft):
            count = rng.randint(1, self.max_draft)
            entropy = rng.choice((30, 128, 255))
            for number in range(1, count + 1):
                token = Token(rng.randrange(ALPHABET), rng.randint(0, entropy), number == count)
                self._script.append(token)
        else:
            most = len(task.tokens) - 1
            passed = rng.choice((most, rng.randint(0, most)))
            self._script.append(Preverified(passed, None if passed == most else rng.randrange(ALPHABET)))
            self._wait += rng.randint(0, 300)

    def sees(self, abort: bool) -> None:
        """The abort level in this cycle."""
        late = isinstance(self._offered, Preverified)
        if not abort or self._stopping or late or not self.working or self.rng.random() < 0.8:
            return
        stale = self.rng.randint(0, len(self._script))
        kept = [event for event in list(self._script)[:stale] if isinstance(event, Token)]
        self._script = deque([*kept, Aborted()])
        self._stopping = True

    def offer(self) -> Event | None:
        """What it starts to offer in this cycle."""
        if self._script and self._offered is None:
            if self._wait == 0:
                self._offered = self._script.popleft()
                return self._offered
            self._wait -= 1
        return None

    def taken(self, abort: bool) -> None:
        """The unit has taken what was offered; a last token is stale if ``abort`` is up."""
        event, self._offered = self._offered, None
        self._wait = self.rng.choice((0, self.rng.randint(0, 30)))
        if isinstance(event, Token) and event.last and abort and not self._stopping:
            self._script.append(Aborted())
            self._stopping = True


class LiveNpu:
    """Answers a verification after a while."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.verdict: Feedback | None = None
        self.wait = 0

    def took(self, tokens: int) -> None:
        """A request of ``tokens`` tokens, the one before the first included, is taken."""
        assert self.verdict is None, "a verification while one runs"
        issued = tokens - 1
        accepted = self.rng.choice((issued, self.rng.randint(0, issued)))
        self.verdict = Feedback(accepted, self.rng.randrange(ALPHABET))
        self.wait = self.rng.choice((self.rng.randint(0, 30), self.rng.randint(0, 900)))

    def offer(self) -> Feedback | None:
        """The verdict, when it is due."""
        if self.verdict is not None:
            self.wait -= 1
            if self.wait < 0:
                verdict, self.verdict = self.verdict, None
                return verdict
        return None


class Ranks:
    """Ranks that work for the task they are given and drain after it, and the memory controller's grant."""

    def __init__(self, rng: Random, draft: int, target: int) -> None:
        self.rng, self.masks = rng, (draft, target)
        self.busy = self.open = 0
        self.grant = 0
        self._left = [0] * 16
        self._delay = 0
        self._before: tuple[int, int] = (0, 0)
        self.bins: Counter[str] = Counter()

    def begin(self, preverify: bool) -> None:
        """A task's first beat is taken."""
        self.busy |= self.masks[preverify]
        self.open |= self.busy

    def end(self) -> None:
        """The task is over; its ranks drain."""
        for rank in range(16):
            if self.busy >> rank & 1:
                self._left[rank] = self.rng.randint(1, 40)

    def cycle(self, enable: int, request: bool) -> None:
        """Check the gate's outputs of this cycle, and move on."""
        draft, target = self.masks
        assert enable in (0, draft, target), f"enabled ranks {enable:#06x}"
        old, active = self._before
        assert not old & ~enable & active, "a busy or open rank is gated"
        if enable & ~old:
            assert not active & (target if enable == draft else draft), "make before break"
            self.bins["draft ranks on" if enable == draft else "target ranks on"] += 1
        host = enable != target or not target or (request and self.grant)
        assert host, "target ranks without a grant"
        for rank, left in enumerate(self._left):
            if left:
                self._left[rank] = left - 1
                if left == 1:
                    self.busy &= ~(1 << rank)
                    self.open &= ~(1 << rank)
        if request and not self.grant:
            self._delay -= 1
            self.grant = int(self._delay < 0)
        elif not request:
            self.grant = 0
            self._delay = self.rng.randint(0, 60)
        self._before = enable, self.busy | self.open

"""Work whose speed changes while it runs, and the target model's ranks, over which NPU and PIM contend."""

from __future__ import annotations

import simpy

__all__ = ["CONTENTION", "Job", "TargetRanks"]

CONTENTION = ("block", "yield", "none")


class Job:
    """Work of ``total`` ps at full speed. ``done`` fires when it is complete.

    All arithmetic is on integers: progress is rounded down to a ps at each change of speed.
    """

    def __init__(self, env: simpy.Environment, total: int) -> None:
        self._env = env
        self.total = total
        self.done = env.event()
        self._finished = 0
        self._since = int(env.now)
        self._speed = (0, 1)
        self._round = 0

    @property
    def progress(self) -> int:
        """Work done so far, ps at full speed."""
        share, whole = self._speed
        return min(self.total, self._finished + (int(self._env.now) - self._since) * share // whole)

    def run_at(self, share: int, whole: int) -> None:
        """From now on, ``share`` / ``whole`` of full speed."""
        self._change(share, whole)
        if self.done.triggered:
            return
        if self._finished == self.total:
            self._finish(self._round)
        elif share:
            current = self._round
            wait = -(-(self.total - self._finished) * whole // share)
            timer = self._env.timeout(wait)
            timer.callbacks.append(lambda _: self._finish(current))

    def stop(self) -> None:
        """Give up: ``done`` never fires."""
        self._change(0, 1)

    def _change(self, share: int, whole: int) -> None:
        self._finished, self._since, self._speed = self.progress, int(self._env.now), (share, whole)
        self._round += 1

    def _finish(self, current: int) -> None:
        if current == self._round:
            self._finished, self._speed = self.total, (0, 1)
            self.done.succeed()


class TargetRanks:
    """The ranks that hold the target model's weights: read by the NPU, computed on by a pre-verification.

    In PIM mode a rank does not answer the NPU. What happens while a verification (alone: V ps) and a
    pre-verification (alone: P ps) run at the same time is the ``contention``:

    - ``block``: the verification stands still until the pre-verification is over;
    - ``yield``: they alternate by layer. Both have the target's layers, so in (V + P) / layers ps each gets
      one done: the verification runs at V / (V + P) of its speed, the pre-verification at P / (V + P). What
      switching the ranks at each layer costs is left out (it is below 0.1 % of a layer);
    - ``none``: both at full speed, as if the ranks had two ports.
    """

    def __init__(self, env: simpy.Environment, contention: str) -> None:
        if contention not in CONTENTION:
            raise ValueError(f"contention: {contention!r} must be one of {', '.join(CONTENTION)}")
        self._env = env
        self._contention = contention
        self._verification: Job | None = None
        self._preverification: Job | None = None

    def verify(self, total: int) -> Job:
        """The NPU begins a verification; release it when it is over."""
        self._verification = Job(self._env, total)
        self._share()
        return self._verification

    def preverify(self, total: int) -> Job:
        """The PIM begins a pre-verification; release it when it is over or stopped."""
        self._preverification = Job(self._env, total)
        self._share()
        return self._preverification

    def release(self, job: Job) -> None:
        """``job`` is over; the other one has the ranks to itself."""
        if job is self._verification:
            self._verification = None
        elif job is self._preverification:
            self._preverification = None
        job.stop()
        self._share()

    def _share(self) -> None:
        npu, pim = self._verification, self._preverification
        both = npu is not None and pim is not None
        if npu is not None:
            if both and self._contention == "block":
                npu.run_at(0, 1)
            elif pim is not None and self._contention == "yield":
                npu.run_at(npu.total, npu.total + pim.total)
            else:
                npu.run_at(1, 1)
        if pim is not None:
            if npu is not None and self._contention == "yield":
                pim.run_at(pim.total, npu.total + pim.total)
            else:
                pim.run_at(1, 1)

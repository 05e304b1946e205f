"""What the RTL's replay units share, whichever simulator runs them."""

from __future__ import annotations

from ahasd.models.control.events import Decision
from ahasd.models.control.work import Violation
from ahasd.models.errors import VectorError
from ahasd.models.replay import describe, in_order
from ahasd.sim.engine import Decided, Output, Taken

__all__ = ["REST_CYCLES", "ReplayBase"]

REST_CYCLES = 10_000
"""The unit must come to rest within this many cycles of an event; more is a hang."""


class ReplayBase:
    """The latest event: its ``outputs`` with edges, when it was ``taken``, when the unit was ``free``."""

    def __init__(self) -> None:
        self.outputs: list[Output] = []
        self.taken = 0
        self.free = 0

    def _settled(self, outputs: list[Output], edge: int, cause: int) -> list[Decision]:
        """The decisions of an event after which the unit came to rest at ``edge``.

        Raises
        ------
        VectorError
            If ``cause``, the sticky violation bits, is not zero.
        """
        self.outputs = outputs
        for output in outputs:
            if isinstance(output, Taken):
                self.taken = output.edge
        self.free = edge + 1
        if cause:
            found = [describe(violation) for violation in Violation if cause >> violation & 1]
            raise VectorError(f"the event breaks the protocol: {', '.join(found)}")
        decisions = [output.decision for output in outputs if isinstance(output, Decided)]
        return sorted(decisions, key=in_order)

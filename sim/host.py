"""The host as a module: receives the committed tokens, checks that they are the target's, ends the run."""

from __future__ import annotations

import simpy

from ahasd.sim.caches import TrueText
from ahasd.sim.ports import Controller

__all__ = ["Host"]


class Host:
    """Input is :meth:`take`. ``done`` fires with the commit that reaches ``tokens``."""

    def __init__(
        self, env: simpy.Environment, *, text: TrueText, tokens: int, controller: Controller
    ) -> None:
        self.env = env
        self.done = env.event()
        self.committed: list[int] = []
        self.first_ps: int | None = None
        """Time of the first commit."""
        self._text = text
        self._wanted = tokens
        controller.commit.connect(self.take)

    def take(self, tokens: tuple[int, ...]) -> None:
        """Check and keep committed tokens.

        Raises
        ------
        ModelError
            If one of them is not the target model's own: the system is not lossless.
        """
        self._text.check("committed text", len(self.committed), tokens)
        self.committed += tokens
        if self.first_ps is None:
            self.first_ps = int(self.env.now)
        if len(self.committed) >= self._wanted and not self.done.triggered:
            self.done.succeed()

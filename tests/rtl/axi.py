"""An AXI4-Lite manager for Amaranth's simulator, with hesitation on every channel."""

from __future__ import annotations

import random
from typing import Any

from ahasd.rtl.axi_lite import Response

OKAY, SLVERR = Response.OKAY, Response.SLVERR


class Manager:
    """One transfer at a time; ``clock`` waits for an edge."""

    def __init__(self, ctx: Any, axi: Any, seed: int = 0, hesitation: float = 0.0) -> None:
        self.ctx, self.axi = ctx, axi
        self.rng, self.hesitation = random.Random(seed), hesitation

    async def edge(self) -> None:
        await self.ctx.tick()

    async def _pause(self) -> None:
        while self.rng.random() < self.hesitation:
            await self.edge()

    async def _send(self, channels: dict[str, dict[str, int]]) -> None:
        """Offer each channel's payload at its own time, hold it until taken."""
        ctx, axi = self.ctx, self.axi
        waits = dict.fromkeys(channels, 0)
        while self.hesitation and self.rng.random() < 0.5:
            waits[self.rng.choice(list(waits))] += 1
        left = set(channels)
        while left:
            for name in left:
                if waits[name] == 0:
                    for signal, value in channels[name].items():
                        ctx.set(getattr(axi, signal), value)
                    ctx.set(getattr(axi, f"{name}valid"), 1)
            taken = {name for name in left if waits[name] <= 0 and ctx.get(getattr(axi, f"{name}ready"))}
            await self.edge()
            for name in left:
                waits[name] -= 1
                if name in taken:
                    ctx.set(getattr(axi, f"{name}valid"), 0)
            left -= taken

    async def _answer(self, channel: str, *signals: str) -> tuple[Any, ...]:
        ctx, axi = self.ctx, self.axi
        held: tuple[Any, ...] | None = None
        for _ in range(2000):
            ready = self.rng.random() >= self.hesitation
            ctx.set(getattr(axi, f"{channel}ready"), ready)
            valid = ctx.get(getattr(axi, f"{channel}valid"))
            answer = tuple(ctx.get(getattr(axi, name)) for name in signals)
            if held is not None:
                assert (valid, answer) == (1, held), "an answer changes or goes before it is taken"
            held = answer if valid else None
            await self.edge()
            if valid and ready:
                ctx.set(getattr(axi, f"{channel}ready"), 0)
                return answer
        raise AssertionError("no answer")

    async def write(self, address: int, word: int, strobe: int = 0xF) -> Response:
        await self._pause()
        await self._send({"aw": {"awaddr": address}, "w": {"wdata": word, "wstrb": strobe}})
        return (await self._answer("b", "bresp"))[0]

    async def read(self, address: int) -> tuple[Response, int]:
        await self._pause()
        await self._send({"ar": {"araddr": address}})
        response, word = await self._answer("r", "rresp", "rdata")
        return response, word

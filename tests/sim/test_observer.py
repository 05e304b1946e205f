"""The observer refuses an engine that decides otherwise than the golden unit, a cache a wrong row."""

from __future__ import annotations

import dataclasses

import pytest

from ahasd.models.control.events import Commit, Draft, Verify
from ahasd.sim import run as runs
from ahasd.sim.caches import TargetCache, TrueText
from ahasd.sim.config import RunConfig
from ahasd.sim.engine import Decided, Output
from ahasd.sim.golden_engine import GoldenEngine
from ahasd.sim.ports import ModelError
from ahasd.sim.run import simulate


class Faulty(GoldenEngine):
    """Spoils or loses the first decision of one kind."""

    kind: type = Verify
    lose = False
    done = False

    def advance(self, limit: int) -> list[Output]:
        out: list[Output] = []
        for output in super().advance(limit):
            if isinstance(output, Decided) and isinstance(output.decision, self.kind) and not self.done:
                self.done = True
                if self.lose:
                    continue
                spoilt = dataclasses.replace(output.decision, tokens=(*output.decision.tokens[:-1], 7))
                output = Decided(output.edge, spoilt)
            out.append(output)
        return out


@pytest.mark.parametrize("kind", [Verify, Draft, Commit])
@pytest.mark.parametrize("lose", [False, True])
def test_a_decision_that_differs_is_named(kind: type, lose: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(name: str, *, tick_cycles: int, **_: object) -> Faulty:
        engine = Faulty(tick_cycles)
        engine.kind, engine.lose = kind, lose
        return engine

    monkeypatch.setattr(runs, "make_engine", make)
    expected = "did not decide|stands still" if lose else "engine decided"
    with pytest.raises(ModelError, match=expected):
        simulate(RunConfig(tokens=50))


def test_target_cache() -> None:
    text = TrueText([10, 11, 12, 13, 14], context=4, prompt_token=9)
    cache = TargetCache(text)
    assert cache.rows == 3
    cache.keep(3)
    cache.add(3, [9, 10])  # pre-verification found 10 right
    assert cache.rows == 5
    cache.commit([10])
    assert cache.rows == 5
    cache.commit([11, 12])
    assert cache.rows == 6
    with pytest.raises(ModelError, match="7 entries"):
        cache.need("verification", 7)
    with pytest.raises(ModelError, match="token 9 at position 2, the target model has 12"):
        cache.add(6, [9])


def test_true_text() -> None:
    text = TrueText([10, 11, 12], context=4, prompt_token=9)
    assert text[-1] == 9
    assert text.judge(0, [10, 11, 5]) == 2
    assert text.judge(0, []) == 0
    assert text.judge(1, [11, 12]) == 2

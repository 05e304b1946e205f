"""The attention unit's golden model against float64 on the same elements, within the promised accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ahasd.models.attention import (
    AttentionParams,
    AttentionUnit,
    Command,
    Op,
    Result,
    State,
    entropy_scale,
    epsilon_sum,
)
from ahasd.models.attention.formats import SUM_BITS, TERM_FRACTION
from ahasd.models.attention.tables import ERRORS, FUNCTIONS, Function, interpolate
from ahasd.models.errors import ConfigError
from ahasd.models.rollout import quantise_entropy

LONGEST = 1 << 18
LOW, HIGH = -(1 << 15), (1 << 15) - 1
LENGTHS = (1, 2, 3, 15, 16, 17, 100, 1000, 4096, LONGEST)
SCALE_ONE = 12


def vectors(length: int) -> Iterator[tuple[str, np.ndarray]]:
    """Random vectors and those at which fixed-point arithmetic goes wrong first."""
    rng = np.random.default_rng(length)
    place = rng.integers(length)
    yield "uniform", rng.integers(LOW, HIGH + 1, length)
    yield "normal", np.clip(rng.normal(0, 3000, length), LOW, HIGH).astype(int)
    yield "equal", np.full(length, rng.integers(LOW, HIGH + 1))
    yield "zero", np.zeros(length, dtype=int)
    yield "rising", np.sort(rng.integers(LOW, HIGH + 1, length))
    for name, base, peak in (
        ("one hot", LOW, HIGH),
        ("spike on a large mean", 30000, 30001),
        ("spike above a long tail", -20000, -20000 + 20992),  # 20.5 at 10 fraction bits
        ("dip", HIGH, LOW),
    ):
        x = np.full(length, base)
        x[place] = peak
        yield name, x


@pytest.fixture(params=LENGTHS, scope="module")
def cases(request: pytest.FixtureRequest) -> list[tuple[str, np.ndarray]]:
    return list(vectors(request.param))


def softmax(x: np.ndarray, fraction: int) -> np.ndarray:
    v = x * 2.0**-fraction
    e = np.exp(v - v.max())
    return np.asarray(e / e.sum())


def fractions(x: np.ndarray) -> tuple[int, ...]:
    return (0, 6, 10, 15) if len(x) < LONGEST else (7, 10)


def test_tables_keep_their_bounds() -> None:
    position = np.arange(1 << 14)
    for function in Function:
        exact = np.array([FUNCTIONS[function](k / (1 << 14)) for k in position])
        assert abs(interpolate(function, position) / (1 << 15) - exact).max() <= ERRORS[function], function


def test_tables_fall_without_steps() -> None:
    """A softmax must not rank a smaller element above a larger one."""
    for function in Function:
        falls = -np.diff(interpolate(function, np.arange(1 << 14)))
        assert 0 <= falls.min() <= falls.max() <= falls.mean() + 12


def test_softmax(cases: list[tuple[str, np.ndarray]]) -> None:
    for name, x in cases:
        for fraction in fractions(x):
            out = AttentionUnit().run(Command(op=Op.SOFTMAX, length=len(x), fraction=fraction), x).out
            assert out is not None
            assert abs(out / (1 << 15) - softmax(x, fraction)).max() <= 2**-10, (name, fraction)


def logits(x: np.ndarray, fraction: int, unit: AttentionUnit | None = None, **fields: Any) -> Result:
    command = Command(
        op=Op.LOGITS,
        length=len(x),
        fraction=fraction,
        parameter=entropy_scale(max(2, len(x))),
        apply=False,
    )
    result = (unit or AttentionUnit()).run(replace(command, **fields), x).result
    assert result is not None
    return result


def entropy_nats(p: np.ndarray) -> float:
    present = p[p > 0]
    return max(0.0, -float((present * np.log(present)).sum()))


def test_logits(cases: list[tuple[str, np.ndarray]]) -> None:
    for name, x in cases:
        for fraction in fractions(x):
            result = logits(x, fraction)
            p = softmax(x, fraction)
            assert result.state.index == np.argmax(x), name
            assert result.state.maximum == x.max()
            assert abs(result.probability / (1 << 15) - p.max()) <= 2**-10, (name, fraction)
            wanted = quantise_entropy(entropy_nats(p), math.log(max(2, len(x))))
            assert abs(result.entropy - wanted) <= 1, (name, fraction)


def test_entropy_before_it_is_rounded_down() -> None:
    """A slightly larger scale must not change the verdict by more than it says: no cliff but the floor's."""
    rng = np.random.default_rng(3)
    for spread in (10, 300, 3000):
        x = np.clip(rng.normal(0, spread, 32000), LOW, HIGH).astype(int)
        exact = entropy_nats(softmax(x, 10)) * 256 / math.log(32000)
        assert exact - 1.1 < logits(x, 10).entropy < exact + 0.1


def exact_norm(x: np.ndarray, fraction: int, epsilon: float, centred: bool) -> np.ndarray:
    """From whole-number sums: float64 sums would lose a small deviation on a large mean."""
    n, total = len(x), int(x.sum()) if centred else 0
    squares = int((x.astype(np.int64) ** 2).sum())
    variance = (n * squares - total * total) / n / n / 4.0**fraction + epsilon
    centred_x = (n * x.astype(np.int64) - total) / n / 2.0**fraction
    return np.asarray(centred_x / math.sqrt(variance) if variance else centred_x * 0)


@pytest.mark.parametrize("op", [Op.LAYER_NORM, Op.RMS_NORM])
@pytest.mark.parametrize("epsilon", [0.0, 1e-5])
def test_norms(op: Op, epsilon: float, cases: list[tuple[str, np.ndarray]]) -> None:
    """Relative 2^-7 or absolute 2^-10, with half a unit of the result on top, at several of its formats."""
    for name, x in cases:
        ones, zeros = np.full(len(x), 1 << SCALE_ONE), np.zeros(len(x), dtype=int)
        for fraction in fractions(x):
            exact = exact_norm(x, fraction, epsilon, op is Op.LAYER_NORM)
            for out_fraction in (5, 10, 13):
                command = Command(
                    op=op,
                    length=len(x),
                    fraction=fraction,
                    scale_fraction=SCALE_ONE,
                    out_fraction=out_fraction,
                    parameter=epsilon_sum(epsilon, len(x), fraction),
                )
                out = AttentionUnit().run(command, x, ones, zeros).out
                assert out is not None
                unit = 2.0**-out_fraction
                reachable = np.clip(exact, LOW * unit, HIGH * unit)
                allowed = np.maximum(abs(reachable) * 2**-7, 2**-10) + unit / 2
                assert (abs(out * unit - reachable) <= allowed).all(), (name, fraction, out_fraction)


def test_norm_with_scale_and_offset() -> None:
    rng = np.random.default_rng(5)
    x, scale, offset = (rng.integers(-9000, 9000, 333) for _ in range(3))
    command = Command(op=Op.LAYER_NORM, length=333, fraction=9, scale_fraction=13, out_fraction=10)
    out = AttentionUnit().run(command, x, scale, offset).out
    exact = exact_norm(x, 9, 0, True) * scale / (1 << 13) + offset / (1 << 10)
    assert out is not None
    assert abs(out / (1 << 10) - exact).max() <= 2**-10


def gelu(v: np.ndarray) -> np.ndarray:
    return np.asarray(v * (1 + np.vectorize(math.erf)(v / math.sqrt(2))) / 2)


def silu(v: np.ndarray) -> np.ndarray:
    return np.asarray(v / (1 + np.exp(-np.clip(v, -700, None))))


@pytest.mark.parametrize(("op", "function"), [(Op.GELU, gelu), (Op.SILU, silu)])
@pytest.mark.parametrize("fraction", range(16))
def test_gates_on_all_elements(op: Op, function: Callable[[np.ndarray], np.ndarray], fraction: int) -> None:
    x = np.arange(LOW, HIGH + 1)
    command = Command(op=op, length=len(x), reduce=False, fraction=fraction, out_fraction=fraction)
    out = AttentionUnit().run(command, x).out
    assert out is not None
    full_scale = 2.0 ** (15 - fraction)
    assert abs(out * 2.0**-fraction - function(x * 2.0**-fraction)).max() <= full_scale * 2**-8
    if fraction <= 11:  # beyond +-8 the gate is open or shut
        assert out[-1] == HIGH
        assert out[0] == 0


def test_scaled_add_is_rounded_once_and_saturates() -> None:
    rng = np.random.default_rng(7)
    x, offset = rng.integers(LOW, HIGH + 1, 5000), rng.integers(LOW, HIGH + 1, 5000)
    for alpha, fractions in ((32767, (3, 12, 5)), (-20000, (8, 14, 8)), (1, (0, 0, 0)), (0, (15, 15, 15))):
        fraction, scale_fraction, out_fraction = fractions
        command = Command(
            op=Op.SCALED_ADD,
            length=5000,
            reduce=False,
            fraction=fraction,
            scale_fraction=scale_fraction,
            out_fraction=out_fraction,
            parameter=alpha,
        )
        out = AttentionUnit().run(command, x, offset=offset).out
        exact = x * alpha * 2.0 ** (out_fraction - fraction - scale_fraction) + offset
        assert out is not None
        in_window = (
            abs(exact - offset) < 65535
        )  # what is beyond saturates, but for offsets it gives up 7 bits
        reachable = np.clip(exact, LOW, HIGH)
        assert abs(out - reachable)[in_window].max() <= 0.5
        assert abs(out - reachable).max() <= 128


def test_reduce() -> None:
    rng = np.random.default_rng(9)
    x = rng.integers(LOW, HIGH + 1, LONGEST)
    result = AttentionUnit().run(Command(op=Op.REDUCE, length=LONGEST, apply=False), x).result
    assert result is not None
    assert result.state.first == x.sum()
    assert result.state.second == (x.astype(object) ** 2).sum()
    assert (result.state.maximum, result.state.index) == (x.max(), np.argmax(x))


@pytest.mark.parametrize("value", [LOW, 0, HIGH])
@pytest.mark.parametrize("op", [Op.LOGITS, Op.REDUCE])
def test_the_longest_vectors_fit_the_sums(op: Op, value: int) -> None:
    x = np.full(LONGEST, value)
    for fraction in (0, 15):
        command = Command(op=op, length=LONGEST, apply=False, fraction=fraction)
        result = AttentionUnit().run(command, x).result
        assert result is not None
        assert abs(result.state.first) < 1 << SUM_BITS - 1
        assert 0 <= result.state.second < 1 << SUM_BITS - 1


def parts(x: np.ndarray, ranks: int) -> list[tuple[int, np.ndarray]]:
    """Ranges of different sizes, with the index of their first elements."""
    cuts = [len(x) * k * k // ranks**2 for k in range(ranks + 1)]
    return [(a, x[a:b]) for a, b in pairwise(cuts) if a < b]


@pytest.mark.parametrize("ranks", [2, 16])
def test_merged_parts_are_the_whole(ranks: int) -> None:
    for name, x in vectors(32000):
        for fraction in (0, 10, 15):
            whole = logits(x, fraction)
            states = [logits(part, fraction, first=first).state for first, part in parts(x, ranks)]
            for order in (states, states[::-1]):
                command = Command(
                    op=Op.LOGITS,
                    reduce=False,
                    apply=False,
                    partials=len(order),
                    fraction=fraction,
                    parameter=entropy_scale(len(x)),
                )
                merged = AttentionUnit().run(command, partials=order).result
                assert merged is not None
                mine, theirs = asdict(merged.state), asdict(whole.state)
                for key in ("maximum", "index", "count", "reference"):
                    assert mine[key] == theirs[key], (name, fraction, key)
                assert abs(merged.entropy - whole.entropy) <= 1
                assert abs(merged.probability - whole.probability) <= 1


def test_a_rank_merges_the_others_and_normalises_its_part() -> None:
    rng = np.random.default_rng(11)
    x = np.clip(rng.normal(0, 2000, 1000), LOW, HIGH).astype(int)
    whole = AttentionUnit().run(Command(op=Op.SOFTMAX, length=1000, fraction=9), x).out
    assert whole is not None
    cut = parts(x, 3)
    for mine, (first, part) in enumerate(cut):
        others = [logits(p, 9, first=f).state for k, (f, p) in enumerate(cut) if k != mine]
        command = Command(op=Op.SOFTMAX, length=len(part), first=first, partials=len(others), fraction=9)
        out = AttentionUnit().run(command, part, partials=others).out
        assert out is not None
        assert abs(out.astype(int) - whole[first : first + len(part)]).max() <= 1


def test_merged_norms_are_the_whole() -> None:
    for name, x in vectors(5000):
        state = State()
        for _, part in parts(x, 5):
            command = Command(op=Op.LAYER_NORM, length=len(part), apply=False)
            result = AttentionUnit().run(command, part).result
            assert result is not None
            state = state.merged(result.state)
        assert (state.first, state.second, state.count) == (x.sum(), (x.astype(object) ** 2).sum(), 5000), (
            name
        )


def test_the_order_of_lanes_does_not_matter_but_for_rounding() -> None:
    rng = np.random.default_rng(13)
    x = np.sort(rng.integers(LOW, HIGH + 1, 10000))
    one = logits(x, 11).state.first
    for lanes in (2, 64):
        other = logits(x, 11, AttentionUnit(AttentionParams(lanes=lanes))).state.first
        assert abs(one - other) < 1 << TERM_FRACTION - 14


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"op": Op.SOFTMAX, "length": 0}, "length"),
        ({"op": Op.SOFTMAX, "length": LONGEST + 1}, "length"),
        ({"op": Op.SOFTMAX, "fraction": 16}, "fraction"),
        ({"op": Op.GELU}, "reduce: GELU has nothing to reduce"),
        ({"op": Op.LOGITS}, "apply: LOGITS has no vector"),
        ({"op": Op.LOGITS, "apply": False, "parameter": 1 << 17}, "parameter"),
        ({"op": Op.RMS_NORM, "out_fraction": 15, "scale_fraction": 2}, "out_fraction: 15 must be at most"),
        ({"op": Op.SCALED_ADD, "reduce": False, "out_fraction": 9}, "out_fraction: 9 must be at most"),
        ({"op": Op.SCALED_ADD, "reduce": False, "parameter": 1 << 15}, "parameter"),
    ],
)
def test_wrong_commands_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Command(**fields)


def test_wrong_inputs_are_refused() -> None:
    unit = AttentionUnit()
    with pytest.raises(ConfigError, match="state: empty"):
        unit.run(Command(op=Op.SOFTMAX, length=2, reduce=False), [1, 2])
    with pytest.raises(ConfigError, match="x: "):
        unit.run(Command(op=Op.SOFTMAX, length=2), [1, 2, 3])
    with pytest.raises(ConfigError, match="scale: "):
        unit.run(Command(op=Op.RMS_NORM, length=2), [1, 2])
    with pytest.raises(ConfigError, match="partials: got 0"):
        unit.run(Command(op=Op.LOGITS, apply=False, reduce=False, partials=1))
    with pytest.raises(ConfigError, match="lanes"):
        AttentionParams(lanes=12)
    with pytest.raises(ConfigError, match="vocabulary"):
        entropy_scale(1)

"""Systolic arrays against the peer's cycle counts and unit by unit; passes of language models."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator

import pytest

from ahasd.models.cost import FirstOrderCost
from ahasd.models.cost_cache import CostCache
from ahasd.models.errors import ConfigError
from ahasd.models.language_files import PAIRS, language_model, pair
from ahasd.models.npu import FirstOrderDma, FixedDma, NpuPasses, SystolicArray, matmul
from ahasd.models.npu.command_dma import CommandDma, memory_scope
from ahasd.models.npu.kernel import matmul_report
from ahasd.models.npu.passes import layer_steps
from ahasd.models.npu.pipeline import Block, Pipeline, State
from ahasd.models.platform import load_platform, with_overrides

BIG = SystolicArray(128, 128)


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AHASD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def by_units(array: SystolicArray, n: int, k: int, m: int) -> int:
    """Units one by one, as the reference words it."""
    height, width = array.rows, array.columns
    start, before, done = 2 * height - 1, None, 0
    for _ in range(0, m, width):
        for left in range(0, n, height):
            rows = min(height, n - left)
            for _ in range(0, k, height):
                if before is not None:
                    start += max(before, 4, height)
                before = rows
                done = start + height + width - 2 + max(rows, 4)
    return done


@pytest.mark.parametrize("units", [1, 2, 64, 1024])
def test_full_units(units: int) -> None:
    """T full 128-row units take 128 T + 509."""
    assert BIG.cycles(128, units) == 128 * units + 509
    assert matmul(BIG, 128, 128 * units, 128).cycles == 128 * units + 509


def test_formula_on_other_shapes() -> None:
    draw = random.Random(3)
    for _ in range(300):
        array = SystolicArray(draw.choice([1, 2, 3, 4, 8, 32, 64, 128]), draw.choice([1, 2, 5, 16, 64, 128]))
        n, k, m = (draw.randint(1, 5 * side + 7) for side in (array.rows, array.rows, array.columns))
        assert matmul(array, n, k, m).cycles == by_units(array, n, k, m), (array, n, k, m)


@pytest.mark.parametrize(
    ("n", "k", "m", "cycles"),
    [
        (128, 128, 128, 907),
        (512, 512, 512, 9393),
        (1024, 1024, 1024, 67284),
        (1, 4096, 4096, 133628),
        (128, 4096, 4096, 135992),
    ],
)
def test_peer_with_memory(n: int, k: int, m: int, cycles: int) -> None:
    """One rate and one latency stand for its HBM2: within 0.5 %, and no faster than without memory."""
    dma = FixedDma(500, latency_ps=70_000)
    found = matmul(BIG, n, k, m, dma=dma, element_bytes=2, scratchpad_bytes=64 << 20)
    assert abs(found.cycles / cycles - 1) < 0.005
    assert matmul(BIG, n, k, m).cycles < cycles
    assert (found.bytes_read, found.bytes_written) == (2 * k * (n + m), 2 * n * m)


def test_arrays_share_the_units() -> None:
    array = SystolicArray(64, 64)
    one, two = (matmul(array, 64, 4096, 4096, arrays=a).cycles for a in (1, 2))
    assert one - two == 64 * 4096 // 2
    assert matmul(array, 1, 64, 64, arrays=2).cycles == matmul(array, 1, 64, 64).cycles


def test_memory_bound_matmul_takes_its_transfers() -> None:
    slow = FixedDma(1)
    found = matmul(BIG, 4, 4096, 4096, dma=slow, scratchpad_bytes=8 << 20)
    size = found.bytes_read + found.bytes_written
    assert size == 4096 * 4096 + 2 * 4 * 4096
    assert size <= found.cycles <= size * 1.001


def test_small_scratchpad_sweeps_weights_again() -> None:
    big, small = (
        matmul(BIG, 1024, 1024, 256, dma=FixedDma(100), scratchpad_bytes=b) for b in (8 << 20, 1 << 20)
    )
    assert small.bytes_read - big.bytes_read == 256 * 1024
    assert small.bytes_written == big.bytes_written == 1024 * 256


@pytest.mark.parametrize("name", ["n", "k", "m"])
def test_sizes_are_checked(name: str) -> None:
    sizes = {"n": 1, "k": 1, "m": 1} | {name: 0}
    with pytest.raises(ConfigError, match=f"-{name}: 0 must be at least 1"):
        matmul(BIG, **sizes)


def test_report() -> None:
    platform = load_platform()
    report = matmul_report(platform, (128, 4096, 4096), array=(128, 128), memory=False)
    assert (report["cycles"], report["ps"], report["bandwidth_gbps"]) == (131581, 131581000, 0)
    assert report["commands"] == {"PRELOAD": 1024, "GEMM": 1024, "RD": 0, "WR": 0}
    report = matmul_report(platform, (1, 4096, 4096), array=(64, 64), arrays=2)
    assert report["commands"]["RD"] == (4096 * 4096 + 4096) // 32
    assert 40 < report["bandwidth_gbps"] < 51.2
    with pytest.raises(ConfigError, match="--element-bytes: 5 must be from 1 to 4"):
        matmul_report(platform, (1, 1, 1), array=(64, 64), element_bytes=5)
    with pytest.raises(ConfigError, match="array: 0x64"):
        matmul_report(platform, (1, 1, 1), array=(0, 64))


# DMA through the memory's commands.


@pytest.mark.parametrize("name", ["ahasd", "lpddr5-6400"])
def test_command_dma_is_the_bus_less_refresh(name: str) -> None:
    """A little below the closed formula: a refresh also closes and opens rows."""
    platform = load_platform(name)
    scope = memory_scope(platform)
    dma = CommandDma(platform, 8, CostCache(scope))
    formula = FirstOrderDma(platform, 8)
    size = 1 << 24
    assert 1.0 < dma.dma_ps(size) / formula.dma_ps(size) < 1.03
    assert abs(size / dma.dma_ps(size) * 1000 - dma.gbps) < 0.01
    again = CostCache(scope)
    assert CommandDma(platform, 8, again).dma_ps(size) == dma.dma_ps(size)
    assert again.simulated == 0


def test_command_dma_of_uneven_ranks() -> None:
    """Five ranks on four channels: one channel has two fifths."""
    platform = load_platform()
    cache = CostCache(memory_scope(platform))
    five, eight = (CommandDma(platform, ranks, cache).dma_ps(5 << 20) for ranks in (5, 8))
    assert abs(five / eight - 1.6) < 0.001


# Passes.


def passes(name: str, role: int = 1, skip: bool = True, **changes: object) -> NpuPasses:
    platform = with_overrides(load_platform(), {f"platform.npu.{k}": v for k, v in changes.items()})
    return NpuPasses(platform, pair(name)[role], FirstOrderDma(platform, 8), skip=skip)


@pytest.mark.parametrize("name", [*PAIRS, "tinyllama-1.1b/llama2-7b"])
def test_layer_steps_are_all_operators(name: str) -> None:
    for model in pair(name):
        steps = layer_steps(model)
        kinds = [type(step).__name__ for step in steps]
        assert kinds.count("str") == 1
        assert sorted(s for s in steps if type(s).__name__ == "Gemv") == sorted(model.gemvs)
        assert [s for s in steps if type(s).__name__ == "Nonlinear"] == list(model.elementwise)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("tokens", [1, 9, 33])
def test_pass_against_first_order(name: str, tokens: int) -> None:
    """The same memory at the same rate: what is left is fill, drain and overlap, within 1 %."""
    model = FirstOrderCost(load_platform(), *pair(name))
    ours = passes(name).pass_ps(512 + tokens, tokens, tokens)
    assert abs(ours / model.verify_ps(512 + tokens, tokens) - 1) < 0.01


def test_pass_grows_with_tokens_and_context() -> None:
    unit = passes("llama2-7b/13b")
    times = [unit.pass_ps(512 + n, n, n) for n in (1, 2, 4, 8, 16, 32, 33, 64, 65, 128, 200)]
    assert all(a < b for a, b in itertools.pairwise(times))
    times = [unit.pass_ps(length, 8, 8) for length in (8, 9, 63, 64, 65, 1000, 4000)]
    assert all(a <= b for a, b in itertools.pairwise(times))
    assert times[0] < times[-1]


def test_compute_bound_pass() -> None:
    """An array clock ten times slower: prefill is bound by MACs, at 64 rows a unit."""
    model = language_model("llama2-13b")
    n = 1024
    ps = passes("llama2-7b/13b", clock_ps=10_000).pass_ps(n, n, 0)
    macs = n * model.layers * model.layer_bytes / (2 * 64 * 64) * 10_000
    assert macs < ps < 1.15 * macs


def test_skipping_is_exact() -> None:
    """Whatever the blocks, their number, the delays."""
    draw = random.Random(5)
    for _ in range(200):
        operators = [
            [
                (Block(draw.randint(0, 99), draw.randint(1, 99), draw.randint(-20, 50)), draw.randint(1, 40))
                for _ in range(size)
            ]
            for size in (1, draw.randint(1, 4))
        ]
        delay = draw.randint(0, 2000)
        ends = []
        for skip in (True, False):
            pipeline = Pipeline(17, skip)
            pipeline.repeat(functools.partial(_run_all, pipeline, operators, delay), 25)
            ends.append(pipeline.state)
        assert ends[0] == ends[1]


def _run_all(pipeline: Pipeline, operators: list[list[tuple[Block, int]]], delay: int) -> None:
    for blocks in operators:
        pipeline.run(blocks, pipeline.done)
        pipeline.delay(delay)


def test_pipeline_is_shift_invariant() -> None:
    """What skipping rests on."""
    blocks = [(Block(30, 50, 5), 2), (Block(80, 10, -3), 1)]
    for state in (State(), State(5, 0, 9, 70, 60)):
        ends = []
        for shift in (0, 1000):
            pipeline = Pipeline(17, state=State(*(value + shift for value in state)))
            pipeline.run(blocks, pipeline.done)
            ends.append(State(*(value - shift for value in pipeline.state)))
        assert ends[0] == ends[1]


@pytest.mark.parametrize("name", PAIRS)
def test_whole_pass_equals_one_without_skipping(name: str) -> None:
    fast, plain = passes(name), passes(name, skip=False)
    for n in (1, 7, 33, 100, 700):
        assert fast.pass_ps(300 + n, n, n) == plain.pass_ps(300 + n, n, n)

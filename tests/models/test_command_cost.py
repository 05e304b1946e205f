"""Command-level timing: skipping, refresh, the roofline, the cache, systems on it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ahasd.models.command_cost import CommandCost, Kernels
from ahasd.models.command_cost.kernels import kernel_scope
from ahasd.models.command_cost.rates import bus_gbps, pim_gbps
from ahasd.models.cost import FirstOrderCost, make_cost
from ahasd.models.cost_cache import CostCache
from ahasd.models.errors import ConfigError
from ahasd.models.language_files import PAIRS, pair
from ahasd.models.pim import gemv
from ahasd.models.platform import Platform, load_platform, with_overrides

CONTEXT = 128


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AHASD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def platform(name: str = "ahasd", **changes: object) -> Platform:
    keys = {"platform." + key.replace("__", "."): value for key, value in changes.items()}
    return with_overrides(load_platform(name), {"platform.timing": "commands", **keys})


def cost(name: str = "llama2-7b/13b", aau: bool = True, **changes: object) -> CommandCost:
    return CommandCost(platform(**changes), *pair(name), aau)


def kernels(of: Platform, ranks: int = 8) -> Kernels:
    return Kernels(of, ranks, CostCache(kernel_scope(of)))


# Kernels.


@pytest.mark.parametrize("name", ["ahasd", "lpddr5-6400"])
def test_reads_equal_whole_simulations(name: str) -> None:
    """Skipping rows is exact, whatever the length and the MACs a byte."""
    of, draw = platform(name), random.Random(7)
    unit = kernels(of)
    for _ in range(40):
        size, vectors = draw.randint(1, 400_000), draw.choice([1, 2, 3, 4, 9, 40])
        whole = gemv(of, 8, size, vectors, 8, False, broadcast=False, gather=False)
        want = whole.cycles - whole.phases["switch"]
        assert unit.read_ps(size, vectors) == want * of.dram.tck_ps, (size, vectors)


def test_reads_from_the_channel_are_simulated_whole() -> None:
    of = platform(pim__sequencer="host")
    whole = gemv(of, 8, 50_000, 1, 8, False, broadcast=False, gather=False)
    found = kernels(of).read_ps(50_000, 1)
    assert found == (whole.cycles - whole.phases["switch"]) * of.dram.tck_ps
    assert found >= kernels(platform()).read_ps(50_000, 1)


@pytest.mark.parametrize(("rows", "cols", "vectors"), [(4096, 4096, 1), (11008, 4096, 4), (5120, 13824, 9)])
def test_refresh_is_that_of_whole_simulations(rows: int, cols: int, vectors: int) -> None:
    """At most one refresh (RFC and a row) off: a simulation has a whole number of them."""
    of = platform()
    unit = kernels(of)
    plain = unit.gemv_ps(rows, cols, vectors, broadcast=True, gather=True)
    whole = gemv(of, rows, cols, vectors, 8).ps
    assert abs(unit.stretched(plain) - whole) < (560 + 128) * of.dram.tck_ps + 0.0005 * whole
    assert abs(unit.refresh_share - 560 / 6240) < 0.01


def test_exchange() -> None:
    """Bytes over a channel at its pins' rate; the two ranks of a channel answer one after the other."""
    unit = kernels(platform())
    assert unit.exchange_ps(0, 0) == 0
    inputs, results = unit.exchange_ps(32 * 1000, 0), unit.exchange_ps(0, 32 * 1000)
    assert 1000 * 2500 < inputs < 1000 * 2500 * 1.05
    assert 2 * 1000 * 2500 < results < 2 * 1000 * 2500 * 1.05
    assert inputs < unit.exchange_ps(32 * 1000, 32) < inputs + 200_000


def test_sustained_rates() -> None:
    """Below the closed formula: rows also wait for tRTP, refreshes close rows."""
    of = platform()
    assert 0.97 < pim_gbps(of) / 213.1 < 1
    assert 0.97 < bus_gbps(of) / 46.6 < 1


# Passes.


@pytest.mark.parametrize("name", PAIRS)
def test_sum_over_layers_is_the_roofline_at_the_rates_of_the_timing(name: str) -> None:
    """Weights at the sustained rates are a lower bound; KV, exchange and operators come on top."""
    model, (draft, target), of = cost(name), pair(name), platform()
    bound = draft.streamed_bytes / (pim_gbps(of) * draft_share(of)) * 1000
    assert bound < model.draft_ps(CONTEXT + 1, 1) < 1.06 * bound
    bound = target.streamed_bytes / (pim_gbps(of) * (1 - draft_share(of))) * 1000
    assert bound < model.preverify_ps(CONTEXT + 2, 2) < 1.04 * bound
    bound = target.streamed_bytes / bus_gbps(of) * 1000
    assert bound < model.verify_ps(CONTEXT + 9, 9) < 1.02 * bound


def draft_share(of: Platform) -> float:
    return of.pim.draft_ranks / of.dram.ranks


@pytest.mark.parametrize("aau", [True, False])
def test_against_first_order(aau: bool) -> None:
    first = FirstOrderCost(load_platform(), *pair("llama2-7b/13b"), aau)
    model = cost(aau=aau)
    for kv_len, tokens in ((129, 1), (1025, 1), (130, 2)):
        assert 1.0 < model.draft_ps(kv_len, tokens) / first.draft_ps(kv_len, tokens) < 1.03
    for tokens in (1, 9, 33):
        assert 1.0 < model.verify_ps(512 + tokens, tokens) / first.verify_ps(512 + tokens, tokens) < 1.03
    for tokens in (2, 4, 9):
        ratio = model.preverify_ps(512 + tokens, tokens) / first.preverify_ps(512 + tokens, tokens)
        assert 0.99 < ratio < 1.03
    assert 1.0 < model.prefill_ps(128) / first.prefill_ps(128) < 1.03
    assert (model.prefill_ps(0), model.switch_ps(), model.layers) == (0, first.switch_ps(), first.layers)


@pytest.mark.parametrize("kind", ["draft", "preverify", "verify"])
def test_passes_grow_with_context_and_tokens(kind: str) -> None:
    pass_ps = getattr(cost(), f"{kind}_ps")
    times = [pass_ps(length, 1) for length in (1, 2, 3, 63, 64, 65, 500, 1023, 1024, 4000)]
    assert all(a <= b for a, b in itertools.pairwise(times))
    assert times[0] < times[-1]
    times = [pass_ps(600, tokens) for tokens in (1, 2, 3, 4, 6, 9)]
    assert all(a < b for a, b in itertools.pairwise(times))


def test_rank_partition() -> None:
    """More ranks draft faster, and leave fewer to pre-verification; the bus stays the same."""
    few, even, many = (cost(pim__draft_ranks=ranks) for ranks in (4, 8, 12))
    drafts = [model.draft_ps(129, 1) for model in (few, even, many)]
    assert drafts[0] > 1.9 * drafts[1] > 1.9 * 1.4 * drafts[2]
    assert few.preverify_ps(130, 2) < even.preverify_ps(130, 2) < many.preverify_ps(130, 2)
    assert few.verify_ps(130, 2) == many.verify_ps(130, 2)


def test_without_attention_unit_a_pass_costs_round_trips() -> None:
    assert cost().draft_ps(129, 1) < cost(aau=False).draft_ps(129, 1)
    assert cost().preverify_ps(137, 9) < cost(aau=False).preverify_ps(137, 9)
    assert cost().verify_ps(137, 9) == cost(aau=False).verify_ps(137, 9)


def test_cached_between_instances(tmp_path: Path) -> None:
    def figures(folder: Path) -> tuple[list[int], int]:
        model = CommandCost(platform(), *pair("opt-1.3b/6.7b"), folder=folder)
        found = [model.draft_ps(length, 1) for length in (100, 101, 150)]
        found += [model.verify_ps(150, 5), model.preverify_ps(150, 2), model.prefill_ps(100)]
        return found, model.cache.simulated

    first, simulated = figures(tmp_path)
    assert simulated > 0
    assert figures(tmp_path) == (first, 0)
    other = tmp_path / "a file"
    other.write_text("")
    assert figures(other) == (first, simulated)


def test_errors() -> None:
    with pytest.raises(ConfigError, match=r"platform\.pim\.draft_ranks: draft model llama2-7b needs"):
        cost(pim__draft_ranks=1)
    with pytest.raises(ConfigError, match="draft: 3 tokens up to 2 KV entries"):
        cost().draft_ps(2, 3)


def test_make_cost_goes_by_the_platform() -> None:
    assert isinstance(make_cost(platform(), *pair("opt-1.3b/6.7b")), CommandCost)
    assert isinstance(make_cost(load_platform(), *pair("opt-1.3b/6.7b")), FirstOrderCost)


@pytest.mark.parametrize("contention", ["block", "yield", "none"])
@pytest.mark.parametrize("system", ["ahasd", "npu-pim-sync"])
def test_systems_run_on_it(system: str, contention: str) -> None:
    from ahasd.sim.config import RunConfig
    from ahasd.sim.run import simulate

    times = [
        simulate(
            RunConfig(
                system=system,
                engine="golden" if system == "ahasd" else None,
                pair="opt-1.3b/6.7b",
                tokens=48,
                set={"platform.timing": timing, "platform.contention": contention},
            )
        ).to_dict()["time_ps"]
        for timing in ("commands", "first-order")
    ]
    assert 0.9 < times[0] / times[1] < 1.1

"""Energy: events of passes against simulated commands and shapes, coefficients, joules by component."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from ahasd.models.cost import CostModel, make_cost
from ahasd.models.energy import COMPONENTS, Activity, Coefficients, Machine
from ahasd.models.energy.passes import NpuActivity, PimActivity
from ahasd.models.errors import ConfigError
from ahasd.models.language import LanguageModel
from ahasd.models.language_files import language_model, pair
from ahasd.models.npu.array import SystolicArray
from ahasd.models.npu.blocks import Scratchpad
from ahasd.models.pim import gemv
from ahasd.models.platform import load_platform, with_overrides

PLATFORM = load_platform()
PAIRS = ["llama2-7b/13b", "opt-1.3b/6.7b", "palm-8b/30b"]
ROW_BITS = 8 * PLATFORM.dram.row_bytes
PHONE = frozenset({"dram", "pim", "npu", "host"})


def machine(parts: frozenset[str] = PHONE, control_unit: bool = True) -> Machine:
    return Machine(ranks=16, row_bits=ROW_BITS, parts=parts, control_unit=control_unit)


def costs(name: str, *, aau: bool = True, timing: str = "first-order") -> CostModel:
    return make_cost(with_overrides(PLATFORM, {"platform.timing": timing}), *pair(name), aau)


def passes(model: CostModel) -> list[Activity]:
    return [
        model.draft_activity(100, 1),
        model.draft_activity(1001, 3),
        model.preverify_activity(333, 8),
        model.verify_activity(1024, 17),
        model.prefill_activity(500),
    ]


# Sanity figures: sums that can be done on paper from published numbers.


def test_a_sweep_of_the_weights_over_the_bus() -> None:
    size = language_model("llama2-7b").streamed_bytes
    sweep = Activity(bus_bytes=size, row_activations=size // PLATFORM.dram.row_bytes)
    assert machine().joules(sweep, 0)["dram"] == pytest.approx(0.37, abs=0.001)


def test_a_sweep_of_the_weights_in_the_banks() -> None:
    size = language_model("llama2-7b").streamed_bytes
    rows = size // PLATFORM.dram.row_bytes
    sweep = Activity(pim_bytes=size, row_activations=rows, pim_activations=rows, pim_macs=size)
    assert machine().joules(sweep, 0)["pim"] == pytest.approx(0.0545, abs=0.0005)


def test_a_sweep_of_the_weights_on_a_discrete_gpu() -> None:
    sweep = Activity(gpu_ps=14_650_000_000)
    joules = machine(frozenset({"gpu", "host"}), False).joules(sweep, 14_650_000_000)
    assert joules["gpu"] == pytest.approx(1.76, abs=0.005)


def test_background_of_the_memory_is_what_the_data_sheet_says() -> None:
    """32 dies of 16 Gb: 0.42 W of refresh, 0.14 W in power-down, 1.2 W in standby; typical 30 % less."""
    second = 10**12
    low, default, high = (
        machine().joules(Activity(), second, c)["dram_background"]
        for c in (Coefficients.end("low"), Coefficients(), Coefficients.end("high"))
    )
    assert (low, default, high) == pytest.approx((0.4, 0.6, 1.6), abs=0.03)


# Events.


@pytest.mark.parametrize(("out", "inp", "vectors"), [(4096, 4096, 1), (5120, 13824, 8), (1000, 100, 2)])
def test_commands_of_a_kernel_are_those_that_are_counted(out: int, inp: int, vectors: int) -> None:
    """All ranks execute what the fullest one does; beyond what is counted there is only its padding."""
    ranks, pim, dram = 8, PLATFORM.pim, PLATFORM.dram
    model = LanguageModel(
        name="one", layers=1, hidden=inp, heads=1, kv_heads=1, head_dim=1, ffn=1, vocab=out, parallel=True
    )
    activity = PimActivity(PLATFORM, model, ranks, aau=True)
    head = [activity.of(9, vectors, outputs) for outputs in (vectors, 0)]
    size = head[0].pim_bytes - head[1].pim_bytes
    rows = head[0].pim_activations - head[1].pim_activations
    kernel = gemv(PLATFORM, out, inp, vectors, ranks, False, broadcast=False, gather=False)
    read = ranks * kernel.commands["RD"] * pim.banks_at_once * dram.access_bytes
    assert size == out * inp
    assert head[0].pim_macs - head[1].pim_macs == vectors * out * inp
    assert size <= read <= ranks * (-(-out // ranks) * inp + pim.banks_at_once * dram.access_bytes)
    assert rows == ranks * kernel.commands["ACT"] * pim.banks_at_once


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("aau", [True, False])
def test_both_timings_count_the_same(name: str, aau: bool) -> None:
    assert passes(costs(name, aau=aau)) == passes(costs(name, aau=aau, timing="commands"))


@pytest.mark.parametrize("name", PAIRS)
def test_weights_and_cache_are_read_once_whatever_the_tokens(name: str) -> None:
    draft, target = pair(name)
    model = costs(name)
    for tokens in (1, 2, 8):
        written = tokens * draft.kv_bytes_per_token
        kv = 200 * draft.kv_bytes_per_token
        assert model.draft_activity(200, tokens).pim_bytes == draft.streamed_bytes + kv + written
        kv = 200 * target.kv_bytes_per_token
        assert model.verify_activity(200, tokens).bus_bytes == target.streamed_bytes + kv
        assert model.preverify_activity(200, tokens).npu_macs == 0
        assert model.verify_activity(200, tokens).pim_bytes == 0


@pytest.mark.parametrize("name", PAIRS)
def test_each_token_has_its_macs(name: str) -> None:
    _, target = pair(name)
    model = costs(name)
    each = target.streamed_bytes + 2 * 200 * target.layers * target.attention_width
    for tokens in (1, 5):
        assert model.preverify_activity(200, tokens).pim_macs == tokens * each
        assert model.verify_activity(200, tokens).npu_macs == tokens * each


def test_rows_hold_all_that_is_read_of_banks() -> None:
    for name in PAIRS:
        for work in passes(costs(name)):
            assert work.pim_activations * PLATFORM.dram.row_bytes >= work.pim_bytes
            assert work.row_activations >= work.pim_activations


@pytest.mark.parametrize("name", PAIRS)
def test_without_attention_units_operators_go_over_the_bus(name: str) -> None:
    """Elements are the same, an attention unit passes some of them twice."""
    with_, without = (costs(name, aau=aau).draft_activity(300, 1) for aau in (True, False))
    assert with_.vector_elements == without.aau_elements == 0
    assert without.vector_elements < with_.aau_elements <= 2 * without.vector_elements
    assert without.bus_bytes > with_.bus_bytes
    assert (without.pim_bytes, without.pim_macs) == (with_.pim_bytes, with_.pim_macs)


@pytest.mark.parametrize("tokens", [1, 300, 303, 304, 305, 320, 321, 1500])
def test_long_prompts_sweep_weights_as_often_as_the_scratchpad_says(tokens: int) -> None:
    npu = PLATFORM.npu
    scratchpad = Scratchpad(SystolicArray(npu.rows, npu.columns), npu.arrays, npu.scratchpad_kib << 10)
    work = NpuActivity(PLATFORM, language_model("llama2-13b"))
    for inp in (5120, 13824):
        assert work.sweeps(tokens, inp) == len(scratchpad.groups(tokens, inp))


def test_a_prompt_is_no_work_if_there_is_none() -> None:
    assert costs(PAIRS[0]).prefill_activity(0) == Activity()


def test_activities_add_up() -> None:
    a, b = passes(costs(PAIRS[0]))[:2]
    assert a + b == b + a == Activity.total([(a, 1), (b, 1)])
    assert a + a + a == a.times(3) == Activity.total([(a, 3)])
    assert Activity.total([]) == Activity()
    assert (a.times(1, 2) + a.times(1, 2)).pim_macs == a.pim_macs
    assert a.times(2, 3).bus_bytes == 2 * a.bus_bytes // 3


# Joules.


@pytest.mark.parametrize("name", PAIRS)
def test_low_is_below_default_and_default_below_high(name: str) -> None:
    ends = [Coefficients.end("low"), Coefficients(), Coefficients.end("high")]
    for aau in (True, False):
        for work in passes(costs(name, aau=aau)):
            joules = [machine().joules(work, 10**11, c) for c in ends]
            for component in COMPONENTS:
                low, default, high = (each[component] for each in joules)
                assert 0 <= low <= default <= high


def test_joules_add_up() -> None:
    a, b, *_ = passes(costs(PAIRS[0]))
    both = machine().joules(a + b, 300)
    parts = [machine().joules(a, 100), machine().joules(b, 200)]
    assert both == pytest.approx({key: parts[0][key] + parts[1][key] for key in COMPONENTS}, rel=1e-12)


def test_only_what_is_there_costs() -> None:
    def components(*parts: str, control_unit: bool = False) -> set[str]:
        joules = machine(frozenset(parts), control_unit).joules(Activity(), 10**12)
        return {name for name, value in joules.items() if value}

    assert components("dram") == components("hbm") == {"dram_background"}
    assert components("dram", "pim") == {"dram_background"}
    assert components("npu") == {"npu_idle"}
    assert components("host", control_unit=True) == {"host", "control"}
    assert components("gpu") == {"gpu"}
    assert components() == set()


def test_a_phones_gpu_is_not_a_laptops() -> None:
    c = Coefficients()
    half = Activity(gpu_ps=10**12)
    discrete, phone = (
        machine(frozenset(parts), False).joules(half, 2 * 10**12)["gpu"]
        for parts in ({"gpu"}, {"gpu", "dram"})
    )
    assert discrete == pytest.approx(c.gpu_active_w + c.gpu_idle_w)
    assert phone == pytest.approx(c.mobile_gpu_active_w + c.mobile_gpu_idle_w)
    two = dataclasses.replace(machine(frozenset({"gpu"})), gpus=2)
    assert two.joules(Activity(), 10**12)["gpu"] == pytest.approx(2 * c.gpu_idle_w)


def test_activation_is_not_counted_twice() -> None:
    """Whole rows cost the all-in figure whatever a row costs; rows opened for a part of them cost more."""
    rows = 1000
    whole = Activity(bus_bytes=rows * ROW_BITS // 8, row_activations=rows)
    for row in (0.7, 1.8):
        joules = machine().joules(whole, 0, Coefficients(row_activation=row))["dram"]
        assert joules == pytest.approx(rows * ROW_BITS * 7e-12)
    broken = whole._replace(row_activations=2 * rows)
    more = machine().joules(broken, 0)["dram"] - machine().joules(whole, 0)["dram"]
    assert more == pytest.approx(rows * 1.1e-9)


def test_coefficients_are_settings_of_the_platform() -> None:
    changed = with_overrides(PLATFORM, {"platform.energy.bus_bit": "20"})
    assert changed.energy.bus_bit == 20
    assert PLATFORM.energy == Coefficients()
    with pytest.raises(ConfigError, match="bus_bit"):
        with_overrides(PLATFORM, {"platform.energy.bus_bit": "21"})


def test_each_coefficient_says_where_it_comes_from() -> None:
    for field in dataclasses.fields(Coefficients):
        low, high = field.metadata["low"], field.metadata["high"]
        assert low <= field.default <= high
        assert low < high
        assert all(field.metadata[key] for key in ("unit", "source"))


def test_the_page_has_the_coefficients_as_they_are() -> None:
    page = (Path(__file__).parents[2] / "docs" / "energy.md").read_text(encoding="utf-8")
    for field in dataclasses.fields(Coefficients):
        low, high = field.metadata["low"], field.metadata["high"]
        start = f"| `{field.name}` | {field.metadata['unit']} | {field.default:g} | {low:g}..{high:g} |"
        assert start in page

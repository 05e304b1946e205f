"""specpim: a split pass against the devices' own passes, the search against what it could have found."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ahasd.models.errors import ConfigError
from ahasd.models.first_order.npu import NpuPass
from ahasd.models.first_order.pim import PimPass
from ahasd.models.language_files import PAIRS, pair
from ahasd.models.platform import Platform, load_platform, with_overrides
from ahasd.models.split.desktop import Desktop
from ahasd.models.split.device import Machine
from ahasd.models.split.passes import STEPS, SplitPass, kinds
from ahasd.models.split.phone import Phone
from ahasd.models.split.search import Mapping, find_mapping, time_per_token
from ahasd.models.split.settings import SearchSettings
from ahasd.sim.config import RunConfig
from ahasd.sim.run import prepare, simulate

SLOW_PIM = {"platform.pim.lanes": 16}
"""A quarter of the MACs: bandwidth of the banks goes unused, so that the NPU is worth ranks of its own."""


def phone(**changes: object) -> Platform:
    return with_overrides(
        load_platform(), {f"platform.{k.replace('__', '.')}": v for k, v in changes.items()}
    )


def phones(platform: Platform) -> list[Machine]:
    return [Phone(platform, ranks) for ranks in range(platform.dram.ranks, -1, -1)]


def search(platform: Platform, name: str, length: int | None = None, **settings: Any) -> Mapping:
    return find_mapping(phones(platform), *pair(name), SearchSettings(**settings), length)


def whole(machine: Machine, name: str, steps: int, length: int, settings: SearchSettings) -> float:
    """Expected ps a token with all operators on one device."""
    draft, target = pair(name)
    n, context = length + 1, settings.context
    draft_ps = SplitPass(machine, draft, dict.fromkeys(kinds(draft), steps)).pass_ps(context, 1, 1)
    verify_ps = SplitPass(machine, target, dict.fromkeys(kinds(target), steps)).pass_ps(context, n, n)
    return time_per_token(draft_ps, verify_ps, length, settings.acceptance)


@pytest.mark.parametrize("name", PAIRS)
def test_all_on_the_npu_is_its_own_pass(name: str) -> None:
    platform, (_, target) = load_platform(), pair(name)
    split = SplitPass(Phone(platform, 0), target, dict.fromkeys(kinds(target), 0))
    own = NpuPass(platform, target, platform.dram.ranks)
    for shape in ((200, 1, 1), (200, 9, 9), (128, 128, 0)):
        assert split.pass_ps(*shape) == own.pass_ps(*shape)
        times = split.times(*shape)
        assert times.second == 0
        assert times.first == times.total
        if shape[2]:  # activations of a prompt may spill, those of a verification do not
            assert split.activity(*shape) == own.activity(*shape)


@pytest.mark.parametrize("name", PAIRS)
def test_all_on_the_pim_is_nearly_its_own_pass(name: str) -> None:
    """What differs: nonlinear operators in the NPU's vector unit, and a link latency an operator."""
    platform, (_, target) = load_platform(), pair(name)
    split = SplitPass(Phone(platform, 16), target, dict.fromkeys(kinds(target), STEPS))
    own = PimPass(platform, target, 16, aau=True)
    for shape in ((200, 1, 1), (200, 9, 9)):
        assert split.pass_ps(*shape) == pytest.approx(own.pass_ps(*shape), rel=0.02)
        assert split.activity(*shape).pim_bytes == pytest.approx(own.activity(*shape).pim_bytes, rel=0.001)


def test_a_split_reads_every_byte_once() -> None:
    platform, (_, target) = load_platform(), pair("llama2-7b/13b")
    reads = []
    for steps in (0, 16, 40, 64):
        machine = Phone(platform, {0: 0, 64: 16}.get(steps, 12))
        found = SplitPass(machine, target, dict.fromkeys(kinds(target), steps)).activity(512, 3, 3)
        reads.append(found.pim_bytes + found.scratchpad_bytes // 2)
        assert found.pim_macs + found.npu_macs == pytest.approx(
            3 * (target.streamed_bytes + 40 * 2 * 512 * 5120)
        )
    assert len(set(reads)) == 1


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("changes", [{}, SLOW_PIM, {"platform.npu.arrays": 1}], ids=str)
def test_no_worse_than_any_it_could_have_found(name: str, changes: dict[str, object]) -> None:
    platform, settings = with_overrides(load_platform(), changes), SearchSettings()
    found = find_mapping(phones(platform), *pair(name), settings)
    for length in range(1, 17):
        assert found.ps_per_token <= whole(Phone(platform, 16), name, STEPS, length, settings)
        assert found.ps_per_token <= whole(Phone(platform, 0), name, 0, length, settings)
    for length in (1, 3, 8):
        assert (
            found.ps_per_token <= find_mapping(phones(platform), *pair(name), settings, length).ps_per_token
        )
    draw = random.Random(name)
    for _ in range(40):
        machine, length = Phone(platform, draw.randrange(1, 16)), draw.randrange(1, 9)
        draft_ps, verify_ps = (
            SplitPass(machine, model, {kind: draw.randrange(STEPS + 1) for kind in kinds(model)}).pass_ps(
                settings.context, n, n
            )
            for model, n in zip(pair(name), (1, length + 1), strict=True)
        )
        assert found.ps_per_token <= time_per_token(draft_ps, verify_ps, length, settings.acceptance)


def test_with_this_memory_everything_goes_to_the_pim() -> None:
    """All ranks in PIM mode read at 213 GB/s; 12 and the bus come to 160 + 47: docs/systems.md."""
    found = search(load_platform(), "llama2-7b/13b")
    assert set(found.draft.values()) == set(found.target.values()) == {STEPS}
    assert found.length == 2


def test_a_slower_pim_shares_with_the_npu() -> None:
    found = search(with_overrides(load_platform(), SLOW_PIM), "llama2-7b/13b", length=4)
    assert any(0 < steps < STEPS for steps in found.target.values())
    d = simulate(RunConfig(system="specpim", policy="fixed-4", tokens=30, set=SLOW_PIM)).to_dict()
    assert d["config"]["policy"] == "fixed-4"
    assert d["npu"]["busy_ps"] > 0
    assert d["pim"]["verify_ps"] > 0
    assert sum(d["npu"].values()) == sum(d["pim"].values()) == d["time_ps"]


def test_each_memory_holds_its_part() -> None:
    """Ranks of 1.5 GiB: 25.8 GB for 22.5 GB, so that room decides."""
    platform = phone(dram__rank_mib=1536, pim__lanes=16)
    draft, target = pair("llama2-7b/13b")
    free = search(phone(pim__lanes=16), "llama2-7b/13b", length=4)
    tight = search(platform, "llama2-7b/13b", length=4)
    assert tight.ps_per_token >= free.ps_per_token
    rooms = tight.machine.rooms
    held = [0.0, 0.0]
    for model, split in ((draft, tight.draft), (target, tight.target)):
        for gemv in (*model.gemvs, model.head):
            size = gemv.out * gemv.inp * (1 if gemv == model.head else model.layers)
            held[1] += size * split[gemv.name] / STEPS
            held[0] += size * (STEPS - split[gemv.name]) / STEPS
        kv = model.kv_bytes_per_token * model.max_context
        held[1] += kv * split["attention"] / STEPS
        held[0] += kv * (STEPS - split["attention"]) / STEPS
    assert all(size <= room + 1 for size, room in zip(held, rooms, strict=True))
    with pytest.raises(ConfigError, match=r"need 22\.\d\d GB .* memories of 17\.18 GB"):
        search(phone(dram__rank_mib=1024), "llama2-7b/13b")


def test_longer_drafts_where_more_is_accepted() -> None:
    lengths = [search(load_platform(), "opt-1.3b/6.7b", acceptance=a).length for a in (0.3, 0.8, 0.97)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def test_the_policy_says_what_was_used() -> None:
    config = RunConfig(system="specpim", tokens=10)
    assert prepare(config).make_policy().name == "fixed-2 (specpim search)"
    assert prepare(RunConfig(system="specpim", policy="fixed-K")).make_policy().name == "fixed-5"
    more = RunConfig(system="specpim", set={"system.search.acceptance": 0.97}, pair="opt-1.3b/6.7b")
    assert prepare(more).make_policy().name != "fixed-2 (specpim search)"
    settings = simulate(config).to_dict()["config"]["settings"]
    assert settings["system.search.acceptance"] == 0.8
    assert settings["policy.k"] == 2


@pytest.mark.parametrize("name", PAIRS)
def test_gpus_with_hbm(name: str) -> None:
    """No slower than the GPUs alone, where these have room; and the stacks hold what they are given."""
    platform, settings = load_platform(), SearchSettings()
    machine = Desktop(platform)
    found = find_mapping([machine], *pair(name), settings)
    if sum(model.full_bytes for model in pair(name)) < machine.rooms[0]:
        assert found.ps_per_token <= min(whole(machine, name, 0, k, settings) for k in range(1, 17))
    assert any(found.target.values())
    d = simulate(RunConfig(system="specpim-gpu", pair=name, tokens=20)).to_dict()
    assert d["npu"] is None
    assert d["gpu"]["busy_ps"] > d["pim"]["verify_ps"] > 0

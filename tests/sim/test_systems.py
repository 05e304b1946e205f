"""All systems: lossless, honest about their devices, repeatable, extensible by one file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ahasd.models.cost import make_passes
from ahasd.models.errors import ConfigError
from ahasd.models.language_files import PAIRS, pair
from ahasd.models.platform import load_platform
from ahasd.models.traces import list_traces, load_trace
from ahasd.sim.comparison import compare
from ahasd.sim.config import RunConfig
from ahasd.sim.devices import turns
from ahasd.sim.result import Result
from ahasd.sim.run import prepare, simulate
from ahasd.sim.systems import find_system, list_systems, register
from ahasd.sim.systems.spec import SystemSpec
from ahasd.sim.views import summary

SYSTEMS = list_systems()
NAMED = {
    "gpu-only",
    "gpu-mobile",
    "npu-only",
    "pim-only",
    "pim-sd",
    "specpim",
    "specpim-gpu",
    "npu-pim-sync",
    "async",
    "ahasd",
    "oracle",
}
SETS = sorted({name.partition("/")[0] for name in list_traces()})
DEVICES = {
    "gpu-only": {"gpu"},
    "gpu-mobile": {"gpu"},
    "npu-only": {"npu"},
    "pim-only": {"pim"},
    "pim-sd": {"pim"},
    "specpim-gpu": {"pim", "gpu"},
}
"""Devices of each system; of all others NPU and PIM."""


def run(system: str, **more: Any) -> Result:
    engine = "golden" if find_system(system).control_unit else None
    return simulate(RunConfig(system=system, engine=engine, **{"tokens": 60, **more}))


def document(system: str, **more: Any) -> dict[str, Any]:
    return run(system, **more).to_dict()


def without_clock(d: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in d.items() if key != "wall"}


def check(result: Result) -> None:
    (one,) = result.runs
    d = result.to_dict()
    assert one.committed == load_trace(one.name).y.tolist()[: len(one.committed)]
    assert d["tokens"] == len(one.committed) >= result.config.tokens
    assert d["committed_drafts"] <= d["drafted"]
    assert d["accepted"] <= d["verified"]
    assert all(span.end is not None for span in one.npu_spans[:-1])
    for times in (d["npu"], d["pim"], d["gpu"]):
        if times is not None:
            assert sum(times.values()) == d["time_ps"]
            assert min(times.values()) >= 0


def test_all_systems_are_there() -> None:
    assert set(SYSTEMS) >= NAMED
    for name in NAMED:
        spec = find_system(name)
        assert spec.name == name
        assert spec.summary
        assert "host" in spec.parts


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("system", sorted(NAMED))
def test_every_system_is_lossless_on_every_trace_set(system: str, name: str) -> None:
    check(run(system, trace=f"{name}/01"))


@pytest.mark.parametrize("models", PAIRS)
@pytest.mark.parametrize("system", sorted(NAMED))
def test_every_system_runs_every_pair(system: str, models: str) -> None:
    check(run(system, pair=models, tokens=20))


@pytest.mark.parametrize("system", sorted(NAMED))
def test_devices_that_are_not_there_are_null(system: str) -> None:
    d = document(system, tokens=10)
    assert {name for name in ("npu", "pim", "gpu") if d[name] is not None} == DEVICES.get(
        system, {"npu", "pim"}
    )
    assert (d["engine"] is None) == (system not in ("async", "ahasd"))
    assert summary(run(system, tokens=10))


def test_same_bytes_for_all_systems_whatever_the_hash_seed() -> None:
    code = (
        "import json, sys; from ahasd.sim.run import simulate; from ahasd.sim.config import RunConfig\n"
        "for name in sys.argv[1:]:\n"
        "    d = simulate(RunConfig(system=name, tokens=20)).to_dict(); del d['wall']; print(json.dumps(d))"
    )
    hosts = sorted(name for name in NAMED if not find_system(name).control_unit)
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, *hosts],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("0", "77")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("system", ["npu-only", "pim-only", "pim-sd", "oracle", "specpim"])
def test_both_timings(system: str) -> None:
    first, commands = (
        document(system, pair="opt-1.3b/6.7b", tokens=20, set={"platform.timing": timing})
        for timing in ("first-order", "commands")
    )
    assert first["tokens"] == commands["tokens"]
    assert 1 <= commands["time_ps"] / first["time_ps"] < 1.06


def test_npu_only_is_the_sum_of_its_passes() -> None:
    result = run("npu-only", policy="fixed-3")
    (one,) = result.runs
    platform = load_platform()
    draft, target = (make_passes(platform).npu(model, platform.dram.ranks) for model in pair("llama2-7b/13b"))
    context, head, fed, expected = one.context, 0, -1, 0
    for span in one.npu_spans:
        rows = context + head  # positions fed by the first pass: all that is committed
        for step in range(3):
            expected += draft.pass_ps(rows + step, head - fed if step == 0 else 1, 1)
        expected += target.pass_ps(rows + 3, 4, 4)
        fed = min(head + span.good, head + 2)
        head += span.good + 1
    assert expected == result.tally.time_ps
    npu = result.to_dict()["npu"]
    assert npu["draft_ps"] + npu["busy_ps"] + npu["wasted_ps"] == result.tally.time_ps


def test_pim_only_is_a_pass_a_token_on_all_ranks() -> None:
    result = run("pim-only")
    (one,) = result.runs
    platform = load_platform()
    target = make_passes(platform).pim(pair("llama2-7b/13b")[1], platform.dram.ranks, aau=True)
    expected = sum(target.pass_ps(one.context + i, 1, 1) for i in range(60))
    d = result.to_dict()
    assert d["time_ps"] == d["pim"]["verify_ps"] == expected
    assert (d["verifications"], d["drafted"], d["verified"]) == (60, 0, 0)
    assert d["config"]["policy"] == "none"


def test_pim_sd_drafts_as_fast_as_npu_pim_sync_and_verifies_as_preverification_does() -> None:
    sync, pim = document("npu-pim-sync", set={"system.aau": True}), document("pim-sd")
    assert pim["pim"]["draft_ps"] == sync["pim"]["draft_ps"]
    assert pim["accepted"] == sync["accepted"]
    costs, alone = prepare(RunConfig(system="pim-sd")).costs, prepare(RunConfig(system="ahasd")).costs
    assert costs.verify_ps(200, 5) == alone.preverify_ps(200, 5) + 2 * load_platform().pim.switch_ps
    with pytest.raises(RuntimeError, match="never pre-verifies"):
        costs.preverify_ps(200, 5)


def test_target_alone_on_the_pim_beats_all_that_verifies_over_the_bus() -> None:
    """PIM bandwidth of all ranks is 4.6 times that of the bus: docs/systems.md."""
    alone = document("pim-only")["tokens_per_s"]
    for system in ("npu-only", "npu-pim-sync", "async", "ahasd", "oracle", "pim-sd"):
        assert document(system)["tokens_per_s"] < alone


@pytest.mark.parametrize("name", [name for name in list_traces() if name[-1] in "04"])
def test_oracle_knows_which_drafts_are_right(name: str) -> None:
    oracle = document("oracle", trace=name, tokens=200)
    assert oracle["accepted"] == oracle["verified"] > 0
    assert oracle["acceptance"] == 1
    for other in ("npu-pim-sync", "async+aau"):
        assert oracle["tokens_per_s"] > document(other, trace=name, tokens=200)["tokens_per_s"]


@pytest.mark.parametrize(
    "settings",
    [
        {"control.verify_max": 1},
        {"control.max_draft": 1},
        {"platform.pim.draft_ranks": 2},
        {"platform.dram.data_rate": 20000, "platform.dram.tccd_s": 1, "platform.pim.draft_ranks": 3},
        {"control.context": 900},
    ],
    ids=str,
)
def test_oracle_with_unusual_settings(settings: dict[str, object]) -> None:
    check(run("oracle", pair="opt-1.3b/6.7b", set=settings, tokens=150, trace="smollm2-greedy/03"))


def test_oracle_may_verify_nothing_and_look_ahead() -> None:
    (one,) = run("oracle", tokens=300).runs
    assert any(span.tokens == 0 for span in one.npu_spans)
    (long,) = run("oracle", tokens=300, trace="smollm2-greedy/03", set={"control.verify_max": 2}).runs
    begins = [span.begin for span in long.pim_spans]
    assert any(a.begin < begin < (a.end or 0) for a in long.npu_spans for begin in begins)


@pytest.mark.parametrize("system", ["pim-only", "oracle", "specpim", "specpim-gpu"])
def test_systems_with_a_rule_of_their_own(system: str) -> None:
    left, right = document(system, policy="svip"), document(system, policy="svip:paper")
    assert without_clock(left) == without_clock(right)
    used = left["config"]["policy"]
    again = RunConfig(**{key: left["config"][key] for key in RunConfig().to_dict()})
    assert again.policy == used
    assert without_clock(simulate(again).to_dict()) == without_clock(left)
    with pytest.raises(ConfigError, match="policy 'sivp': unknown"):
        prepare(RunConfig(system=system, policy="sivp"))
    assert ("run", "policy", used) in summary(run(system))
    (entry,) = compare([RunConfig(system=system, tokens=5)])
    assert entry.to_dict()["policy"] == used


@pytest.mark.parametrize("system", sorted(name for name in NAMED if not find_system(name).control_unit))
def test_no_engine_without_a_control_unit(system: str) -> None:
    with pytest.raises(ConfigError, match="no control unit"):
        prepare(RunConfig(system=system, engine="golden"))


@pytest.mark.parametrize("system", ["npu-only", "gpu-mobile", "pim-only"])
def test_what_does_not_fit_is_refused(system: str) -> None:
    with pytest.raises(ConfigError, match=r"platform\.dram\.rank_mib: .* GB"):
        prepare(RunConfig(system=system, set={"platform.dram.rank_mib": 256}))


ONE_FILE = '''
"""A system in one file: the target model alone on the NPU."""
import simpy
from ahasd.models.cost import make_passes
from ahasd.models.pass_costs import PassCosts
from ahasd.sim.devices import turns
from ahasd.sim.own_rules import NoDrafts
from ahasd.sim.plain import PlainDecoding
from ahasd.sim.systems import SystemSpec, register
from ahasd.sim.systems.assembly import assemble

def costs(case):
    target = make_passes(case.platform).npu(case.target, case.platform.dram.ranks)
    return PassCosts(case.platform, case.target.layers, draft=None, verify=target, prefill=(target,))

def build(setup):
    env = simpy.Environment()
    scheduler = PlainDecoding(env, setup.text.context, setup.control.prompt_token)
    system = assemble(env, setup, scheduler, devices=turns(drafter=None, verifier="npu"))
    scheduler.start()
    return system

register(SystemSpec(name="npu-alone", summary="the target model alone on the NPU", build=build,
                    costs=costs, parts=frozenset({"dram", "npu", "host"}), policy=lambda case: NoDrafts()))
'''


def test_a_new_system_is_one_file(tmp_path: Path) -> None:
    path = tmp_path / "alone.py"
    path.write_text(ONE_FILE)
    result = run(str(path))
    check(result)
    d = result.to_dict()
    assert d["system"] == "npu-alone"
    assert d["pim"] is None
    assert d["npu"]["busy_ps"] == d["time_ps"]
    assert "npu-alone" in list_systems()
    assert without_clock(document("npu-alone"))["time_ps"] == d["time_ps"]
    assert without_clock(json.loads(json.dumps(d)))["config"]["system"] == str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("x = 1\n", "registers no system"), ("1 / 0\n", "ZeroDivisionError"), ("def\n", "SyntaxError")],
)
def test_a_file_that_is_no_system(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(ConfigError, match=rf"mine\.py: .*{message}"):
        find_system(str(path))


def test_names_and_parts_are_checked() -> None:
    ahasd = find_system("ahasd")
    with pytest.raises(ValueError, match="registered already"):
        register(ahasd)
    with pytest.raises(ValueError, match=r"parts: \['disk'\]"):
        SystemSpec(
            name="x", summary="", build=ahasd.build, costs=ahasd.costs, parts=frozenset({"disk", "host"})
        )
    with pytest.raises(ValueError, match="device 'cpu'"):
        turns(drafter="cpu", verifier="npu")
    with pytest.raises(ConfigError, match="near: specpim"):
        find_system("specpin")

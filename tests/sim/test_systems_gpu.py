"""GPU systems: the formula's published results, offload, phone."""

from __future__ import annotations

from typing import Any

import pytest

from ahasd.models.cost import CostModel
from ahasd.models.gpu import discrete_pass, spilled_bytes
from ahasd.models.language_files import language_model, pair
from ahasd.models.platform.gpu import Gpu
from ahasd.sim.config import RunConfig
from ahasd.sim.run import prepare, simulate

MS = 10**9


def costs(system: str, **more: Any) -> CostModel:
    return prepare(RunConfig(system=system, **more)).costs


@pytest.mark.parametrize(
    ("name", "ms"),
    [  # bytes / (0.94 x 576 GB/s) + 2.45 ms x layers / 32
        ("llama2-7b", 14.65),
        ("llama2-13b", 26.80),
        ("opt-1.3b", 4.26),
        ("opt-6.7b", 14.73),
        ("sheared-1.3b", 4.20),
        ("tinyllama-1.1b", 3.60),
        ("palm-8b", 18.39),
        ("palm-30b", 58.46),
    ],
)
def test_a_pass_takes_bandwidth_and_overhead(name: str, ms: float) -> None:
    model = language_model(name)
    gpu_pass = discrete_pass(Gpu(), model)
    assert gpu_pass.pass_ps(1, 1, 1) / MS == pytest.approx(ms, abs=0.006)
    assert gpu_pass.pass_ps(16, 16, 16) == pytest.approx(gpu_pass.pass_ps(16, 1, 1), rel=1e-9)
    kv = gpu_pass.pass_ps(1025, 1, 1) - gpu_pass.pass_ps(1, 1, 1)
    assert kv == pytest.approx(1024 * model.kv_bytes_per_token / 541.44 * 1000, abs=2)


def test_many_tokens_are_bound_by_compute() -> None:
    gpu, model = Gpu(), language_model("llama2-13b")
    n = 1024
    weights = model.layers * model.layer_bytes
    compute = 2 * n * weights / (gpu.int8_tops * gpu.int8_utilisation)
    found = discrete_pass(gpu, model).pass_ps(n, n, 0) - 2450e6 * model.layers / 32
    assert compute < found < 1.1 * compute


def test_what_does_not_fit_is_streamed_each_pass() -> None:
    """7B and 13B: 19.46 GB of matrices, 15 GB of room; 4.46 GB over 25 GB/s are 178 ms a verification."""
    gpu = Gpu()
    draft, target = pair("llama2-7b/13b")
    spill = spilled_bytes(gpu, draft.streamed_bytes, target)
    assert spill == draft.streamed_bytes + target.streamed_bytes - 15_000_000_000
    extra = costs("gpu-only").verify_ps(200, 5) - discrete_pass(gpu, target).pass_ps(200, 5, 5)
    assert extra / MS == pytest.approx(4.458686976 / 25 * 1000, abs=1e-3)
    assert costs("gpu-only").draft_ps(200, 1) == discrete_pass(gpu, draft).pass_ps(200, 1, 1)
    big = costs("gpu-only", pair="palm-8b/30b").verify_ps(200, 5) / MS
    assert 950 < big - 58.5 < 970  # 24.0 GB
    small = costs("gpu-only", pair="opt-1.3b/6.7b").verify_ps(200, 5) / MS
    assert small < 15
    room = {"platform.gpu.room_gb": 40}
    assert costs("gpu-only", set=room).verify_ps(200, 5) / MS < 28


def test_a_draft_that_does_not_fit_alone_is_streamed_too() -> None:
    tight = costs("gpu-only", set={"platform.gpu.room_gb": 6.0})
    draft, target = pair("llama2-7b/13b")
    assert tight.draft_ps(200, 1) / MS == pytest.approx(14.7 + (draft.streamed_bytes - 6e9) / 25e6, abs=0.1)
    assert tight.verify_ps(200, 1) / MS == pytest.approx(26.9 + target.streamed_bytes / 25e6, abs=0.2)


def test_link_bytes_are_counted() -> None:
    found = costs("gpu-only")
    assert found.verify_activity(200, 5).host_link_bytes == 4_458_686_976
    assert found.verify_activity(200, 5).gpu_ps == found.verify_ps(200, 5)
    assert found.draft_activity(200, 1).host_link_bytes == 0
    assert found.draft_activity(200, 1).bus_bytes == 0


def test_an_eager_runtime_makes_small_models_slow() -> None:
    eager = costs("gpu-only", pair="opt-1.3b/6.7b", set={"platform.gpu.overhead_us": 25000})
    usual = costs("gpu-only", pair="opt-1.3b/6.7b")
    assert eager.draft_ps(200, 1) > 4 * usual.draft_ps(200, 1)


def test_the_phone_reads_its_own_memory() -> None:
    """12.85 GB at 0.68 of 51.2 GB/s."""
    phone = costs("gpu-mobile")
    draft, target = pair("llama2-7b/13b")
    for ps, model in ((phone.verify_ps(1, 1), target), (phone.draft_ps(1, 1), draft)):
        assert ps / MS == pytest.approx(model.streamed_bytes / (0.68 * 51.2e6), rel=1e-3)
    events = phone.verify_activity(200, 5)
    assert events.bus_bytes == target.streamed_bytes + 200 * target.kv_bytes_per_token
    assert events.row_activations == -(-events.bus_bytes // 2048)
    faster = costs("gpu-mobile", set={"platform.dram.data_rate": 8533})
    assert faster.verify_ps(200, 1) < 0.76 * phone.verify_ps(200, 1)


def test_gpu_times_and_prefill() -> None:
    d = simulate(RunConfig(system="gpu-only", pair="opt-1.3b/6.7b", tokens=40)).to_dict()
    assert d["gpu"] == {"busy_ps": d["time_ps"], "idle_ps": 0}
    assert d["ttft_ps"] > costs("gpu-only", pair="opt-1.3b/6.7b").prefill_ps(d["trace"]["context"])

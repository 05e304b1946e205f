"""Contention for the target model's ranks, to the picosecond."""

from __future__ import annotations

import pytest
import simpy

from ahasd.sim.jobs import Job, TargetRanks


def finish(contention: str, verify: int, preverify: int, after: int) -> tuple[int, int]:
    """When a verification and a pre-verification that begins ``after`` it are over."""
    env = simpy.Environment()
    ranks = TargetRanks(env, contention)
    ends: dict[str, int] = {}

    def work(name: str, start: int, total: int) -> object:
        yield env.timeout(start)
        job = ranks.verify(total) if name == "npu" else ranks.preverify(total)
        yield job.done
        ranks.release(job)
        ends[name] = int(env.now)

    env.process(work("npu", 0, verify))  # type: ignore[arg-type]
    env.process(work("pim", after, preverify))  # type: ignore[arg-type]
    env.run()
    return ends["npu"], ends["pim"]


@pytest.mark.parametrize(
    ("contention", "verify", "preverify", "after", "ends"),
    [
        ("none", 100, 50, 0, (100, 50)),
        ("block", 100, 50, 0, (150, 50)),
        ("block", 100, 50, 40, (150, 90)),
        ("block", 100, 50, 100, (100, 150)),  # over before it begins
        ("yield", 100, 50, 0, (150, 150)),
        ("yield", 100, 50, 70, (115, 150)),  # 30 left at 2/3 of the speed, then 35 alone
        ("yield", 60, 60, 30, (90, 120)),
    ],
)
def test_ends(contention: str, verify: int, preverify: int, after: int, ends: tuple[int, int]) -> None:
    assert finish(contention, verify, preverify, after) == ends


@pytest.mark.parametrize("after", [0, 13, 99])
def test_no_contention_is_never_slower_than_yielding_and_that_not_than_blocking(after: int) -> None:
    none, yielding, block = (finish(mode, 100, 37, after)[0] for mode in ("none", "yield", "block"))
    assert none <= yielding <= block


def test_a_stopped_job_frees_the_ranks() -> None:
    env = simpy.Environment()
    ranks = TargetRanks(env, "block")
    npu, pim = ranks.verify(100), ranks.preverify(1000)
    env.run(until=30)
    ranks.release(pim)
    env.run(until=npu.done)
    assert env.now == 130
    env.run()
    assert not pim.done.triggered


def test_progress_is_counted_at_the_speed_of_the_moment() -> None:
    env = simpy.Environment()
    job = Job(env, 100)
    job.run_at(1, 1)
    env.run(until=20)
    job.run_at(1, 4)
    env.run(until=60)
    assert job.progress == 30
    env.run(until=job.done)
    assert (env.now, job.progress) == (340, 100)


def test_unknown_contention() -> None:
    with pytest.raises(ValueError, match="block, yield, none"):
        TargetRanks(simpy.Environment(), "sometimes")

"""Negative controls: bugs seeded into a component, each of which some proof must refuse.

A seed adds statements after a part's own, so it overrides them; it speaks of names, not of source text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module

__all__ = ["SEEDS", "Seed"]

Change = Callable[[Module, Callable[[str], Any]], None]
"""Called with a module to add statements to, and with a function from names to signals."""


@dataclass(frozen=True)
class Seed:
    """A bug in part ``path``; ``proof`` must refuse it."""

    name: str
    proof: str
    path: str
    change: Change


def _when(
    condition: Callable[[Callable[[str], Any]], Any], target: str, value: Any, domain: str = "sync"
) -> Change:
    def change(m: Module, signal: Callable[[str], Any]) -> None:
        with m.If(condition(signal)):
            m.d[domain] += signal(target).eq(value(signal) if callable(value) else value)

    return change


SEEDS = (
    Seed(
        "a flush forgets the verdict's own token",
        "invariant-pointers",
        "draft_queue",
        _when(lambda s: s("flush"), "tail", lambda s: s("position")),
    ),
    Seed(
        "a commit goes beyond the verdict",
        "invariant-pointers",
        "draft_queue",
        _when(lambda s: s("append"), "head", lambda s: s("head") + 1),
    ),
    Seed(
        "a fix cuts one token too few",
        "invariant-batches",
        "batch_list",
        _when(lambda s: s("trim"), "count", lambda s: s("offset") + 2),
    ),
    Seed(
        "a task is issued with seven batches closed",
        "seven-batches",
        "task_scheduler",
        _when(lambda s: s("batches") == 7, "task", 1, "comb"),
    ),
    Seed(
        "a verification is issued while one runs",
        "one-verification",
        "task_scheduler",
        _when(lambda s: s("decide") & s("npu_busy"), "verify", 1, "comb"),
    ),
    Seed(
        "a task is over with the first token",
        "one-task",
        "task_scheduler",
        _when(lambda s: s("npu_done"), "task_busy", 0),
    ),
    Seed(
        "a flush keeps the drafted history",
        "flush-restores",
        "predictor.history",
        _when(lambda s: s("restore"), "leht", lambda s: s("leht")),
    ),
    Seed(
        "a flush keeps the open batch",
        "flush-restores",
        "entropy_average",
        _when(lambda s: s("clear"), "count", lambda s: s("count")),
    ),
    Seed(
        "a counter wraps around",
        "counters-saturate",
        "",
        _when(lambda s: s("upward"), "trained", lambda s: s("counter") + 1, "comb"),
    ),
    Seed(
        "a request's beat is withdrawn after a cycle",
        "streams-hold",
        "verify_sender",
        _when(lambda s: s("o__valid"), "o__valid", 0),
    ),
    Seed(
        "the timer counts at rest",
        "clock-request",
        "preverify_timer",
        _when(lambda s: ~s("busy"), "step", lambda s: s("step") + 1),
    ),
    Seed(
        "the clock stands while a sequence stops",
        "clock-request",
        "",
        _when(lambda s: s("stopping"), "clk_req", 0, "comb"),
    ),
    Seed(
        "a refused verdict sets the limit",
        "violations-change-nothing",
        "",
        _when(lambda s: s("accepted") > 40, "limit_valid", 1),
    ),
    Seed(
        "the scheduler waits for a batch",
        "progress",
        "task_scheduler",
        _when(lambda s: s("batches") == 0, "fsm_state", lambda s: s("fsm_state")),
    ),
    Seed(
        "draft ranks go off while busy",
        "ranks-never-overlap",
        "",
        _when(lambda s: s("target_grant"), "rank_enable", 0),
    ),
    Seed(
        "a set goes on before the other is idle",
        "ranks-never-overlap",
        "",
        _when(lambda s: s("target_grant"), "rank_enable", lambda s: s("draft_ranks") | s("target_ranks")),
    ),
    Seed(
        "the bus takes an address while it holds one",
        "bus-answers-once",
        "",
        _when(lambda s: s("has_address"), "axi__awready", 1),
    ),
    Seed(
        "a read's answer is withdrawn after a cycle",
        "bus-answers-once",
        "",
        _when(lambda s: s("axi__rvalid"), "axi__rvalid", 0),
    ),
    Seed(
        "the queue takes one payload too many",
        "crossing-keeps-all",
        "queue",
        _when(lambda s: s("taken_3")[0], "i__ready", 1, "comb"),
    ),
    Seed(
        "the receiver believes a pointer a step too far",
        "crossing-keeps-all",
        "queue",
        _when(lambda s: s("written_3")[0], "written_3", lambda s: s("written_3") ^ 6),
    ),
)
"""All seeds, by the proof that must find them."""

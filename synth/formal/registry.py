"""The list of proofs: what is stated, about which component, how it is proved and what shows it happens."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from amaranth.lib.wiring import Component

from ahasd.models.control.params import UnitParams
from ahasd.models.errors import ConfigError
from ahasd.rtl.axi_lite import AxiLiteSubordinate
from ahasd.rtl.control_unit import ControlUnit
from ahasd.rtl.pht import PatternHistoryTable
from ahasd.rtl.rank_gate import RankGate
from ahasd.rtl.registers.ahasd_map import REGISTERS
from ahasd.synth.formal import block_properties as blocks
from ahasd.synth.formal import interface_properties as interfaces
from ahasd.synth.formal import unit_covers as covers
from ahasd.synth.formal import unit_properties as unit
from ahasd.synth.formal.bench import Bench
from ahasd.synth.formal.unit_invariant import GROUPS, prove_group

__all__ = ["PROPERTIES", "Cover", "Property", "find"]

Build = Callable[[Bench], None]


@dataclass(frozen=True, kw_only=True)
class Cover:
    """What shows that a property is not empty; ``depth`` cycles are enough to reach it."""

    build: Build
    component: Callable[[], Component]
    depth: int
    small: bool = False
    """The component's memories are small enough for registers."""


@dataclass(frozen=True, kw_only=True)
class Property:
    """A proof by k-induction; ``search`` cycles from reset are its base (at least ``k``)."""

    name: str
    statement: str
    build: Build
    component: Callable[[], Component]
    component_name: str = "control unit"
    k: int = 1
    search: int = 4
    cover: Cover | None = field(default=None)


def _unit() -> Component:
    return ControlUnit()


def _small() -> Component:
    return ControlUnit(covers.SMALL)


def _table() -> Component:
    return PatternHistoryTable(UnitParams())


def _gate() -> Component:
    return RankGate()


def _bus() -> Component:
    return AxiLiteSubordinate(REGISTERS.address_bits)


def _covered(build: Build, depth: int) -> Cover:
    return Cover(build=build, component=_small, depth=depth, small=True)


_INVARIANT = {
    "machines": "the unit's state machine and those of its parts are in step",
    "outstanding": "one verification and one task at most, each with its request; while a "
    "sequence runs one is "
    "outstanding whenever the unit rests",
    "predictor": "the predictor's pipeline is empty when the unit rests, its operations are two cycles apart",
    "timer": "the timer and its arithmetic are in step, and rest when the unit does",
    "pointers": "head, checked, tail and a verdict's place are in order in every state",
    "batches": "closed batches are in order, contiguous up to the open one, none longer than max_draft",
    "fix": "a pre-verification's tokens are queued, a fix has a batch that holds it",
    "limit": "a running verification's tokens are queued up to its end or the limit",
}

PROPERTIES: tuple[Property, ...] = (
    *(
        Property(
            name=f"invariant-{group}",
            statement=_INVARIANT[group],
            build=partial(prove_group, group=group),
            component=_unit,
            search=3,
        )
        for group in GROUPS
    ),
    Property(
        name="pointer-order",
        statement="head <= checked <= tail but while a verdict is processed; at most 7 x 16 "
        "tokens are queued; the "
        "token before head is never overwritten",
        build=unit.pointer_order,
        component=_unit,
        cover=_covered(covers.cover_queue, 100),
    ),
    Property(
        name="seven-batches",
        statement="at most 7 batches are closed; the list is never popped or trimmed when "
        "empty; no task with 7",
        build=unit.at_most_seven_batches,
        component=_unit,
        cover=_covered(covers.cover_seven_batches, 145),
    ),
    Property(
        name="one-verification",
        statement="no verification is requested while one is outstanding, and only a verdict ends it",
        build=unit.one_verification,
        component=_unit,
        k=3,
        cover=_covered(covers.cover_verifications, 120),
    ),
    Property(
        name="one-task",
        statement="no task is requested while one is outstanding, and only a token or a result ends it",
        build=unit.one_task,
        component=_unit,
        k=3,
        cover=_covered(covers.cover_tasks, 60),
    ),
    Property(
        name="flush-restores",
        statement="after a flush LEHT = LCEHT, LLR = 0, tail = checked = head, no open batch, "
        "nothing trusted, a task "
        "in progress being aborted",
        build=unit.flush_restores,
        component=_unit,
        cover=_covered(covers.cover_flush, 100),
    ),
    Property(
        name="counters-saturate",
        statement="a PHT counter changes by training only, by one, and stays at 0 and 3; clearing sets 2",
        build=blocks.counters_saturate,
        component=_table,
        component_name="pattern history table",
        cover=Cover(build=blocks.cover_counters, component=_table, depth=6),
    ),
    Property(
        name="streams-hold",
        statement="verify, task and commit hold valid and payload until taken",
        build=unit.streams_hold,
        component=_unit,
        cover=_covered(covers.cover_holding, 100),
    ),
    Property(
        name="clock-request",
        statement="with clk_req low no register changes, no memory is read or written, no output is valid",
        build=unit.clock_request,
        component=_unit,
        cover=_covered(covers.cover_clock_request, 40),
    ),
    Property(
        name="violations-change-nothing",
        statement="a refused event or command changes no register but those of the event in "
        "process and the sticky "
        "bits, writes no memory, and no decision follows",
        build=unit.violations_change_nothing,
        component=_unit,
        cover=_covered(covers.cover_violations, 12),
    ),
    Property(
        name="progress",
        statement="with NPU and PIM idle while a sequence runs, a request follows within "
        f"{unit.REQUEST_BOUND} cycles, "
        "those in which the host makes a commit wait apart",
        build=unit.progress,
        component=_unit,
        cover=_covered(covers.cover_progress, 100),
    ),
    Property(
        name="ranks-never-overlap",
        statement="the draft and the target ranks are never on together, a busy or open rank "
        "is never gated, a set "
        "goes on only when the other is idle and closed, the target's only with the memory "
        "controller's grant",
        build=blocks.ranks_never_overlap,
        component=_gate,
        component_name="rank gate",
        cover=Cover(build=blocks.cover_ranks, component=_gate, depth=10),
    ),
    Property(
        name="bus-answers-once",
        statement="every AXI4-Lite request is answered exactly once, in the cycle after its access, which is "
        "made as soon as the last answer is taken; answers hold until taken",
        build=interfaces.bus_answers_once,
        component=_bus,
        component_name="AXI4-Lite subordinate",
        cover=Cover(build=interfaces.cover_bus, component=_bus, depth=14),
    ),
    Property(
        name="crossing-keeps-all",
        statement="between any two clocks every payload arrives once, unchanged and in order, and holds "
        f"until taken (depth {interfaces.DEPTH}, no reset)",
        build=interfaces.crossing_keeps_all,
        component=interfaces.Crossed,
        component_name="queue between clocks",
        cover=Cover(build=interfaces.cover_crossing, component=interfaces.Crossed, depth=26),
    ),
)
"""All proofs. The invariant's come first: most others take it for granted."""


def find(name: str) -> Property:
    """The proof of this name.

    Raises
    ------
    ConfigError
        If there is none, naming the near ones.
    """
    names = [p.name for p in PROPERTIES]
    if name not in names:
        near = difflib.get_close_matches(name, names) or names
        raise ConfigError(f"property: {name!r} must be one of {', '.join(near)}")
    return PROPERTIES[names.index(name)]

"""What could be otherwise: settings under which all is run again, and readings of the same runs.

None of them is a default, and none was chosen for what comes out; where each number comes from is in ``why``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ahasd.models.platform import DEFAULT_PLATFORM

__all__ = ["ASSUMPTIONS", "DEFAULT", "READINGS", "Assumption"]


@dataclass(frozen=True, kw_only=True)
class Assumption:
    """One departure from the defaults."""

    id: str
    text: str
    """Completes "holds under: ..."."""
    why: str = ""
    """Source."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    platform: str = DEFAULT_PLATFORM
    leaves: frozenset[str] = frozenset()
    """Systems on which settings and platform have no effect: they are not run again."""
    traces: tuple[str, ...] = ()
    """Instead of the usual ones."""
    policies: Mapping[str, str] = field(default_factory=dict)
    """Form of a policy to be used instead."""
    systems: Mapping[str, str] = field(default_factory=dict)
    """System whose runs are read instead."""
    energy: str = "default"
    """Coefficients: ``default``, ``low``, ``high``."""
    acceptance: str = "acceptance"
    """Figure that is called acceptance: ``acceptance`` or ``useful``."""
    share: str = "run"
    """PIM share of a whole ``run`` or of one ``round``."""

    @property
    def is_reading(self) -> bool:
        """It reads the default runs in another way, so it costs none."""
        return not (self.settings or self.traces or self.policies or self.platform != DEFAULT_PLATFORM)


DEFAULT = Assumption(id="default", text="the defaults")

_DESKTOP = frozenset({"gpu-only", "specpim-gpu"})
_OFF_CHIP = _DESKTOP | {"gpu-mobile", "npu-only"}
_WITHOUT_TVC = frozenset(
    {"gpu-only", "gpu-mobile", "npu-only", "specpim", "specpim-gpu", "npu-pim-sync"}
    | {"async", "async+aau", "async+aau+edc"}
)
_PHONE = frozenset(
    {"gpu-mobile", "npu-only", "specpim", "npu-pim-sync", "async", "async+aau", "async+aau+edc", "ahasd"}
)

_LP5 = {
    "platform.dram.ranks_per_channel": 16,
    "platform.dram.rank_mib": 1024,
    "platform.pim.draft_ranks": 32,
    "platform.pim.banks_at_once": 16,
    "platform.pim.lanes": 64,
}


def _synthetic(percent: int) -> Assumption:
    return Assumption(
        id=f"acceptance-{percent}",
        text=f"{percent} % of first draft tokens right",
        why="synthetic trace; published figures go from .5 to .95",
        traces=(f"synth:acceptance={percent / 100:g}",),
    )


ASSUMPTIONS = (
    Assumption(
        id="pim-A",
        text="102.4 GOPS as the rate of all PIM units together",
        why="the table taken literally: 16 units x 4 MAC / 1.25 ns = 51.2 GMAC/s",
        settings={"platform.pim.lanes": 4},
        leaves=_OFF_CHIP,
    ),
    Assumption(
        id="pim-C",
        text="64 physical LPDDR5-PIM dies of 102.4 GB/s and 102.4 GOPS each",
        why="LP-Spec (arXiv 2508.07227) table II; dies of 1 GB, LPDDR5-6400 timing",
        platform="lpddr5-6400",
        settings=_LP5,
        leaves=_DESKTOP,
    ),
    Assumption(
        id="tck-1250",
        text="the printed clock of 800 MHz for the memory",
        why="the table taken literally: all timing counts take twice the time",
        settings={"platform.dram.tck_ps": 1250},
        leaves=_DESKTOP,
    ),
    Assumption(
        id="jedec",
        text="LPDDR5-6400 timing of the standard",
        why="JESD209-5B",
        platform="lpddr5-6400",
        leaves=_DESKTOP,
    ),
    Assumption(
        id="contention-none",
        text="ranks that serve NPU and PIM at once",
        why="what the paper implies",
        settings={"platform.contention": "none"},
        leaves=_WITHOUT_TVC,
    ),
    Assumption(
        id="contention-yield",
        text="ranks that alternate between NPU and PIM by layer",
        settings={"platform.contention": "yield"},
        leaves=_WITHOUT_TVC,
    ),
    Assumption(
        id="draft-ranks-4",
        text="the draft model on 4 of 16 ranks",
        settings={"platform.pim.draft_ranks": 4},
    ),
    Assumption(
        id="draft-ranks-12",
        text="the draft model on 12 of 16 ranks",
        settings={"platform.pim.draft_ranks": 12},
    ),
    Assumption(
        id="gpu-eager",
        text="a GPU runtime that takes 25 ms beside each pass of 32 layers",
        why="eager PyTorch, 20 to 30 ms (judgement); the paper does not say which runtime it used",
        settings={"platform.gpu.overhead_us": 25000},
        leaves=_PHONE,
    ),
    Assumption(
        id="policy-paper",
        text="policies as their papers have them",
        why="by default in the form that the authors measured, where they released it",
        policies={"specdec++": "specdec++:paper", "svip": "svip:paper", "banditspec": "banditspec:ucb"},
    ),
    Assumption(
        id="policy-code",
        text="AdaEDL as its published code has it",
        policies={"adaedl": "adaedl:code"},
    ),
    Assumption(id="greedy", text="greedy text of SmolLM2", traces=("smollm2-greedy/00",)),
    Assumption(id="factbook", text="sampled text of a 7 M model", traces=("factbook-sampled/00",)),
    *(_synthetic(percent) for percent in (50, 70, 80, 90, 95)),
)
"""Runs of their own."""

READINGS = (
    Assumption(
        id="gpu-mobile",
        text="the GPU of a phone, on the same LPDDR5, as the GPU",
        why="the paper's ratios of speed and energy agree with each other only so",
        systems={"gpu-only": "gpu-mobile"},
    ),
    Assumption(
        id="specpim-npu",
        text="SpecPIM rebuilt on the same NPU and PIM",
        why="the authors' own simulator has it so",
        systems={"specpim-gpu": "specpim"},
    ),
    Assumption(
        id="sync",
        text="lock-step drafting as the plain NPU + LPDDR5-PIM",
        why="the power table does not say how its NPU + PIM is scheduled",
        systems={"async": "npu-pim-sync"},
    ),
    Assumption(id="energy-low", text="all energy coefficients at the low end", energy="low"),
    Assumption(id="energy-high", text="all energy coefficients at the high end", energy="high"),
    Assumption(
        id="useful",
        text="acceptance counted over all drafted tokens",
        why="a draft that is dropped before it is verified counts as wrong",
        acceptance="useful",
    ),
    Assumption(
        id="round",
        text="the share of single rounds instead of whole runs",
        why="the text speaks of drafting that fluctuates",
        share="round",
    ),
)
"""The same runs, read otherwise; each is also tried together with each of the others."""

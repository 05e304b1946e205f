"""From a library's area to 28 nm, a DRAM process and a share of a die: every constant, with its source."""

from __future__ import annotations

from dataclasses import dataclass

from ahasd.synth.liberty import Library

__all__ = [
    "CLAIM_SHARE",
    "DIES_MM2",
    "DRAM_DELAY",
    "DRAM_FACTOR",
    "NAND2_RATIO",
    "NANGATE45_NAND2_UM2",
    "PAPER_MM2",
    "Scaling",
    "scaling",
]

NANGATE45_NAND2_UM2 = 0.798
"""NAND2_X1 in FreePDK45/NanGate, um^2."""

NAND2_RATIO = 0.61
"""NAND2 of a 28 nm foundry library, about 0.49 um^2, over NanGate's 0.798: what shrinks in practice."""

TARGET_NM = 28.0
"""The paper's logic process."""

DRAM_FACTOR = 10.0
"""Logic in a DRAM process over a logic process: UPMEM, Hot Chips 31; AttAcc (ASPLOS 2024), section 4.1."""

DRAM_DELAY = 3.0
"""Delay of logic in a DRAM process over a logic process: transistors about 3x slower, UPMEM, Hot Chips 31."""

DIES_MM2 = {"paper": 50.0, "lpddr5x-16gb": 47.5}
"""The die that the paper's 2.68 % of 1.34 mm^2 implies; a published 16 Gb LPDDR5X die (47.53 mm^2)."""

PAPER_MM2 = {"edc": 0.05, "tvc": 0.03, "queues": 0.01}
"""The paper's area table, mm^2 at 28 nm (claims H1 to H3)."""

CLAIM_SHARE = 0.03
"""The paper's bound on all added area, attention units included, as a share of the die (claim H5)."""


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """One way to 28 nm."""

    name: str
    factor: float
    """28 nm area over this library's."""
    formula: str

    def mm2(self, um2: float) -> float:
        """mm^2 at 28 nm in a logic process."""
        return um2 * self.factor * 1e-6


def scaling(library: Library) -> list[Scaling]:
    """The ways from ``library`` to 28 nm; the ideal shrink only if its feature size is known."""
    ways = [
        Scaling(
            name="measured",
            factor=NAND2_RATIO * NANGATE45_NAND2_UM2 / library.nand2.area,
            formula=f"GE x {NANGATE45_NAND2_UM2} um2 x {NAND2_RATIO}",
        )
    ]
    if library.node_nm is not None:
        ways.append(
            Scaling(
                name="ideal",
                factor=(TARGET_NM / library.node_nm) ** 2,
                formula=f"um2 x ({TARGET_NM:g}/{library.node_nm:g})^2",
            )
        )
    return ways

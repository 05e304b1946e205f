"""From a library's area to 28 nm, a DRAM process and a share of a die: every constant, with its source."""

from __future__ import annotations

from dataclasses import dataclass

from ahasd.synth.liberty import Library

__all__ = [
    "CLAIM_SHARE",
    "DIES_MM2",
    "DRAM_DELAY",
    "DRAM_FACTOR",
    "MACRO_FORMULA",
    "NAND2_RATIO",
    "NANGATE45_NAND2_UM2",
    "PAPER_MM2",
    "Scaling",
    "macro_um2",
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

PAPER_MM2 = {"edc": 0.05, "tvc": 0.03, "queues": 0.01, "aau": 1.25}
"""The paper's area table, mm^2 at 28 nm (claims H1 to H4)."""

CLAIM_SHARE = 0.03
"""The paper's bound on all added area, attention units included, as a share of the die (claim H5)."""


SRAM_CELL_F2 = 146.0
"""6T bit cell, in squares of the feature size: CACTI 7 (HewlettPackard/cacti); 0.296 um^2 at 45 nm."""

TWO_PORTS = 2.0
"""A cell with one read and one write port (8T, more wires) over a 6T cell. Assumed."""

SMALL_ARRAY = 0.3
"""Share of bit cells in a macro of a few kilobits. Assumed: large arrays reach 0.65 to 0.7, and the smaller
an array, the more of it is decoders, sense amplifiers and control."""


def macro_um2(bits: int, node_nm: float) -> float:
    """Estimate of a 1R1W macro, um^2: bits x 146 F^2 x ports / array efficiency."""
    return bits * SRAM_CELL_F2 * (node_nm * 1e-3) ** 2 * TWO_PORTS / SMALL_ARRAY


MACRO_FORMULA = f"bits x {SRAM_CELL_F2:g} F^2 x {TWO_PORTS:g} ports / {SMALL_ARRAY:g} efficiency"


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

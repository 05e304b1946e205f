"""What each event costs, and the power of what is only there. A coefficient's range is its low and high end.

Sources: published figures as docs/energy.md cites them; (D) derived from them; (U) engineering judgement.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from ahasd.models.settings import check, param

__all__ = ["Coefficients"]


@dataclass(frozen=True, kw_only=True)
class Coefficients:
    """Energies and powers, the same for every system.

    Raises
    ------
    ConfigError
        If one is out of its range.
    """

    bus_bit: float = param(
        7.0,
        unit="pJ/bit",
        low=4.15,
        high=20.0,
        source="AiF paper, LPDDR5 7; Micron IDD of a read burst, device alone 4.15 (D); PIM-AI Table 1, 20",
        note="all-in for whole rows: array, pins, controller, activation, standby of the busy die",
    )
    pim_bit: float = param(
        0.95,
        unit="pJ/bit",
        low=0.55,
        high=1.05,
        source="PIM-AI Table 1, LPDDR in-bank; AttAcc 0.55 (HBM2); 15 % of off-chip 7 (LP-Spec)",
        note="all-in for whole rows, activation included",
    )
    row_activation: float = param(
        1.1,
        unit="nJ/row",
        low=0.7,
        high=1.8,
        source="Micron LPDDR5X IDD0, ACT + PRE of a 2 KB row (D); typical 35 % lower; AttAcc 0.11 pJ/bit",
        note="its share of a whole row is taken off bus_bit and pim_bit, so that it is not counted twice",
    )
    pim_mac: float = param(
        0.64,
        unit="pJ/MAC",
        low=0.17,
        high=1.012,
        source="63.6 % of SpecPIM's FP16 PE, 1.012 (D); low: 28 nm logic",
    )
    aau_element: float = param(
        3.1,
        unit="pJ/element",
        low=0.83,
        high=8.3,
        source="(U) FP16 multiply and add (Horowitz) x 0.55 for 28 nm x 3.8 for a DRAM process, as a PIM MAC",
        note="per element and pass; low: logic process, high: ten times it",
    )
    npu_mac: float = param(
        1.0,
        unit="pJ/MAC",
        low=0.17,
        high=2.0,
        source="Edge TPU 2 TOPS/W; Samsung 4 nm NPU 0.17; 1 TOPS/W",
        note="whole block: array, its accumulators, operands read again from the scratchpad",
    )
    scratchpad_byte: float = param(
        6.0, unit="pJ/byte", low=5.0, high=7.0, source="Horowitz SRAM x 0.55, 8 MB banked (D)"
    )
    vector_element: float = param(
        3.3,
        unit="pJ/element",
        low=2.6,
        high=6.0,
        source="(U) four FP16 multiplications and additions (Horowitz) x 0.55; AttAcc 7 nm; 45 nm",
    )
    background_mw: float = param(
        11.0,
        unit="mW/rank",
        low=6.0,
        high=74.0,
        source="Micron IDD2P, two 16 Gb dies (D): ranks mostly powered down; high: IDD2N, standby",
    )
    refresh_mw: float = param(
        26.0, unit="mW/rank", low=18.0, high=26.0, source="Micron IDD5, two dies (D); typical 30 % lower"
    )
    npu_idle_w: float = param(
        0.3, unit="W", low=0.1, high=0.8, source="(U) leakage and clocks; high: 10 % of 8 W"
    )
    host_w: float = param(0.5, unit="W", low=0.25, high=1.0, source="(U) rest of the chip and the host")
    control_mw: float = param(
        1.0,
        unit="mW",
        low=0.6,
        high=36.0,
        source="`ahasd power`, 45 nm, clock gated; latches; clock always on",
    )
    gpu_active_w: float = param(
        120.0,
        unit="W",
        low=90.0,
        high=165.0,
        source="0.65-0.95 of a laptop RTX 4090's power limit",
        note="its memory included",
    )
    gpu_idle_w: float = param(12.0, unit="W", low=4.0, high=20.0, source="(U) desktop and A4000 idle")
    mobile_gpu_active_w: float = param(
        4.0, unit="W", low=2.0, high=8.0, source="(U) what a phone can cool", note="without memory"
    )
    mobile_gpu_idle_w: float = param(0.2, unit="W", low=0.05, high=0.4, source="(U) 5 % of active")
    link_bit: float = param(7.5, unit="pJ/bit", low=5.0, high=10.0, source="AiF paper, PCIe; range (U)")
    hbm_bit: float = param(
        3.97, unit="pJ/bit", low=3.59, high=5.47, source="CENT, HBM2 read; AttAcc 3.59; SpecPIM system 5.47"
    )
    hbm_pim_bit: float = param(
        0.55, unit="pJ/bit", low=0.55, high=0.95, source="AttAcc, in-bank HBM2 PIM; high: LPDDR's"
    )
    hbm_background_w: float = param(
        1.0, unit="W", low=0.5, high=3.0, source="(U) refresh and standby of all HBM-PIM stacks"
    )

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def end(cls, which: str) -> Coefficients:
        """All coefficients at the ``low`` or at the ``high`` end of their ranges."""
        return cls(**{field.name: field.metadata[which] for field in dataclasses.fields(cls)})

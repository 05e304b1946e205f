"""From events and time to joules by component."""

from __future__ import annotations

from dataclasses import dataclass, field

from ahasd.models.energy.activity import Activity
from ahasd.models.energy.coefficients import Coefficients

__all__ = ["COMPONENTS", "Machine"]

COMPONENTS = {
    "dram": "reads and writes over the LPDDR5 bus, rows opened for them; over the interface of HBM stacks",
    "dram_background": "standby and refresh of all ranks, and of HBM stacks",
    "pim": "PIM units: bank accesses, rows opened for them, MACs",
    "aau": "attention units",
    "npu": "MACs, scratchpad, vector unit",
    "npu_idle": "NPU leakage and clocks, all the time",
    "host": "rest of the chip and the host, all the time",
    "gpu": "GPUs, working or idle",
    "link": "PCIe",
    "control": "the control unit",
}
"""Components of a run's energy: what each is of."""

PHONE_GPU = frozenset({"gpu", "dram"})
"""Parts of a machine whose GPU is a phone's."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a system is made of, as far as energy goes."""

    ranks: int
    """Of the platform's memory."""
    row_bits: int
    """Bits of a row."""
    parts: frozenset[str]
    """Of dram, pim, npu, host, gpu, hbm: what there is, whether the system uses it or not."""
    control_unit: bool
    gpus: int = 1
    """GPUs, if there are any."""
    coefficients: Coefficients = field(default_factory=Coefficients)

    def joules(
        self, work: Activity, time_ps: int, coefficients: Coefficients | None = None
    ) -> dict[str, float]:
        """Energy of ``work`` and of the machine for ``time_ps``, by component.

        Parameters
        ----------
        work : Activity
        time_ps : int
            In which the work was done.
        coefficients : Coefficients, optional
            Other ones than the machine's.
        """
        c = coefficients or self.coefficients
        pj = self._events(work, c)
        watts = self._powers(c)
        energy = {name: 1e-12 * pj.get(name, 0.0) for name in COMPONENTS}
        for name, power in watts.items():
            energy[name] += power * time_ps * 1e-12
        return energy

    def _events(self, work: Activity, c: Coefficients) -> dict[str, float]:
        """Picojoules. Bits cost without activation, rows with: for whole rows, the all-in figure."""
        row = 1000 * c.row_activation
        in_row = row / self.row_bits
        phone = PHONE_GPU <= self.parts
        idle = c.mobile_gpu_idle_w if phone else c.gpu_idle_w
        active = c.mobile_gpu_active_w if phone else c.gpu_active_w
        return {
            "dram": 8 * work.bus_bytes * (c.bus_bit - in_row)
            + (work.row_activations - work.pim_activations) * row
            + 8 * work.hbm_bytes * c.hbm_bit,
            "pim": 8 * work.pim_bytes * (c.pim_bit - in_row)
            + work.pim_activations * row
            + 8 * work.hbm_pim_bytes * c.hbm_pim_bit
            + work.pim_macs * c.pim_mac,
            "aau": work.aau_elements * c.aau_element,
            "npu": work.npu_macs * c.npu_mac
            + work.scratchpad_bytes * c.scratchpad_byte
            + work.vector_elements * c.vector_element,
            "gpu": work.gpu_ps * (active - idle),
            "link": 8 * work.host_link_bytes * c.link_bit,
        }

    def _powers(self, c: Coefficients) -> dict[str, float]:
        """Watts that go by the time alone."""
        phone = PHONE_GPU <= self.parts
        rank = 1e-3 * (c.background_mw + c.refresh_mw)
        memory = rank * self.ranks if "dram" in self.parts else 0.0
        memory += c.hbm_background_w if "hbm" in self.parts else 0.0
        gpu = c.mobile_gpu_idle_w if phone else c.gpu_idle_w
        return {
            "dram_background": memory,
            "npu_idle": c.npu_idle_w if "npu" in self.parts else 0.0,
            "host": c.host_w if "host" in self.parts else 0.0,
            "gpu": gpu * self.gpus if "gpu" in self.parts else 0.0,
            "control": 1e-3 * c.control_mw if self.control_unit else 0.0,
        }

"""PIM kernels to the command: units on the banks of a rank, programs, placement, abort."""

from ahasd.models.pim.execution import Execution
from ahasd.models.pim.kernels import attention, elementwise, gemv, schedule_gemv
from ahasd.models.pim.placement import Placement, check_fit
from ahasd.models.pim.spec import PimSpec, list_pim, load_pim, pim_of_platform

__all__ = [
    "Execution",
    "PimSpec",
    "Placement",
    "attention",
    "check_fit",
    "elementwise",
    "gemv",
    "list_pim",
    "load_pim",
    "pim_of_platform",
    "schedule_gemv",
]

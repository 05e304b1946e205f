"""Energy: what work consists of (``Activity``), what each event costs, and what adds up to joules."""

from ahasd.models.energy.activity import Activity
from ahasd.models.energy.coefficients import Coefficients
from ahasd.models.energy.pricing import COMPONENTS, Machine

__all__ = ["COMPONENTS", "Activity", "Coefficients", "Machine"]

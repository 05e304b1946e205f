"""Times of passes from simulated commands. See docs/command-timing.md."""

from ahasd.models.command_cost.cost import CommandCost, CommandPasses
from ahasd.models.command_cost.kernels import Kernels
from ahasd.models.command_cost.pim_pass import PimPass

__all__ = ["CommandCost", "CommandPasses", "Kernels", "PimPass"]

"""The hardware blocks that can be emitted, linted and synthesized by name.

Import of ``ahasd.rtl`` waits until a block is made, so that listing the names costs nothing.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable

from amaranth.lib.wiring import Component

from ahasd.models.attention import AttentionParams
from ahasd.models.control.params import UnitParams
from ahasd.models.errors import ConfigError

__all__ = ["BLOCKS", "PAPER_BLOCKS", "PAPER_ROWS", "companions", "make_block"]

_CLASSES = {
    "control_unit": "control_unit.ControlUnit",
    "entropy_average": "entropy.EntropyAverage",
    "entropy_history": "history.EntropyHistory",
    "pattern_history_table": "pht.PatternHistoryTable",
    "draft_queue": "draft_queue.DraftQueue",
    "batch_list": "batch_list.BatchList",
    "serial_arithmetic": "arithmetic.SerialArithmetic",
    "preverify_timer": "timer.PreverifyTimer",
    "task_scheduler": "scheduler.TaskScheduler",
    "rank_gate": "rank_gate.RankGate",
    "registers": "registers.control.ControlRegisters",
    "ahasd_top": "top.AhasdTop",
    "attention_unit": "attention.unit.AttentionUnit",
}
"""Block name -> module and class below ``ahasd.rtl``; each takes one UnitParams, or as ``_PARAMS`` says."""

_PARAMS: dict[str, Callable[[], object]] = {"attention_unit": AttentionParams}

PAPER_ROWS: dict[str, tuple[str, ...]] = {
    "edc": ("entropy_average", "predictor"),
    "tvc": ("preverify_timer",),
    "queues": ("draft_queue", "batch_list"),
}
"""Row of the paper's area table -> sub-modules of the control unit that do its work."""

PAPER_BLOCKS = {"attention_unit": "aau"}
"""Block that is a row of the paper's area table by itself -> row."""


def _maker(block: str, path: str) -> Callable[[], Component]:
    def make() -> Component:
        module, name = path.rsplit(".", 1)
        params = _PARAMS.get(block, UnitParams)()
        component = getattr(importlib.import_module(f"ahasd.rtl.{module}"), name)(params)
        assert isinstance(component, Component)
        return component

    return make


BLOCKS: dict[str, Callable[[], Component]] = {name: _maker(name, path) for name, path in _CLASSES.items()}
"""Block name -> maker of a fresh component with default parameters."""


def make_block(name: str) -> Component:
    """A fresh component for block ``name``.

    Raises
    ------
    ConfigError
        If there is no such block, naming the near ones.
    """
    if name not in BLOCKS:
        near = difflib.get_close_matches(name, BLOCKS) or list(BLOCKS)
        raise ConfigError(f"block: {name!r} must be one of {', '.join(near)}")
    return BLOCKS[name]()


def companions(name: str) -> dict[str, str]:
    """What software needs beside the block's Verilog: file name to text."""
    if name not in ("registers", "ahasd_top"):
        return {}
    from ahasd.rtl.registers.ahasd_map import REGISTERS
    from ahasd.rtl.registers.text import c_header

    return {"ahasd_registers.h": c_header(REGISTERS)}

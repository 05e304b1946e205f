"""The register block of the control unit: registers, sticky errors, counters' snapshot, interrupt."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ahasd.models.control.params import UnitParams
from ahasd.models.control.unit import COUNTERS
from ahasd.models.control.work import Violation
from ahasd.rtl.axi_lite import AxiLiteSignature
from ahasd.rtl.rank_gate import RANKS, RankMode
from ahasd.rtl.registers.ahasd_map import CAUSES, COUNTER_NAMES, REGISTERS, TIMES
from ahasd.rtl.registers.description import Access
from ahasd.rtl.registers.file import RegisterFile
from ahasd.rtl.signatures import COMMANDS, TaskKind, config_layout, counters_layout, status_layout

__all__ = ["ControlRegisters"]


class ControlRegisters(wiring.Component):
    """Software's view of a control unit.

    A command reaches the unit three cycles after its write was taken, errors and events software one cycle
    after they happen. A configuration write while a sequence runs, or between ``start`` and the
    sequence, changes nothing and raises the unit's CONFIGURATION violation.

    Members
    -------
    axi : In(AxiLiteSignature)
    config, command : Out
        To the control unit.
    draft_ranks, target_ranks : Out(16)
    status, counters, cause : In
        Of the control unit.
    unit_active : In(1)
        Its ``clk_req``: a command may still wait in it.
    abort : In(1)
    rank_mode, rank_enable, rank_busy, ranks_overlap : In
        Of the rank gate.
    tick : In(1)
        High for a cycle in every tick of the timebase.
    link_up, recovering : In(1)
        The NPU side is there; a reset of it is being dealt with.
    npu_reset, recovered : In(1)
        High for a cycle: the NPU side was reset; that has been dealt with.
    save : In(1)
        A snapshot, as by its command: the unit's counters are about to be lost.
    irq : Out(1)
        Level: an enabled bit of INTERRUPT_STATUS is set.
    """

    axi: Any
    config: data.View
    command: data.View
    draft_ranks: Signal
    target_ranks: Signal
    status: data.View
    counters: data.View
    cause: Signal
    unit_active: Signal
    abort: Signal
    rank_mode: Signal
    rank_enable: Signal
    rank_busy: Signal
    ranks_overlap: Signal
    tick: Signal
    link_up: Signal
    recovering: Signal
    npu_reset: Signal
    recovered: Signal
    save: Signal
    irq: Signal

    def __init__(self, params: UnitParams | None = None) -> None:
        self.params = p = params or UnitParams()
        super().__init__(
            {
                "axi": In(AxiLiteSignature(REGISTERS.address_bits)),
                "config": Out(config_layout(p)),
                "command": Out(COMMANDS),
                "draft_ranks": Out(RANKS),
                "target_ranks": Out(RANKS),
                "status": In(status_layout(p)),
                "counters": In(counters_layout(p)),
                "cause": In(len(Violation)),
                "unit_active": In(1),
                "abort": In(1),
                "rank_mode": In(RankMode),
                "rank_enable": In(RANKS),
                "rank_busy": In(RANKS),
                "ranks_overlap": In(1),
                "tick": In(1),
                "link_up": In(1),
                "recovering": In(1),
                "npu_reset": In(1),
                "recovered": In(1),
                "save": In(1),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.file = file = RegisterFile(REGISTERS)
        connect(m, flipped(self.axi), file.axi)
        values, state = file.values, file.state
        m.d.comb += [
            *(self.config[name].eq(values[name]) for name, _ in config_layout(self.params)),
            self.draft_ranks.eq(values.draft_ranks),
            self.target_ranks.eq(values.target_ranks),
        ]
        direct = [name for name, _ in status_layout(self.params) if name != "committed"]
        m.d.comb += [
            *(state[name].eq(self.status[name]) for name in direct),
            *(
                state[name].eq(getattr(self, name))
                for name in ("abort", "rank_mode", "link_up", "recovering", "rank_enable", "rank_busy")
            ),
        ]
        committed = Signal(self.params.position_bits)
        m.d.comb += state.committed.eq(committed)
        with m.If(self.status.running):
            m.d.sync += committed.eq(self.status.committed)
        own = self._commands(m, file)
        self._errors(m, file, own)
        self._counters(m, file)
        return m

    def _commands(self, m: Module, file: RegisterFile) -> dict[str, Signal]:
        """Passes commands on; returns the causes that it raises."""
        commands = file.commands
        starting = Signal()  # from ``start`` until the sequence runs or the unit has refused it
        owed = Signal()  # a refused write that the unit has not been told of, since nothing ran yet
        own = {name: Signal(name=f"raise_{name}") for name in ("ranks", "not_ready", "npu_reset")}
        unusable = self.ranks_overlap | ~self.draft_ranks.any()
        accepted = commands.start & ~unusable & ~self.recovering
        m.d.comb += [
            own["ranks"].eq(commands.start & unusable & ~self.recovering),
            own["not_ready"].eq(commands.start & self.recovering),
            own["npu_reset"].eq(self.npu_reset),
            self.command.start.eq(accepted),
            self.command.stop.eq(commands.stop),
            self.command.clear.eq(commands.clear),
            self.command.clear_errors.eq(commands.clear_errors),
            self.command.config_write.eq((file.refused | owed) & self.status.running),
            file.locked.eq(self.status.running | starting | commands.start),
        ]
        with m.If(accepted):
            m.d.sync += starting.eq(1)
        with m.Elif(self.status.running | ~self.unit_active):
            m.d.sync += starting.eq(0)
        with m.If(self.status.running | ~starting):
            m.d.sync += owed.eq(0)
        with m.Elif(file.refused):
            m.d.sync += owed.eq(1)
        return own

    def _errors(self, m: Module, file: RegisterFile, own: dict[str, Signal]) -> None:
        """Sticky errors, kept here so that they outlive a reset of the unit; events; interrupt."""
        errors = Signal(len(CAUSES), init=1 << list(CAUSES).index("memory_reset"))
        seen = Signal.like(self.cause)  # the unit's sticky bits that have been noted
        new = Signal.like(errors)
        running, full = Signal(), Signal()
        m.d.comb += new.eq(
            Cat(self.cause & ~seen, *(own.get(name, Const(0, 1)) for name in list(CAUSES)[len(Violation) :]))
        )
        m.d.sync += [
            errors.eq(errors | new),
            seen.eq(self.cause),
            running.eq(self.status.running),
            full.eq(self.status.sequence_full),
        ]
        with m.If(file.commands.clear_errors):
            m.d.sync += [errors.eq(new), seen.eq(0)]
        m.d.comb += [
            *(file.state[name].eq(errors[bit]) for bit, name in enumerate(CAUSES)),
            file.events.error.eq(new.any()),
            file.events.npu_reset.eq(self.recovered),
            file.events.full.eq(self.status.sequence_full & ~full),
            file.events.stopped.eq(running & ~self.status.running),
        ]
        enabled = [
            file.flags[field.name] & file.values[field.name] for _, field in REGISTERS.fields(Access.CLEAR)
        ]
        m.d.sync += self.irq.eq(Cat(enabled).any())

    def _counters(self, m: Module, file: RegisterFile) -> None:
        """Tick counters, and the copies of all counters that software reads."""
        status = self.status
        drafting = status.task & (status.task_kind == TaskKind.DRAFT)
        conditions = {
            "npu_idle": ~status.npu_busy,
            "pim_idle": ~status.task,
            "pim_draft": drafting,
            "pim_preverify": status.task & ~drafting,
        }
        assert set(conditions) == set(TIMES)
        live = {name: self.counters[name] for name in COUNTERS}
        for name, condition in conditions.items():
            live[name] = Signal(self.params.counter_bits, name=name)
            with m.If(file.commands.clear & ~status.running):
                m.d.sync += live[name].eq(0)
            with m.Elif(self.tick & status.running & condition):
                m.d.sync += live[name].eq(live[name] + 1)
        for name in COUNTER_NAMES:
            copy = Signal(self.params.counter_bits, name=f"{name}_copy")
            m.d.comb += file.state[name].eq(copy)
            with m.If(file.commands.snapshot | self.save):
                m.d.sync += copy.eq(live[name])

"""AHASD's digital top: control unit, rank gate, registers, and the crossing to the NPU's clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import ResetSynchronizer  # type: ignore[import-untyped]  # no stubs
from amaranth.lib.wiring import In, Out, connect, flipped

from ahasd.models.control.params import UnitParams
from ahasd.rtl import signatures as s
from ahasd.rtl.axi_lite import AxiLiteSignature
from ahasd.rtl.clock_crossing import AsyncQueue, LinkEnd
from ahasd.rtl.control_unit import ControlUnit
from ahasd.rtl.predictor import EntropyHistoryPredictor, Predictor
from ahasd.rtl.rank_gate import RANKS, RankGate
from ahasd.rtl.recovery import Recovery
from ahasd.rtl.registers.ahasd_map import REGISTERS
from ahasd.rtl.registers.control import ControlRegisters
from ahasd.rtl.timebase import TICK_BITS, Timebase

__all__ = ["AhasdTop"]

VERIFY_DEPTH, FEEDBACK_DEPTH = 8, 2
"""Of the crossings: a request's beats come every second cycle; one verdict is outstanding at most."""


class AhasdTop(wiring.Component):
    """The in-PIM control of asynchronous speculative decoding, to be put between NPU, PIM and host.

    Clocks: ``mem_clk`` never stops. ``core_clk`` is ``mem_clk``, or ``mem_clk`` gated by ``clk_req`` (a latch
    and an AND gate; the edges coincide). ``npu_clk`` has nothing to do with them. Resets are asserted
    asynchronously and released synchronously, to ``mem_clk`` and ``npu_clk``.

    A reset of either side empties the crossing between them. After one of the NPU side, the sequence is
    given up: the running verification, too; a bit of ERRORS and INTERRUPT_STATUS says so when it has ended,
    and COMMITTED how many tokens stand. After one of the memory side, the NPU is told by ``npu_flush``.

    Parameters
    ----------
    params : UnitParams
    tick_bits : int
        Logarithm of cycles of ``mem_clk`` a tick of the timebase.
    predictor : callable from UnitParams to Predictor
        See :class:`~ahasd.rtl.control_unit.ControlUnit`.

    Members
    -------
    mem_clk, mem_rst, core_clk, npu_clk, npu_rst : In(1)
    clk_req : Out(1)
        ``core_clk`` is needed at the next edge. Of the memory side.
    axi : In(AxiLiteSignature)
        Registers. Of the memory side, as all that follow down to ``commit``.
    irq : Out(1)
    token, result : In(stream), task : Out(stream), abort : Out(1)
        The PIM; see ControlSignature. A task is offered when its ranks are in PIM mode.
    rank_enable, rank_busy, rank_closed, target_request, target_grant
        The PIM's ranks and the memory controller; see RankGate.
    commit : Out(stream)
        To the host.
    verify : Out(stream), feedback : In(stream)
        The NPU. Of the NPU side, as the next.
    npu_flush : Out(1)
        The link is down: forget the running verification and a part of a request; a verdict that
        is offered goes nowhere; an offered beat may be withdrawn.
    """

    mem_clk: Signal
    mem_rst: Signal
    core_clk: Signal
    npu_clk: Signal
    npu_rst: Signal
    clk_req: Signal
    axi: Any
    irq: Signal
    token: stream.Interface
    result: stream.Interface
    task: stream.Interface
    abort: Signal
    rank_enable: Signal
    rank_busy: Signal
    rank_closed: Signal
    target_request: Signal
    target_grant: Signal
    commit: stream.Interface
    verify: stream.Interface
    feedback: stream.Interface
    npu_flush: Signal

    def __init__(
        self,
        params: UnitParams | None = None,
        tick_bits: int = TICK_BITS,
        predictor: Callable[[UnitParams], Predictor] = EntropyHistoryPredictor,
    ) -> None:
        self.params = p = params or UnitParams()
        self._tick_bits = tick_bits
        self._predictor = predictor
        super().__init__(
            {
                "mem_clk": In(1),
                "mem_rst": In(1),
                "core_clk": In(1),
                "npu_clk": In(1),
                "npu_rst": In(1),
                "clk_req": Out(1),
                "axi": In(AxiLiteSignature(REGISTERS.address_bits)),
                "irq": Out(1),
                "token": In(stream.Signature(s.token_layout(p))),
                "result": In(stream.Signature(s.result_layout(p))),
                "task": Out(stream.Signature(s.request_layout(p))),
                "abort": Out(1),
                "rank_enable": Out(RANKS),
                "rank_busy": In(RANKS),
                "rank_closed": In(RANKS),
                "target_request": Out(1),
                "target_grant": In(1),
                "commit": Out(stream.Signature(s.commit_layout(p))),
                "verify": Out(stream.Signature(s.request_layout(p))),
                "feedback": In(stream.Signature(s.feedback_layout(p))),
                "npu_flush": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = self.params
        self._domains(m)
        unit, gate = ControlUnit(p, self._predictor), RankGate(p)
        registers, recovery, timebase = ControlRegisters(p), Recovery(), Timebase(p, self._tick_bits)
        m.submodules.control_unit = DomainRenamer("unit")(unit)
        m.submodules.rank_gate = DomainRenamer("core")(gate)
        m.submodules.registers = DomainRenamer("mem")(registers)
        m.submodules.recovery = DomainRenamer("mem")(recovery)
        m.submodules.timebase = DomainRenamer("mem")(timebase)

        connect(m, flipped(self.axi), registers.axi)
        connect(m, flipped(self.token), unit.token)
        connect(m, flipped(self.result), unit.result)
        connect(m, flipped(self.commit), unit.commit)
        connect(m, unit.task, gate.tasks)
        connect(m, flipped(self.task), gate.requests)
        for name in ("rank_enable", "target_request"):
            m.d.comb += getattr(self, name).eq(getattr(gate, name))
        for name in ("rank_busy", "rank_closed", "target_grant"):
            m.d.comb += getattr(gate, name).eq(getattr(self, name))
        m.d.comb += [
            self.abort.eq(unit.abort),
            self.irq.eq(registers.irq),
            self.clk_req.eq(unit.clk_req | gate.clk_req),
            unit.now.eq(timebase.now),
            unit.config.eq(registers.config),
            unit.command.eq(registers.command),
            unit.command.stop.eq(registers.command.stop | recovery.stop),
            gate.running.eq(unit.status.running),
            gate.outstanding.eq(unit.status.task),
            gate.draft_ranks.eq(registers.draft_ranks),
            gate.target_ranks.eq(registers.target_ranks),
            registers.status.eq(unit.status),
            registers.counters.eq(unit.counters),
            registers.cause.eq(unit.cause),
            registers.unit_active.eq(unit.clk_req),
            registers.abort.eq(unit.abort),
            registers.rank_mode.eq(gate.mode),
            registers.rank_enable.eq(gate.rank_enable),
            registers.rank_busy.eq(self.rank_busy),
            registers.ranks_overlap.eq(gate.overlap),
            registers.tick.eq(timebase.tick),
            registers.recovering.eq(recovery.recovering),
            registers.recovered.eq(recovery.recovered),
            registers.save.eq(recovery.save),
            recovery.running.eq(unit.status.running),
            recovery.stopping.eq(unit.status.stopping),
            recovery.task.eq(unit.status.task),
            recovery.unit_active.eq(unit.clk_req),
        ]
        link, empty = self._link(m, recovery)
        m.d.comb += [registers.link_up.eq(~link.clear), registers.npu_reset.eq(link.lost)]
        self._crossings(m, unit, recovery, link, empty)
        m.d.comb += ResetSignal("unit").eq(ResetSignal("mem") | recovery.unit_reset)
        return m

    def _domains(self, m: Module) -> None:
        """mem and npu; core, which is mem with another clock; unit, which is core with another reset."""
        clocks = {"mem": self.mem_clk, "core": self.core_clk, "unit": self.core_clk, "npu": self.npu_clk}
        for name, clock in clocks.items():
            m.domains += ClockDomain(name, async_reset=True)
            m.d.comb += ClockSignal(name).eq(clock)
        m.submodules.mem_reset = ResetSynchronizer(self.mem_rst, domain="mem")
        m.submodules.npu_reset = ResetSynchronizer(self.npu_rst, domain="npu")
        m.d.comb += ResetSignal("core").eq(ResetSignal("mem"))

    def _link(self, m: Module, recovery: Recovery) -> tuple[LinkEnd, Signal]:
        """The memory side's end of the link, and when its halves of the queues are kept empty."""
        m.submodules.mem_end = mem = LinkEnd("mem")
        m.submodules.npu_end = npu = LinkEnd("npu")
        for end, peer in ((mem, npu), (npu, mem)):
            m.d.comb += [end.peer_flush.eq(peer.flush), end.peer_acknowledge.eq(peer.acknowledge)]
        empty = Signal()
        m.d.comb += [
            empty.eq(mem.clear | recovery.recovering),
            recovery.lost.eq(mem.lost),
            self.npu_flush.eq(npu.clear),
        ]
        return mem, empty

    def _crossings(
        self, m: Module, unit: ControlUnit, recovery: Recovery, link: LinkEnd, empty: Signal
    ) -> None:
        p = self.params
        m.submodules.verify_queue = verify = AsyncQueue(
            s.request_layout(p), VERIFY_DEPTH, write_domain="mem", read_domain="npu", withdraw=True
        )
        # A verdict that the control unit has been offered may be on its way into it: it is taken.
        m.submodules.feedback_queue = feedback = AsyncQueue(
            s.feedback_layout(p), FEEDBACK_DEPTH, write_domain="npu", read_domain="mem", withdraw=False
        )
        connect(m, flipped(self.verify), verify.o)
        connect(m, feedback.o, unit.feedback)
        m.d.comb += [
            verify.i.payload.eq(unit.verify.payload),
            verify.i.valid.eq(unit.verify.valid),
            unit.verify.ready.eq(verify.i.ready | recovery.recovering),
            feedback.i.payload.eq(self.feedback.payload),
            feedback.i.valid.eq(self.feedback.valid),
            self.feedback.ready.eq(feedback.i.ready | self.npu_flush),
            verify.i_clear.eq(empty),
            verify.o_clear.eq(self.npu_flush),
            feedback.i_clear.eq(self.npu_flush),
            feedback.o_clear.eq(empty),
        ]

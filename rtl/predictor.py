"""Draft-control predictors in hardware: one signature, the EDC, and a trivial second implementation."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.control.params import UnitParams
from ahasd.rtl.history import EntropyHistory
from ahasd.rtl.pht import PatternHistoryTable

__all__ = ["PREDICTORS", "AlwaysGoOn", "EntropyHistoryPredictor", "Predictor", "PredictorSignature"]


class PredictorSignature(wiring.Signature):
    """What the control unit drives, as ``ahasd.models.control.predictor.Predictor`` in the golden model.

    Operations are strobes, at least two cycles apart. The answer to ``close`` or ``lookup`` in cycle c is
    valid in cycle c + 2: every predictor has this latency, since decisions' times depend on it.

    Members
    -------
    close : In(1)
        A batch of ``bucket`` has closed; ``llr`` counts it. Answered.
    lookup : In(1)
        Predict for the present history and ``llr``. Answered.
    accept : In(1)
        The batch closed with ``index`` and ``old_bucket`` has retired.
    reject : In(1)
        The batch closed with ``index`` is refuted.
    restore : In(1)
        Back to the history of accepted batches; may go with ``reject``.
    start : In(1)
        A sequence starts.
    clear : In(1)
        Forget all training; ``busy`` until done. Given once after reset.
    bucket, old_bucket, llr, index : In
    look_index : Out(9)
        With the answer: the index that was read; kept with the batch.
    go_on : Out(1)
        The answer.
    busy : Out(1)
    """

    def __init__(self, params: UnitParams) -> None:
        super().__init__(
            {
                "close": In(1),
                "lookup": In(1),
                "accept": In(1),
                "reject": In(1),
                "restore": In(1),
                "start": In(1),
                "clear": In(1),
                "bucket": In(params.bucket_bits),
                "old_bucket": In(params.bucket_bits),
                "llr": In(params.llr_bits),
                "index": In(params.index_bits),
                "look_index": Out(params.index_bits),
                "go_on": Out(1),
                "busy": Out(1),
            }
        )


class Predictor(wiring.Component):
    """Base of all predictors. Members: :class:`PredictorSignature`."""

    close: Signal
    lookup: Signal
    accept: Signal
    reject: Signal
    restore: Signal
    start: Signal
    clear: Signal
    bucket: Signal
    old_bucket: Signal
    llr: Signal
    index: Signal
    look_index: Signal
    go_on: Signal
    busy: Signal

    def __init__(self, params: UnitParams) -> None:
        self._params = params
        super().__init__(PredictorSignature(params))


class EntropyHistoryPredictor(Predictor):
    """EDC: entropy history and pattern history table."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.history = history = EntropyHistory(self._params)
        m.submodules.pht = pht = PatternHistoryTable(self._params)
        look = Signal()
        m.d.comb += [
            look.eq(self.close | self.lookup),
            history.shift.eq(self.close),
            history.bucket.eq(self.bucket),
            history.commit.eq(self.accept),
            history.commit_bucket.eq(self.old_bucket),
            history.restore.eq(self.restore),
            history.clear.eq(self.start),
            pht.look.eq(look),
            pht.train.eq(self.accept | self.reject),
            pht.up.eq(self.accept),
            pht.index.eq(Mux(look, Cat(self.llr, history.newer, history.older), self.index)),
            pht.clear.eq(self.clear),
            self.look_index.eq(pht.at),
            self.go_on.eq(pht.go_on),
            self.busy.eq(pht.busy),
        ]
        return m


class AlwaysGoOn(Predictor):
    """Drafting ahead is always worth it: no state."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.go_on.eq(1)
        return m


PREDICTORS = {"edc": EntropyHistoryPredictor, "always-go": AlwaysGoOn}
"""Predictors by the names of ``ahasd.models.control.predictor.PREDICTORS``."""

"""Properties of the pattern history table and of the rank gate, full size."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Instance, Mux, Signal, Value

from ahasd.rtl.pht import ROW_COUNTERS
from ahasd.synth.formal.bench import Bench

__all__ = ["counters_saturate", "cover_counters", "cover_ranks", "ranks_never_overlap"]


def _counter(bench: Bench) -> tuple[Signal, Value, Value]:
    """Any index, the counter there, and whether it is trained in this cycle.

    The table's user keeps operations two cycles apart and does not operate while it is cleared; the control
    unit's invariant says that it does.
    """
    dut: Any = bench.component
    looking, training = bench.signal("looking"), bench.signal("training")
    operates = dut.look | dut.train
    bench.assume(~operates | ~(looking[0] | training[0] | dut.busy | dut.clear | dut.look & dut.train))
    bench.assume(~dut.clear | (looking == 0) & (training == 0) & ~dut.busy)
    chosen = Signal(len(dut.index), name="chosen")
    bench.m.submodules += Instance("$anyconst", ("p", "WIDTH", len(chosen)), ("o", "Y", chosen))
    column = ROW_COUNTERS.bit_length() - 1
    row = bench.opened.word("table", chosen[column:], "row_chosen")
    value = bench.wire(row.word_select(chosen[:column], 2), "value")
    return chosen, value, training[1] & (dut.at == chosen)


def counters_saturate(bench: Bench) -> None:
    chosen, value, trains = _counter(bench)
    looking, training = bench.signal("looking"), bench.signal("training")
    busy, at, upward = bench.signal("busy"), bench.signal("at"), bench.signal("upward")
    column = ROW_COUNTERS.bit_length() - 1
    bench.implies("one operation at a time", training[0] | looking[0], ~(training[1] | looking[1] | busy))
    bench.implies("no training while clearing", training[1], ~busy)
    present = bench.opened.word("table", at[column:], "row_at")
    read = bench.opened.part("table")._read_ports[0]._data
    bench.implies("the row that was read is current", training[1], read == present)
    before, was_trained = bench.past(value, "value"), bench.past(trains, "trains")
    up = bench.past(upward, "upward")
    next_up, next_down = Mux(before == 3, 3, before + 1), Mux(before == 0, 0, before - 1)
    bench.implies("training counts by one and saturates", was_trained, value == Mux(up, next_up, next_down))
    cleared = bench.past(busy & (bench.signal("row") == chosen[column:]), "cleared")
    bench.implies("clearing sets weakly go on", cleared, value == 2)
    kept = ~bench.first_cycle & ~was_trained & ~cleared
    bench.implies("nothing else changes a counter", kept, value == before)


def cover_counters(bench: Bench) -> None:
    _, value, trains = _counter(bench)
    upward = bench.signal("upward")
    bench.reach("training up at 3", trains & upward & (value == 3))
    bench.reach("training down at 0", trains & ~upward & (value == 0))


def _masks_stand(bench: Bench) -> None:
    """Masks may change only while no sequence runs and no rank is on or about to be."""
    dut: Any = bench.component
    used = bench.past(dut.running | ~bench.opened.state("", "OFF"), "used")
    for name in ("draft_ranks", "target_ranks"):
        mask = getattr(dut, name)
        bench.assume(~used | (mask == bench.past(mask, name)))


def ranks_never_overlap(bench: Bench) -> None:
    dut: Any = bench.component
    _masks_stand(bench)
    enable = dut.rank_enable
    active = dut.rank_busy | ~dut.rank_closed
    draft, target = (enable & dut.draft_ranks).any(), (enable & dut.target_ranks).any()
    kind = bench.signal("kind")
    ours, other = Mux(kind, dut.target_ranks, dut.draft_ranks), Mux(kind, dut.draft_ranks, dut.target_ranks)
    on = bench.opened.state("", "ON")
    register, known = bench.opened.states("")
    bench.check("a state", register < len(known))
    bench.implies("ranks are off", ~on, enable == 0)
    bench.implies("one set is on", on, (enable == ours) & ~dut.overlap)
    bench.check("sets never overlap", ~(draft & target))
    before, was_active = bench.past(enable, "enable"), bench.past(active, "active")
    bench.check(
        "a busy or open rank is never gated", bench.first_cycle | (before & was_active & ~enable == 0)
    )
    rises = bench.past(enable == 0, "was_off") & (enable != 0) & ~bench.first_cycle
    bench.implies("the other set is idle and closed first", rises, was_active & other == 0)
    bench.implies("target ranks are asked for", target, dut.target_request)
    granted = bench.past(dut.target_grant, "grant")
    bench.implies("target ranks go on with the grant", rises & target, granted)


def cover_ranks(bench: Bench) -> None:
    dut: Any = bench.component
    _masks_stand(bench)
    draft, target = (dut.rank_enable & dut.draft_ranks).any(), (dut.rank_enable & dut.target_ranks).any()
    drafted = Signal(name="drafted")
    with bench.m.If(draft):
        bench.m.d.sync += drafted.eq(1)
    bench.reach("draft ranks are on", draft)
    bench.reach("target ranks go on after them", drafted & target & (dut.rank_busy != 0))

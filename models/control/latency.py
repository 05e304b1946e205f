"""Latency of the control unit in clock cycles: the one function that ties golden time to RTL time.

Cycle 0 is the clock edge at which the unit takes an event (or sees a command); cycle k is the k-th edge
after it. All consumers are taken to be ready (NPU, PIM and host are, whenever the unit may address them).
The stages below are those of ``ahasd.rtl.control_unit``; ``tests/rtl/test_latency.py`` compares the two
cycle for cycle on all vectors. There is no data-dependent early exit.
"""

from __future__ import annotations

from dataclasses import dataclass

from ahasd.models.control.params import UnitParams
from ahasd.models.control.work import TaskPath, Work

__all__ = ["ACCEPT_CYCLES", "Timing", "latency"]

ACCEPT_CYCLES = 1
"""Cycles from the edge at which a free unit sees a waiting input to the edge at which it takes it."""

PHT_ROW = 8
"""Counters of the pattern history table that ``clear`` sets in a cycle."""
CHECK = 1
"""Protocol check; a token is appended."""
LOOKUP = 2
"""Predictor: index register, table row register; the answer is there in the cycle after."""
READ = 3
"""Feedback: limit, ring read, compare."""
RETIRE = 2
"""Cycles for each retired batch (read, modify and write of its counter), and one for the last look."""
SCAN_OVERHEAD = 2
"""A fix: before and after the scan over the closed batches, which takes one cycle each."""
VERIFY = 2
"""Verify decision: distance, cap."""
BEAT = 2
"""Cycles a token of a request: both requests and commits share the ring's one read port."""
RECORD_OVERHEAD = 3
"""From the check to the end of a division, beside its steps (one a bit): duration, load, write."""
TIMER_OVERHEAD = 5
"""Pre-verify timer, beside the sum of a table (a cycle an entry), the multiplication (one a bit) and the fit
(one a token): first read, start of the multiplication, its product, two subtractions."""


@dataclass(frozen=True, slots=True)
class Timing:
    """When, in cycles after an event was taken, its decisions take effect. None: no such decision."""

    free: int
    """The unit can see the next waiting input."""
    committed: int | None = None
    """The last token of the commit is taken."""
    abort: int | None = None
    """``abort`` is up (after a flush or stop, if there is a task to abort)."""
    verify_offered: int | None = None
    verify_taken: int | None = None
    """The verify request's last token is taken."""
    task_offered: int | None = None
    task_taken: int | None = None


def latency(work: Work, params: UnitParams | None = None) -> Timing:
    """Timing of one event's work.

    Parameters
    ----------
    work : Work
        As the golden unit reports it.
    params : UnitParams, optional
    """
    params = params or UnitParams()
    load = 3 * params.cycle_entries  # presets into the cycle tables
    if work.kind == "clear":
        return Timing(free=CHECK + max(params.pht_entries // PHT_ROW, load) + 3)
    if not work.decides:
        return Timing(free=CHECK + 1)
    if work.kind == "stop":
        return Timing(free=CHECK + 2, abort=CHECK + 1)

    committed = abort = None
    decide = CHECK + 1  # the cycle in which the verify decision begins
    if work.kind == "start" and work.presets_loaded:
        decide += load + 1
    elif work.kind == "token":
        decide += params.bucket_bits + LOOKUP + 1  # serial division of the entropy sum: a cycle a bit
    elif work.kind == "feedback":
        committed = CHECK + READ + work.committed
        decide = committed + 1 + RETIRE * work.retired + 1
        if work.flushed:
            abort = decide + 1
            decide += 1
    elif work.kind == "preverified" and not work.late:
        decide += 1
        if work.fixed:
            decide += params.batches + SCAN_OVERHEAD

    verify_offered = decide + VERIFY if work.verify_tokens else None
    task_cycle = decide + VERIFY
    recorded = CHECK + RECORD_OVERHEAD + params.ratio_bits if work.recorded else 0
    if work.path in (TaskPath.NONE, TaskPath.DIRECT):
        done = task_cycle + 1
    else:
        done = task_cycle + LOOKUP + 1
        if work.path is TaskPath.TIMER:
            timer = TIMER_OVERHEAD + params.cycle_entries + params.ratio_bits + params.preverify_max
            done = max(done, recorded) + timer + 1
    task_offered = done if work.task_tokens else None

    # Requests alternate on the read port; the verify request goes first where they would meet.
    free = max(done, recorded)
    verify_taken = task_taken = None
    if verify_offered is not None:
        verify_taken = verify_offered + BEAT * work.verify_tokens
        free = max(free, verify_taken + 1)
    if task_offered is not None:
        task_taken = task_offered + BEAT * work.task_tokens
        if verify_offered is not None and verify_taken is not None:
            ahead = task_offered - verify_offered
            if ahead % BEAT == 0 and task_offered <= verify_taken - BEAT:
                task_taken += 1
        free = max(free, task_taken + 1)
    return Timing(free + 1, committed, abort, verify_offered, verify_taken, task_offered, task_taken)

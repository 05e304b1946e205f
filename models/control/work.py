"""What an event made the control unit do: the inputs of the latency function."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

__all__ = ["TaskPath", "Violation", "Work"]


class TaskPath(Enum):
    """How the unit came to its task decision."""

    NONE = "none"
    """A task is outstanding, seven batches are closed, or the sequence is stopping."""
    DIRECT = "direct"
    """Draft without a look-up: EDC off, nothing closed, or trusted."""
    GO_ON = "go-on"
    """EDC says go on."""
    SUPPRESS = "suppress"
    """EDC says stop and TVC is off."""
    TIMER = "timer"
    """EDC says stop and the pre-verify timer decides."""


class Violation(IntEnum):
    """Protocol violations; the value is the bit of the sticky ``cause`` register."""

    FEEDBACK_UNEXPECTED = 0
    """Feedback while no verification runs."""
    FEEDBACK_RANGE = 1
    """More tokens accepted than issued."""
    TOKEN_UNEXPECTED = 2
    """A token without a draft task."""
    RESULT_UNEXPECTED = 3
    """A pre-verification result without a pre-verification task."""
    RESULT_RANGE = 4
    """passed > n, passed < n without a fix, or passed = n with one."""
    ABORTED_UNEXPECTED = 5
    """``aborted`` without an abort."""
    COMMAND = 6
    """``start`` or ``clear`` while a sequence runs."""
    CONFIGURATION = 7
    """A configuration write while a sequence runs, or ``start`` with a value out of range."""
    MISSING_LAST = 8
    """The max_draft-th token of a batch without ``last``; taken as last."""


@dataclass(slots=True)
class Work:
    """One event's work. Counts are tokens or batches."""

    kind: str = "none"
    """``token``, ``feedback``, ``preverified``, ``aborted``, ``start``, ``stop`` or ``clear``."""
    decides: bool = True
    """False for a token that does not end its batch and for a stale one: nothing can follow from it."""
    recorded: bool = False
    """A cycle table takes a new ratio (the divider runs)."""
    committed: int = 0
    retired: int = 0
    flushed: bool = False
    late: bool = False
    """A pre-verification result that came while its task was being aborted."""
    fixed: bool = False
    presets_loaded: bool = False
    """The first ``start`` after reset loads the cycle tables."""
    verify_tokens: int = 0
    """Tokens of the verify request, the one before the first included; 0 if none."""
    path: TaskPath = TaskPath.NONE
    task_tokens: int = 0
    """Tokens of the task request; 0 if none."""

"""Layouts and signatures on the control unit's ports. Benches pack and unpack with the same objects.

All streams are valid/ready with payload held until taken (``amaranth.lib.stream``).
"""

from __future__ import annotations

from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ahasd.models.control.params import UnitParams
from ahasd.models.control.unit import COUNTERS
from ahasd.models.control.work import Violation

__all__ = [
    "ControlSignature",
    "ResultKind",
    "TaskKind",
    "commit_layout",
    "config_layout",
    "counters_layout",
    "feedback_layout",
    "header_layout",
    "request_layout",
    "result_layout",
    "status_layout",
    "token_layout",
]


class TaskKind(enum.Enum, shape=1):
    """What a task request asks of the PIM."""

    DRAFT = 0
    PREVERIFY = 1


class ResultKind(enum.Enum, shape=1):
    """What a task result says."""

    PREVERIFIED = 0
    ABORTED = 1


def token_layout(params: UnitParams) -> data.StructLayout:
    """A drafted token: entropy in 1/256 of H_max; ``last`` ends its batch."""
    return data.StructLayout({"id": params.token_bits, "entropy": params.entropy_bits, "last": 1})


def feedback_layout(params: UnitParams) -> data.StructLayout:
    """The NPU's verdict."""
    return data.StructLayout({"accepted": params.verify_max.bit_length(), "next": params.token_bits})


def result_layout(params: UnitParams) -> data.StructLayout:
    """A task result; the last three fields count for PREVERIFIED only."""
    return data.StructLayout(
        {
            "kind": ResultKind,
            "passed": params.preverify_max.bit_length(),
            "has_fix": 1,
            "fix": params.token_bits,
        }
    )


def header_layout(params: UnitParams) -> data.StructLayout:
    """First beat of a request: KV entries to keep, number of token beats that follow."""
    return data.StructLayout(
        {"position": params.context_position_bits, "tokens": params.verify_max.bit_length()}
    )


def request_layout(params: UnitParams) -> data.StructLayout:
    """A beat of a request. ``data`` is a header in the first beat, a token id (low bits) in the others.

    ``kind`` counts on the task stream only and is the same in all beats.
    """
    bits = header_layout(params).as_shape().width
    return data.StructLayout({"header": 1, "last": 1, "kind": TaskKind, "data": bits})


def commit_layout(params: UnitParams) -> data.StructLayout:
    """A committed token; ``last`` ends the commit of one verdict."""
    return data.StructLayout({"token": params.token_bits, "last": 1})


def config_layout(params: UnitParams) -> data.StructLayout:
    """Configuration, stable while a sequence runs. Ranges: ``ControlConfig.RANGES``; presets UQ24.8 ticks."""
    return data.StructLayout(
        {
            "edc": 1,
            "tvc": 1,
            "suppress_preverify": 1,
            "verify_all": 1,
            "max_draft": params.max_draft.bit_length(),
            "verify_max": params.verify_max.bit_length(),
            "preverify_max": params.preverify_max.bit_length(),
            "context": params.context_bits,
            "prompt_token": params.token_bits,
            "npu_preset": params.ratio_bits,
            "draft_preset": params.ratio_bits,
            "preverify_preset": params.ratio_bits,
        }
    )


COMMANDS = data.StructLayout({"start": 1, "stop": 1, "clear": 1, "clear_errors": 1, "config_write": 1})
"""One-cycle strobes. ``config_write`` tells that software writes the configuration in this cycle."""


def counters_layout(params: UnitParams) -> data.StructLayout:
    """Counters, modulo 2^counter_bits, in the replay format's order."""
    return data.StructLayout(dict.fromkeys(COUNTERS, params.counter_bits))


def status_layout(params: UnitParams) -> data.StructLayout:
    """State for software to read."""
    return data.StructLayout(
        {
            "running": 1,
            "stopping": 1,
            "sequence_full": 1,
            "npu_busy": 1,
            "task": 1,
            "task_kind": TaskKind,
            "trusted": 1,
            "go_on": 1,
            "index": params.index_bits,
            "llr": params.llr_bits,
            "level": params.queue_depth.bit_length(),
            "committed": params.position_bits,
        }
    )


class ControlSignature(wiring.Signature):
    """The control unit's ports, seen from inside.

    Members
    -------
    token, feedback, result : In(stream)
        Events. Taken one at a time, in the order feedback, token, result.
    task, verify : Out(stream)
        Requests: a header, then tokens, the last one marked.
    commit : Out(stream)
        Committed tokens.
    abort : Out(1)
        High from a flush or stop until the task has ended.
    now : In(32)
        Timebase, ticks; read when an event is taken.
    config, command : In
        From a register block; see :func:`config_layout` and :data:`COMMANDS`.
    counters, status : Out
    error : Out(1)
        Any bit of ``cause``.
    cause : Out
        Sticky, one bit a :class:`~ahasd.models.control.work.Violation`.
    clk_req : Out(1)
        Low when no register can change at the next edge. Rises combinationally with any input.
    """

    def __init__(self, params: UnitParams) -> None:
        self.params = params
        super().__init__(
            {
                "token": In(stream.Signature(token_layout(params))),
                "feedback": In(stream.Signature(feedback_layout(params))),
                "result": In(stream.Signature(result_layout(params))),
                "task": Out(stream.Signature(request_layout(params))),
                "verify": Out(stream.Signature(request_layout(params))),
                "commit": Out(stream.Signature(commit_layout(params))),
                "abort": Out(1),
                "now": In(params.time_bits),
                "config": In(config_layout(params)),
                "command": In(COMMANDS),
                "counters": Out(counters_layout(params)),
                "status": Out(status_layout(params)),
                "error": Out(1),
                "cause": Out(len(Violation)),
                "clk_req": Out(1),
            }
        )

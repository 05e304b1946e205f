"""AHASD's registers."""

from __future__ import annotations

from ahasd.models.control.params import ControlConfig, UnitParams
from ahasd.models.control.unit import COUNTERS
from ahasd.models.control.work import Violation
from ahasd.rtl.registers.description import Access, Field, Register, RegisterMap

__all__ = ["CAUSES", "COUNTER_NAMES", "IDENTIFICATION", "REGISTERS", "TIMES", "config_words"]

IDENTIFICATION = 0x41485344
VERSION = (1, 0)
"""Of the register map: a larger second number adds to it, a larger first number breaks it."""
_P = UnitParams()
_C = ControlConfig()

TIMES = {
    "npu_idle": "no verification runs",
    "pim_idle": "no task is outstanding",
    "pim_draft": "a draft is outstanding",
    "pim_preverify": "a pre-verification is outstanding",
}
"""Tick counter -> when it counts, while a sequence runs."""

COUNTER_NAMES = (*COUNTERS, *TIMES)

CAUSES: dict[str, str] = {
    **{
        violation.name.lower(): text
        for violation, text in {
            Violation.FEEDBACK_UNEXPECTED: "A verdict while no verification runs",
            Violation.FEEDBACK_RANGE: "A verdict accepts more tokens than were issued",
            Violation.TOKEN_UNEXPECTED: "A token without a draft task",
            Violation.RESULT_UNEXPECTED: "A pre-verification result without its task",
            Violation.RESULT_RANGE: "A pre-verification result that contradicts its task or itself",
            Violation.ABORTED_UNEXPECTED: "`aborted` without an abort",
            Violation.COMMAND: "`start` or `clear` while a sequence runs",
            Violation.CONFIGURATION: "A configuration write while a sequence runs, or `start` with a value "
            "out of range",
            Violation.MISSING_LAST: "The last token of a full batch lacks its mark; taken as last",
        }.items()
    },
    "memory_reset": "The memory side has been reset, power-up included",
    "npu_reset": "The NPU side has been reset: the sequence was given up",
    "ranks": "`start` while the rank masks overlap or no draft rank is named; refused",
    "not_ready": "`start` while a reset of the NPU side is dealt with; refused",
}
"""Sticky error -> text, from bit 0 on; the control unit's own come first."""

_STATE = (
    Field("running", 0, 1, "A sequence runs"),
    Field("stopping", 1, 1, "It is being stopped"),
    Field("sequence_full", 2, 1, "32000 tokens are committed: stop, and start a new sequence"),
    Field("npu_busy", 3, 1, "A verification runs"),
    Field("task", 4, 1, "A task is outstanding"),
    Field("task_kind", 5, 1, "0: draft, 1: pre-verification"),
    Field("trusted", 6, 1, "A pre-verification has reported since a batch was last closed"),
    Field("abort", 7, 1, "The task is being aborted"),
    Field("rank_mode", 8, 2, "0: no ranks on, 1: switching, 2: draft ranks on, 3: target ranks on"),
    Field("link_up", 10, 1, "The NPU side is there"),
    Field("recovering", 11, 1, "A reset of the NPU side is being dealt with"),
    Field("llr", 12, _P.llr_bits, "Closed batches"),
    Field("level", 16, _P.queue_depth.bit_length(), "Tokens in the draft queue"),
)

REGISTERS = RegisterMap(
    "AHASD",
    12,
    (
        Register(
            "ID",
            0x000,
            Access.READ_ONLY,
            "Identification",
            (Field("id", 0, 32, '"AHSD"', IDENTIFICATION, constant=True),),
        ),
        Register(
            "VERSION",
            0x004,
            Access.READ_ONLY,
            "Version of this register map",
            (
                Field("minor", 0, 16, "Grows when registers are added", VERSION[1], constant=True),
                Field("major", 16, 16, "Grows when registers change", VERSION[0], constant=True),
            ),
        ),
        Register(
            "SIZES",
            0x008,
            Access.READ_ONLY,
            "What this unit can do at most",
            (
                Field("draft", 0, 8, "max_draft", _P.max_draft, constant=True),
                Field("verify", 8, 8, "verify_max", _P.verify_max, constant=True),
                Field("preverify", 16, 8, "preverify_max", _P.preverify_max, constant=True),
                Field("token_bits", 24, 8, "Bits of a token id", _P.token_bits, constant=True),
            ),
        ),
        Register(
            "CONTROL",
            0x010,
            Access.COMMAND,
            "Commands",
            (
                Field("start", 0, 1, "Start a sequence"),
                Field("stop", 1, 1, "Stop it: abort the task, let the running verification finish"),
                Field("clear", 2, 1, "Reset what was learned and all counters"),
                Field("clear_errors", 3, 1, "Clear ERRORS"),
                Field("snapshot", 4, 1, "Copy all counters to the counter registers"),
            ),
        ),
        Register("STATUS", 0x014, Access.READ_ONLY, "State", _STATE),
        Register(
            "PREDICTION",
            0x018,
            Access.READ_ONLY,
            "EDC",
            (
                Field("index", 0, _P.index_bits, "Index of the latest look-up"),
                Field("go_on", 16, 1, "Its verdict at the close of the latest batch"),
            ),
        ),
        Register(
            "COMMITTED",
            0x01C,
            Access.READ_ONLY,
            "Committed tokens; kept until the next `start`",
            (Field("committed", 0, _P.position_bits, "Tokens of the sequence"),),
        ),
        Register(
            "POLICY",
            0x020,
            Access.CONFIGURATION,
            "Enables and policy",
            (
                Field("edc", 0, 1, "Entropy-history drafting control", int(_C.edc)),
                Field("tvc", 1, 1, "Time-aware pre-verification control", int(_C.tvc)),
                Field(
                    "suppress_preverify",
                    2,
                    1,
                    "Without TVC, a suppressed draft is replaced by: 0 nothing, 1 a pre-verification",
                ),
                Field(
                    "verify_all",
                    3,
                    1,
                    "Verify up to the newest batch, else the oldest only",
                    int(_C.verify_all),
                ),
            ),
        ),
        Register(
            "LIMITS",
            0x024,
            Access.CONFIGURATION,
            "Limits, each at least 1",
            (
                Field("max_draft", 0, _P.max_draft.bit_length(), "Tokens in a batch", _C.max_draft),
                Field("verify_max", 8, _P.verify_max.bit_length(), "Tokens in a verification", _C.verify_max),
                Field(
                    "preverify_max",
                    16,
                    _P.preverify_max.bit_length(),
                    "Tokens in a pre-verification",
                    _C.preverify_max,
                ),
            ),
        ),
        Register(
            "CONTEXT",
            0x028,
            Access.CONFIGURATION,
            "Prompt",
            (Field("context", 0, _P.context_bits, "Prompt tokens, at least 1", _C.context),),
        ),
        Register(
            "PROMPT_TOKEN",
            0x02C,
            Access.CONFIGURATION,
            "Prompt",
            (Field("prompt_token", 0, _P.token_bits, "Id of the last prompt token"),),
        ),
        *(
            Register(
                f"{name.upper()}_PRESET",
                0x030 + 4 * k,
                Access.CONFIGURATION,
                "Cycle-table preset",
                (Field(f"{name}_preset", 0, 32, f"Ticks per {what}, UQ24.8"),),
            )
            for k, (name, what) in enumerate(
                {
                    "npu": "KV entry of a verification",
                    "draft": "drafted token",
                    "preverify": "pre-verified token",
                }.items()
            )
        ),
        Register(
            "RANKS",
            0x03C,
            Access.CONFIGURATION,
            "Which ranks run which model in PIM mode; a bit a rank",
            (
                Field("draft_ranks", 0, 16, "Draft model", 0x3333),
                Field("target_ranks", 16, 16, "Target model", 0xCCCC),
            ),
        ),
        Register(
            "RANK_STATE",
            0x040,
            Access.READ_ONLY,
            "Rank gate",
            (
                Field("rank_enable", 0, 16, "Ranks in PIM mode"),
                Field("rank_busy", 16, 16, "Busy ranks"),
            ),
        ),
        Register(
            "ERRORS",
            0x050,
            Access.READ_ONLY,
            "Sticky errors, cleared by CONTROL.clear_errors",
            tuple(
                Field(name, bit, 1, text, int(name == "memory_reset"))
                for bit, (name, text) in enumerate(CAUSES.items())
            ),
        ),
        Register(
            "INTERRUPT_ENABLE",
            0x054,
            Access.READ_WRITE,
            "Which events raise the interrupt",
            (
                Field("error", 0, 1, "A bit of ERRORS was set"),
                Field("npu_reset", 1, 1, "The NPU side was reset and that has been dealt with"),
                Field("full", 2, 1, "The sequence is full"),
                Field("stopped", 3, 1, "The sequence has ended"),
            ),
        ),
        Register(
            "INTERRUPT_STATUS",
            0x058,
            Access.CLEAR,
            "Events since they were cleared",
            (
                Field("error", 0, 1, "A bit of ERRORS was set"),
                Field("npu_reset", 1, 1, "The NPU side was reset and that has been dealt with"),
                Field("full", 2, 1, "The sequence is full"),
                Field("stopped", 3, 1, "The sequence has ended"),
            ),
        ),
        *(
            Register(
                name.upper(),
                0x080 + 4 * k,
                Access.READ_ONLY,
                (f"Ticks in which {TIMES[name]}" if name in TIMES else f"Counter `{name}`")
                + ", at the latest snapshot",
                (Field(name, 0, 32, "Modulo 2^32"),),
            )
            for k, name in enumerate(COUNTER_NAMES)
        ),
    ),
)


def config_words(config: ControlConfig) -> dict[str, int]:
    """Register name -> word, for a control configuration."""
    values = {**config.to_dict(), "suppress_preverify": config.suppress == "preverify"}
    words = {}
    for register in REGISTERS:
        chosen = {field.name: int(values[field.name]) for field in register.fields if field.name in values}
        if register.access is Access.CONFIGURATION and chosen:
            words[register.name] = register.pack(chosen)
    return words

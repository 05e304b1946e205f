"""The unit's Verilog: ports that integrators rely on, and the same text every time."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys

import pytest
from amaranth.back import verilog

from ahasd.models.control.unit import COUNTERS
from ahasd.rtl import signatures
from ahasd.rtl.control_unit import ControlUnit

from .bench import PARAMS

PORTS = {
    "clk": ("input", 1),
    "rst": ("input", 1),
    "token__payload": ("input", 27),
    "token__valid": ("input", 1),
    "token__ready": ("output", 1),
    "feedback__payload": ("input", 24),
    "feedback__valid": ("input", 1),
    "feedback__ready": ("output", 1),
    "result__payload": ("input", 24),
    "result__valid": ("input", 1),
    "result__ready": ("output", 1),
    "task__payload": ("output", 26),
    "task__valid": ("output", 1),
    "task__ready": ("input", 1),
    "verify__payload": ("output", 26),
    "verify__valid": ("output", 1),
    "verify__ready": ("input", 1),
    "commit__payload": ("output", 19),
    "commit__valid": ("output", 1),
    "commit__ready": ("input", 1),
    "abort": ("output", 1),
    "now": ("input", 32),
    "config": ("input", 148),
    "command": ("input", 5),
    "counters": ("output", 352),
    "status": ("output", 44),
    "error": ("output", 1),
    "cause": ("output", 9),
    "clk_req": ("output", 1),
}

FIELDS = {
    "token": "id 0 18, entropy 18 8, last 26 1",
    "feedback": "accepted 0 6, next 6 18",
    "result": "kind 0 1, passed 1 4, has_fix 5 1, fix 6 18",
    "header": "position 0 17, tokens 17 6",
    "request": "header 0 1, last 1 1, kind 2 1, data 3 23",
    "commit": "token 0 18, last 18 1",
    "config": "edc 0 1, tvc 1 1, suppress_preverify 2 1, verify_all 3 1, max_draft 4 5, verify_max 9 6, "
    "preverify_max 15 4, context 19 15, prompt_token 34 18, npu_preset 52 32, draft_preset 84 32, "
    "preverify_preset 116 32",
    "counters": ", ".join(f"{name} {32 * number} 32" for number, name in enumerate(COUNTERS)),
    "status": "running 0 1, stopping 1 1, sequence_full 2 1, npu_busy 3 1, task 4 1, task_kind 5 1, "
    "trusted 6 1, go_on 7 1, index 8 9, llr 17 3, level 20 8, committed 28 16",
}


def convert() -> str:
    return verilog.convert(ControlUnit(), name="control_unit", strip_internal_attrs=True)


@pytest.fixture(scope="module")
def text() -> str:
    return convert()


def ports_of(text: str) -> dict[str, tuple[str, int]]:
    body = text[text.index("module control_unit(") :].split("endmodule")[0]
    found = {}
    for direction, high, name in re.findall(
        r"^  (input|output) (?:\[(\d+):0\] )?\\?([\w.]+) ?;", body, flags=re.MULTILINE
    ):
        found[name] = (direction, int(high or 0) + 1)
    return found


def test_ports(text: str) -> None:
    assert ports_of(text) == PORTS


@pytest.mark.parametrize("port", FIELDS)
def test_fields(port: str) -> None:
    layout = getattr(signatures, f"{port}_layout")(PARAMS)
    assert ", ".join(f"{name} {field.offset} {field.width}" for name, field in layout) == FIELDS[port]


def test_command_bits() -> None:
    names = [name for name, _ in sorted(signatures.COMMANDS, key=lambda item: item[1].offset)]
    assert names == ["start", "stop", "clear", "clear_errors", "config_write"]


def test_one_read_and_one_write_port_on_the_token_memory(text: str) -> None:
    body = next(part for part in text.split("endmodule") if "module \\control_unit.draft_queue (" in part)
    memory = re.search(r"reg \[17:0\] (\S+) \[127:0\];", body)
    assert memory is not None
    name = re.escape(memory[1])
    assert len(re.findall(rf"{name} ?\[.*\] <=", body)) == 1
    assert len(re.findall(rf"<= {name} ?\[", body)) == 1


@pytest.mark.parametrize("seed", ["0", "77"])
def test_the_same_text_every_time(text: str, seed: str) -> None:
    script = (
        "import hashlib\n"
        "from amaranth.back import verilog\n"
        "from ahasd.rtl.control_unit import ControlUnit\n"
        "text = verilog.convert(ControlUnit(), name='control_unit', strip_internal_attrs=True)\n"
        "print(hashlib.sha256(text.encode()).hexdigest())\n"
    )
    environment = os.environ | {"PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == hashlib.sha256(text.encode()).hexdigest()
    assert text == convert()

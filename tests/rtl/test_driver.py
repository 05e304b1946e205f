"""The C driver, compiled, on the register block in the simulator behind a pipe."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import IO, Any

import pytest

from ahasd.models.control.params import ControlConfig
from ahasd.rtl.registers.ahasd_map import REGISTERS
from ahasd.rtl.registers.control import ControlRegisters
from ahasd.rtl.registers.generate import DRIVER

from .axi import OKAY, Manager
from .bench import idle, simulate

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include "ahasd_driver.h"

static uint32_t read_word(void *context, uint32_t offset) {
    (void)context;
    unsigned word;
    printf("r %x\n", (unsigned)offset);
    fflush(stdout);
    if (scanf("%x", &word) != 1) exit(2);
    return word;
}

static void write_word(void *context, uint32_t offset, uint32_t word) {
    (void)context;
    unsigned done;
    printf("w %x %x\n", (unsigned)offset, (unsigned)word);
    fflush(stdout);
    if (scanf("%x", &done) != 1) exit(2);
}

static void says(const char *what, int result) { printf("= %s %d\n", what, result); }

int main(void) {
    struct ahasd_bus bus = {read_word, write_word, NULL};
    struct ahasd_config config = {
        .edc = true, .verify_all = false, .tvc = true, .max_draft = 5, .verify_max = 32, .preverify_max = 8,
        .context = 77, .prompt_token = 4242, .npu_preset = 1, .draft_preset = 0x80000000u,
        .preverify_preset = 3,
        .draft_ranks = 0x00ff, .target_ranks = 0xff00};
    uint32_t counters[AHASD_COUNTERS];
    says("init", ahasd_init(&bus, 5));
    says("start", ahasd_start(&bus, &config));
    says("again", ahasd_start(&bus, &config));
    ahasd_counters(&bus, counters);
    for (unsigned k = 0; k < AHASD_COUNTERS; k++) says("counter", (int)counters[k]);
    says("stop", ahasd_stop(&bus, 3));
    says("reset", 0);
    says("resume", ahasd_resume(&bus, &config, 99, 50));
    says("events", (int)ahasd_acknowledge(&bus));
    says("ended", 0);
    config.target_ranks = 0x80ff;
    says("overlap", ahasd_start(&bus, &config));
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("driver")
    (folder / "main.c").write_text(MAIN)
    command = [
        str(CC),
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wconversion",
        "-Werror",
        f"-I{DRIVER}",
    ]
    done = subprocess.run(
        [*command, "main.c", str(DRIVER / "ahasd_driver.c"), "-o", "driver"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "driver"


@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_driver_on_the_simulated_registers(program: Path) -> None:
    dut = ControlRegisters()
    said: list[tuple[str, int]] = []

    async def bench(ctx: Any) -> None:
        bus = Manager(ctx, dut.axi)
        with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            await serve(ctx, bus, child.stdin, child.stdout)
            assert child.wait(10) == 0

    async def serve(ctx: Any, bus: Manager, answers: IO[str], requests: IO[str]) -> None:
        for line in requests:
            kind, *words = line.split()
            word = 0
            if kind == "=":
                said.append((words[0], int(words[1])))
                await happens(ctx, words[0])
                continue
            if kind == "r":
                response, word = await bus.read(int(words[0], 16))
            else:
                response = await bus.write(int(words[0], 16), int(words[1], 16))
                control = REGISTERS["CONTROL"].unpack(int(words[1], 16))
                if int(words[0], 16) == REGISTERS["CONTROL"].offset and control["start"]:
                    ctx.set(dut.status.running, not ctx.get(dut.ranks_overlap))
                    await idle(ctx, 2)
            assert response == OKAY
            overlap = ctx.get(dut.draft_ranks) & ctx.get(dut.target_ranks)
            ctx.set(dut.ranks_overlap, bool(overlap))
            answers.write(f"{word:x}\n")
            answers.flush()

    async def happens(ctx: Any, after: str) -> None:
        """What the unit does meanwhile."""
        match after:
            case "start":
                assert ctx.get(dut.config.max_draft) == 5
                assert ctx.get(dut.config.prompt_token) == 4242
                assert ctx.get(dut.config.draft_preset) == 1 << 31
                assert not ctx.get(dut.config.verify_all)
                ctx.set(dut.status.committed, 12)
                ctx.set(dut.counters.tokens, 40)
                await idle(ctx, 2)
            case "reset":
                ctx.set(dut.npu_reset, 1)
                await idle(ctx, 1)
                ctx.set(dut.npu_reset, 0)
                ctx.set(dut.status.running, 0)
                ctx.set(dut.recovered, 1)
                await idle(ctx, 1)
                ctx.set(dut.recovered, 0)
                await idle(ctx, 2)
            case "resume":
                assert ctx.get(dut.config.context) == 77 + 12
                assert ctx.get(dut.config.prompt_token) == 99
            case "ended":
                ctx.set(dut.status.running, 0)
                await idle(ctx, 3)

    simulate(dut, bench)
    counters = [value for what, value in said if what == "counter"]
    assert len(counters) == 15
    assert counters[9] == 40
    rest = {what: value for what, value in said if what != "counter"}
    assert rest == {
        "init": 0, "start": 0, "again": -2, "stop": -4, "reset": 0, "resume": 0, "events": 1 | 2 | 8,
        "ended": 0, "overlap": -3,
    }  # fmt: skip


def test_header_matches_python() -> None:
    text = (DRIVER / "ahasd_registers.h").read_text()
    for name in ("ERRORS", "COMMITTED"):
        assert f"#define AHASD_{name} {REGISTERS[name].offset:#05x}u\n" in text
    assert f"#define AHASD_POLICY_RESET {REGISTERS['POLICY'].reset:#010x}u\n" in text
    assert REGISTERS["POLICY"].reset & 1 == ControlConfig().edc

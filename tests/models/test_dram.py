"""The DRAM engine: every trace is checked against the tables by a checker that shares no code with it."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from ahasd.models.dram import (
    PATTERNS,
    Controller,
    DramSpec,
    Organisation,
    Request,
    dram_of_platform,
    list_dram,
    load_dram,
    stream,
    write_trace,
)
from ahasd.models.dram.controller import Command
from ahasd.models.dram.expression import evaluate
from ahasd.models.dram.spec import standard_of
from ahasd.models.dram.timing import Timing
from ahasd.models.errors import ConfigError
from ahasd.models.platform import load_platform, with_overrides


def check_trace(spec: DramSpec, trace: list[Command], wanted: list[Request], *, drained: bool = True) -> None:
    """One command a clock, all constraints, rows open as they must be, each request served once."""
    org, standard = spec.organisation, spec.standard
    clocks = [command.clock for command in trace]
    assert clocks == sorted(set(clocks))
    assert clocks[0] >= 1

    def node(scope: str, bank: int) -> int:
        rank = bank // org.banks if bank >= 0 else -1 - bank
        return {
            "channel": 0,
            "rank": rank,
            "other-ranks": rank,
            "group": bank // org.banks_per_group,
            "bank": bank,
        }[scope]

    for constraint in standard.constraints:
        distance = spec.clocks(constraint)
        seen: dict[int, list[int]] = defaultdict(list)
        for clock, name, bank, _, _ in trace:
            if constraint.scope in ("group", "bank") and bank < 0:
                continue
            place = node(constraint.scope, bank)
            if name == constraint.later:
                if constraint.scope == "other-ranks":
                    before = [s for rank, s in seen.items() if rank != place]
                else:
                    before = [seen[place]] if place in seen else []
                for past in before:
                    if len(past) >= constraint.window:
                        assert clock >= past[-constraint.window] + distance, (constraint, clock)
            if name == constraint.earlier:
                seen[place].append(clock)

    rows: dict[int, int] = {}
    half: tuple[int, int, int] | None = None
    served = []
    for clock, name, bank, row, column in trace:
        if name == standard.activate[0]:
            assert half is None
            assert bank not in rows
            if len(standard.activate) > 1:
                half = (clock, bank, row)
            else:
                rows[bank] = row
        elif name == standard.activate[-1]:
            assert half is not None
            assert half[1:] == (bank, row)
            assert clock - half[0] <= spec["AAD"]
            rows[bank], half = row, None
        elif name in ("RD", "WR"):
            assert rows[bank] == row
            served.append(Request(bank, row, column, name == "WR"))
        elif name == standard.precharge:
            del rows[bank]
        elif name == standard.precharge_all:
            rank = -1 - bank
            assert half is None or half[1] // org.banks != rank
            rows = {b: r for b, r in rows.items() if b // org.banks != rank}
        elif name == "REFab":
            assert all(b // org.banks != -1 - bank for b in rows)
            assert half is None or half[1] // org.banks != -1 - bank
        else:
            assert name == "REFpb"
            assert bank not in rows
    if drained:
        assert sorted(served) == sorted(wanted)


@pytest.mark.parametrize("refresh", ["none", "all", "bank"])
@pytest.mark.parametrize("pattern", sorted(PATTERNS))
@pytest.mark.parametrize("preset", ["lpddr5-6400", "hbm2-pim", "ahasd"])
def test_traces_keep_every_constraint(preset: str, pattern: str, refresh: str) -> None:
    spec = load_dram(preset).with_timing(REFI=1200, REFIpb=250)
    count = 60 if pattern in ("conflict", "sequential") else 250
    for write in (False, True):
        trace: list[Command] = []
        found = stream(spec, pattern, count, write=write, refresh=refresh, seed=3, trace=trace)
        wanted = list(PATTERNS[pattern](spec.organisation, count, write, 3))
        check_trace(spec, trace, wanted)
        assert sum(found.commands.values()) == len(trace)


@pytest.mark.parametrize("parameter", ["RCD", "RP", "RAS", "CCD_L", "WTR_L", "FAW", "RFCab"])
def test_the_checker_sees_a_clock_too_few(parameter: str) -> None:
    spec = load_dram("lpddr5-6400").with_timing(REFI=500)
    wanted = list(PATTERNS["random"](spec.organisation, 200, False, 1))
    wanted = [request._replace(bank=request.bank % 4, write=i % 3 == 0) for i, request in enumerate(wanted)]
    wanted += PATTERNS["banks"](spec.organisation, 200, False, 1)
    controller = Controller(spec, refresh="all")
    controller.trace = []
    controller.run(wanted)
    check_trace(spec, controller.trace, wanted)
    stricter = spec.with_timing(**{parameter: spec[parameter] + 1})
    with pytest.raises(AssertionError):
        check_trace(stricter, controller.trace, wanted)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("in_order", [False, True])
def test_mixed_reads_and_writes(seed: int, in_order: bool) -> None:
    spec = load_dram("ahasd")
    draw = random.Random(seed)
    banks = draw.choice([2, 5, 64])
    wanted = [
        Request(draw.randrange(banks), draw.randrange(3), draw.randrange(64), draw.random() < 0.4)
        for _ in range(500)
    ]
    controller = Controller(spec, refresh="all", in_order=in_order, window=draw.choice([1, 4, 32]))
    controller.trace = []
    controller.run(wanted)
    check_trace(spec, controller.trace, wanted)
    accesses = [c for c in controller.trace if c.name in ("RD", "WR")]
    served = [Request(c.bank, c.row, c.column, c.name == "WR") for c in accesses]
    if in_order:
        assert served == wanted
    for bank in range(banks):
        for row in range(3):
            same = [r for r in wanted if (r.bank, r.row) == (bank, row)]
            assert [r for r in served if (r.bank, r.row) == (bank, row)] == same


def test_a_constraint_binds_to_the_clock() -> None:
    """Each constraint of each standard: not allowed one clock before, allowed at it."""
    for preset in ("lpddr5-6400", "hbm2-pim"):
        spec = load_dram(preset)
        spec = DramSpec(
            name="two ranks",
            standard=spec.standard,
            organisation=Organisation(
                ranks=2, bank_groups=4, banks_per_group=4, rows=8, columns=8, access_bytes=32
            ),
            tck_ps=spec.tck_ps,
            timing=spec.timing,
        )
        places = {"channel": 31, "rank": 15, "other-ranks": 31, "group": 3, "bank": 0}
        for constraint in spec.standard.constraints:
            timing = Timing(spec)
            first, second = timing.command[constraint.earlier], timing.command[constraint.later]
            for number in range(constraint.window):
                timing.issue(first, 0, 1000 + number)
            bank = places[constraint.scope]
            wider = [
                spec.clocks(c)
                for c in spec.standard.constraints
                if (c.earlier, c.later) == (constraint.earlier, constraint.later)
                and c.window == 1
                and (c.scope == "channel" or (c.scope == "other-ranks") == (bank >= 16))
                and places[c.scope] >= bank
            ]
            ready = timing.ready(second, bank)
            if constraint.window > 1:
                assert ready >= 1000 + spec.clocks(constraint)
            else:
                assert ready == 1000 + max(wider), constraint


def test_faw_binds_after_four_activations() -> None:
    spec = load_dram("lpddr5-6400").with_timing(FAW=40)
    trace: list[Command] = []
    stream(spec, "banks", 6, trace=trace)
    acts = [c.clock for c in trace if c.name == "ACT1"]
    assert acts == [1, 5, 9, 13, 41, 45]


def test_second_activation_waits_for_reads_until_its_deadline() -> None:
    """Reads each clock (no standard has that) hold it off for AAD clocks, not longer."""
    spec = load_dram("lpddr5-6400").with_timing(CCD_S=1, CCD_L=1, BL=1, BL_L=1)
    wanted = (
        [Request(0, 0, i) for i in range(40)] + [Request(4, 0, 0)] + [Request(0, 0, i) for i in range(40)]
    )
    controller = Controller(spec)
    controller.trace = []
    controller.run(wanted)
    first, second = (
        next(c.clock for c in controller.trace or [] if c.name == n and c.bank == 4) for n in ("ACT1", "ACT2")
    )
    assert second - first == spec["AAD"]


def test_refresh_interval_and_kinds() -> None:
    spec = load_dram("lpddr5-6400")
    for refresh, command, interval in (("all", "REFab", 3125), ("bank", "REFpb", 391)):
        trace: list[Command] = []
        found = stream(spec, "rotate", 12000, refresh=refresh, trace=trace)
        clocks = [c.clock for c in trace if c.name == command]
        assert len(clocks) == found.commands[command] == (found.cycles - 30) // interval
        assert all(0 <= clock - (i + 1) * interval < 260 for i, clock in enumerate(clocks))
    none = stream(spec, "rotate", 12000).cycles
    every, each = (stream(spec, "rotate", 12000, refresh=r).cycles for r in ("all", "bank"))
    assert none < each < every


def test_density_changes_refresh_only() -> None:
    small, large = load_dram("lpddr5-6400"), load_dram("lpddr5-6400-16gb")
    assert large.organisation.rank_bytes == 2 * small.organisation.rank_bytes == 16 << 27
    assert stream(small, "rotate", 999).cycles == stream(large, "rotate", 999).cycles
    difference = stream(large, "same-row", 999, refresh="all").cycles
    difference -= stream(small, "same-row", 999, refresh="all").cycles
    assert difference == 224 - 168


def test_platform_memory_follows_overrides() -> None:
    platform = load_platform("ahasd")
    assert dram_of_platform(platform) == load_dram("ahasd")
    slower = dram_of_platform(with_overrides(platform, {"platform.dram.trcd": 40}))
    assert stream(slower, "same-row", 1).cycles - stream(load_dram("ahasd"), "same-row", 1).cycles == 8
    assert load_dram("ahasd").organisation.rank_bytes == platform.dram.rank_bytes
    jedec = dram_of_platform(load_platform("lpddr5-6400"))
    published = load_dram("lpddr5-6400-16gb")
    # The platform takes the slower all-bank precharge throughout.
    different = {name for name, value in jedec.timing if published[name] != value}
    assert different == {"RP", "RC", "REFIpb"}


def test_bus_bound_stream_reaches_the_pins() -> None:
    found = stream(load_dram("lpddr5-6400"), "rotate", 8192)
    assert found.bandwidth_gbps == pytest.approx(12.8, rel=0.01)


def test_a_standard_is_a_table() -> None:
    """A memory without bank groups, made up here, runs and is checked like the others."""
    names = ["CL", "CWL", "BL", "RCD", "RP", "RAS", "RC", "CCD", "REFI", "REFIpb", "RFC"]
    table = {
        "activate": ["ACT"],
        "precharge": "PRE",
        "precharge_all": "PREA",
        "parameters": names,
        "constraints": [
            ["rank", "RD WR", "RD WR", "max(CCD, BL) + 2 * 1"],
            ["bank", "ACT", "RD WR", "RCD"],
            ["bank", "ACT", "PRE", "RAS"],
            ["bank", "ACT", "ACT", "RC"],
            ["bank", "RD WR", "PRE", "CL + BL"],
            ["rank", "RD WR", "PREA", "CL + BL"],
            ["rank", "ACT", "PREA", "RAS"],
            ["bank", "PRE", "ACT", "RP"],
            ["rank", "PRE PREA", "REFab ACT", "RP"],
            ["rank", "REFab", "ACT", "RFC"],
        ],
    }
    timing = zip(names, [11, 8, 4, 11, 11, 28, 39, 4, 6240, 999, 208], strict=True)
    spec = DramSpec(
        name="sdr",
        standard=standard_of("sdr", table),
        organisation=Organisation(
            ranks=1, bank_groups=1, banks_per_group=8, rows=64, columns=128, access_bytes=64
        ),
        tck_ps=1250,
        timing=tuple(timing),
    )
    trace: list[Command] = []
    assert stream(spec, "same-row", 10).cycles == 1 + 11 + 9 * 6 + 11 + 4
    stream(spec, "random", 2000, refresh="all", trace=trace)
    check_trace(spec, trace, list(PATTERNS["random"](spec.organisation, 2000, False, 0)))


def test_trace_file(tmp_path) -> None:
    spec = load_dram("lpddr5-6400")
    trace: list[Command] = []
    stream(spec, "rotate", 1600, refresh="all", trace=trace)
    write_trace(tmp_path / "t", spec, trace)
    lines = (tmp_path / "t").read_text().splitlines()
    assert lines[1:3] == ["1 ACT1 0 0 0 0 -", "2 ACT2 0 0 0 0 -"]
    assert len(lines) == len(trace) + 1
    assert any(line.split()[1:] == ["REFab", "0", "-", "-", "-", "-"] for line in lines)
    with pytest.raises(ConfigError, match="cannot be written"):
        write_trace(tmp_path, spec, trace)


def test_mistakes_are_named(tmp_path) -> None:
    spec = load_dram("lpddr5-6400")
    assert "ahasd" in list_dram()
    with pytest.raises(ConfigError, match="unknown; near: lpddr5-6400"):
        load_dram("lpddr5-640")
    with pytest.raises(ConfigError, match="pattern: 'rotated' is unknown; near: rotate"):
        stream(spec, "rotated", 1)
    with pytest.raises(ConfigError, match="count: 0 must be at least 1"):
        stream(spec, "rotate", 0)
    with pytest.raises(ConfigError, match="window: 0 must be at least 1"):
        stream(spec, "rotate", 1, window=0)
    with pytest.raises(ConfigError, match="refresh: 'some' must be one of none, all, bank"):
        stream(spec, "rotate", 1, refresh="some")
    with pytest.raises(ConfigError, match=r"timing\.tRCD: unknown to lpddr5; near: RCD"):
        spec.with_timing(tRCD=3)
    with pytest.raises(ConfigError, match=r"timing\.RCD: -3 must be an integer"):
        spec.with_timing(RCD=-3)
    with pytest.raises(ConfigError, match="lacks FAW"):
        DramSpec(
            name="x",
            standard=spec.standard,
            organisation=spec.organisation,
            tck_ps=1,
            timing=tuple(t for t in spec.timing if t[0] != "FAW"),
        )
    with pytest.raises(ConfigError, match="'RCD / 2': expected integers"):
        evaluate("RCD / 2", {"RCD": 4})
    with pytest.raises(ConfigError, match="RCX is no parameter"):
        evaluate("max(RCX, 2)", {"RCD": 4})
    (tmp_path / "bad.toml").write_text('standard = "ddr9"\n[organisation]\n[timing]\n')
    with pytest.raises(ConfigError, match="standard: 'ddr9' is unknown"):
        load_dram(tmp_path / "bad.toml")
    (tmp_path / "worse.toml").write_text("standard = 3 =")
    with pytest.raises(ConfigError, match="not TOML"):
        load_dram(tmp_path / "worse.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_dram(tmp_path / "none.toml")
    base = {
        "activate": ["ACT"], "precharge": "PRE", "precharge_all": "PREA", "parameters": ["CL"]
    }  # fmt: skip
    for constraint, message in (
        (["bank", "ACT", "PREX", "CL"], "PREX is no command"),
        (["row", "ACT", "PRE", "CL"], "scope 'row' must be one of"),
        (["bank", "ACT", "PRE", "CWL"], "CWL is no parameter"),
        (["bank", "ACT", "ACT", "CL", 4], "a window is for scope rank"),
    ):
        with pytest.raises(ConfigError, match=message):
            standard_of("x", {**base, "constraints": [constraint]})

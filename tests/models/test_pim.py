"""PIM kernels: programs, sequencer, placement, abort. Cycle counts of peers: test_validation.py."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from ahasd.models.dram import load_dram
from ahasd.models.errors import ConfigError
from ahasd.models.first_order.dram import Streams
from ahasd.models.pim import (
    PimSpec,
    Placement,
    attention,
    check_fit,
    elementwise,
    gemv,
    list_pim,
    load_pim,
    pim_of_platform,
    schedule_gemv,
)
from ahasd.models.pim.execution import run_lanes
from ahasd.models.pim.lane import Lane
from ahasd.models.pim.program import Op, elementwise_program, gemv_program
from ahasd.models.platform import load_platform, with_overrides

PRESETS = ["ahasd", "hbm2-pim", "lp5-like", "lp5-pim"]


def lane_of(spec: PimSpec, program: list[Op], in_sets: bool, **options: object) -> Lane:
    lane = Lane(spec, program, in_sets=in_sets, record=True, **options)  # type: ignore[arg-type]
    run_lanes([lane])
    return lane


def events(lane: Lane) -> list[tuple[int, str, int, int]]:
    """Clock, command, bank, row of everything."""
    return sorted(
        (clock, name, bank, row) for name, bank, row, _, clocks in lane.steps or [] for clock in clocks
    )


def random_program(spec: PimSpec, seed: int) -> list[Op]:
    draw = random.Random(seed)
    return [
        Op(
            draw.choice(["RD", "RD", "WR"]),
            draw.randrange(len(spec.sets)),
            draw.randrange(3),
            draw.choice([1, 2, 8, 31, 64]),
            draw.choice([0, 0, 9]),
            close=draw.random() < 0.2,
        )
        for _ in range(60)
    ]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("refresh", [False, True])
@pytest.mark.parametrize("lookahead", [1, 32])
def test_runs_of_commands_are_exact(preset: str, seed: int, refresh: bool, lookahead: int) -> None:
    """Command by command and run by run: every command at the same clock."""
    spec = replace(load_pim(preset), lookahead=lookahead)
    spec = replace(spec, dram=spec.dram.with_timing(REFI=900))
    program = random_program(spec, seed)
    whole = lane_of(spec, program, True, refresh=refresh)
    for length in (1, 5):
        single = lane_of(spec, program, True, refresh=refresh, run_length=length)
        assert events(single) == events(whole)
        assert single.commands == whole.commands
        assert single.passed == whole.passed
    assert (whole.commands["REF"] > 3) == refresh


@pytest.mark.parametrize("preset", ["hbm2-pim", "lp5-like"])
@pytest.mark.parametrize("refresh", [False, True])
def test_runs_of_commands_are_exact_in_kernels(preset: str, refresh: bool) -> None:
    spec = load_pim(preset)
    programs = [
        lambda: gemv_program(spec, 128, 640, 1),
        lambda: elementwise_program(spec, 20_000, 2),
        lambda: elementwise_program(spec, 5_000, 1),
    ]
    for program in programs:
        whole = lane_of(spec, list(program()), False, refresh=refresh)
        single = lane_of(spec, list(program()), False, refresh=refresh, run_length=1)
        assert events(single) == events(whole)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seed", range(4))
def test_commands_keep_the_constraints(preset: str, seed: int) -> None:
    """Of banks (here: sets) and ranks, one command a clock, no rank command within a refresh."""
    spec = replace(load_pim(preset), lookahead=32)
    spec = replace(spec, dram=spec.dram.with_timing(REFI=900))
    lane = lane_of(spec, random_program(spec, seed), True, refresh=True)
    dram, standard = spec.dram, spec.dram.standard
    names = {"ACT": standard.activate[0], "PRE": standard.precharge, "REF": "REFab"}
    trace = [(clock, names.get(name, name), bank, row) for clock, name, bank, row in events(lane)]
    assert len({clock for clock, *_ in trace}) == len(trace)
    for constraint in standard.constraints:
        if constraint.window > 1 or constraint.scope in ("channel", "other-ranks"):
            continue
        last: dict[int, int] = {}
        for clock, name, bank, _ in trace:
            # Any two sets share every bank group.
            place = bank if constraint.scope == "bank" else 0
            if name == constraint.later and place in last:
                assert clock - last[place] >= dram.clocks(constraint), constraint
            if name == constraint.earlier:
                last[place] = clock
    opened: dict[int, int] = {}
    for _, name, bank, row in trace:
        if name == standard.activate[0]:
            assert bank not in opened
            opened[bank] = row
        elif name == standard.precharge:
            del opened[bank]
        elif name == "REFab":
            assert not opened
        else:
            assert opened[bank] == row
    assert not opened


def test_columns_issue_in_program_order_and_refresh_keeps_its_rate() -> None:
    spec = load_pim("ahasd")
    program = random_program(spec, 9)
    lane = lane_of(spec, program, True, refresh=True)
    starts = [clocks[0] for *_, clocks in lane.steps or []]
    assert starts == sorted(starts)
    steps = [(name, row) for name, _, row, _, _ in lane.steps or [] if name in ("RD", "WR")]
    assert steps == [(op.kind, op.row) for op in program]
    found = gemv("ahasd", 4096, 4096)
    assert found.commands["REF"] == found.cycles // spec.dram["REFI"]


@pytest.mark.parametrize(("rows", "cols"), [(64, 128), (1, 1), (65, 128), (200, 700), (128, 4096), (64, 384)])
@pytest.mark.parametrize("preset", ["hbm2-pim", "lp5-like"])
def test_commands_of_a_tiled_gemv(preset: str, rows: int, cols: int) -> None:
    """Counted from the program's description: 64 reads and 8 writes a tile, 8 + 2 writes an output tile."""
    outputs, inputs = -(-rows // 64), -(-cols // 128)
    found = gemv(preset, rows, cols, refresh=False)
    assert found.commands["RD"] == 64 * outputs * inputs + 32
    assert found.commands["WR"] == outputs * (8 * inputs + 10) + 7
    assert found.commands["ACT"] == found.commands["PRE"]
    columns = load_pim(preset).dram.organisation.columns
    assert found.commands["ACT"] >= outputs * inputs * (1 + 64 // columns) + 32 + 6


def test_a_tile_more_costs_what_the_peers_say() -> None:
    """Slopes, from any size on: peers.toml has them for one output tile."""
    for preset, pair, block in (("hbm2-pim", 729, 2994), ("lp5-like", 700, 2897)):
        cycles = {n: gemv(preset, 64, 256 * n, refresh=False).cycles for n in (1, 2, 5, 9)}
        assert cycles[2] - cycles[1] == pair
        assert cycles[9] - cycles[5] == 4 * pair
        blocks = [gemv(preset, 64 * n, 1024, refresh=False).cycles for n in (3, 4, 11)]
        assert blocks[1] - blocks[0] == block
        assert blocks[2] - blocks[1] == 7 * block


def test_elementwise_commands() -> None:
    for preset in ("hbm2-pim", "lp5-like"):
        for operation, operands in (("add", 2), ("relu", 1)):
            found = elementwise(preset, operation, 10_000)
            assert found.commands["RD"] == 10 * 8 * operands + 32
            assert found.commands["WR"] == 10 * 8 + 9


def test_placement_gives_each_weight_a_place_of_its_own() -> None:
    for preset, rows, cols, ranks in (
        ("hbm2-pim", 130, 300, 2),
        ("lp5-like", 64, 384, 1),
        ("ahasd", 24, 640, 4),
    ):
        spec = load_pim(preset)
        placement = Placement(spec, rows, cols, ranks)
        places = Counter(placement.locate(row, col) for row in range(rows) for col in range(cols))
        elements = spec.set_bytes // spec.element_bytes
        assert max(places.values()) == elements
        org = spec.dram.organisation
        for rank, place, row, column in places:
            assert rank < ranks
            assert place < len(spec.sets)
            assert row < placement.bank_rows
            assert column < org.columns


def test_placement_is_what_the_kernel_reads() -> None:
    """Rows and columns that the program reads are those of the weights."""
    for preset, rows, cols in (("hbm2-pim", 64, 512), ("lp5-like", 128, 256), ("ahasd", 64, 512)):
        spec = load_pim(preset)
        ranks = 1
        placement = Placement(spec, rows, cols, ranks)
        wanted = {placement.locate(row, col)[1:] for row in range(rows) for col in range(cols)}
        _, execution = schedule_gemv(spec, rows, cols, 1, ranks, False, gather=False)
        first = spec.dram.organisation.banks
        read = {
            (bank - first, row, column + index)
            for name, bank, row, column, clocks in execution.steps
            if name == "RD" and bank >= first
            for index in range(len(clocks))
        }
        assert read == wanted


def test_capacity() -> None:
    spec = load_pim("hbm2-pim")
    fits = Placement(spec, 64 * 1000, 128 * 16, 1)
    check_fit(fits)
    with pytest.raises(ConfigError, match="rows of each bank, which has 16384"):
        gemv(spec, 64 * 1024, 128 * 16)
    with pytest.raises(ConfigError, match="on 8 ranks takes"):
        gemv("ahasd", 200_000, 200_000)
    gemv("ahasd", 64, 64, ranks=16)
    with pytest.raises(ConfigError, match="ranks: 17 must be at most the 16"):
        gemv("ahasd", 64, 64, ranks=17)
    with pytest.raises(ConfigError, match=r"elements: .* rows of each bank"):
        elementwise(spec, "add", 1 << 27)


def test_vectors_are_free_until_the_macs_take_longer() -> None:
    """51.2 GMAC/s a unit against 64 B a 3.75 ns: three vectors, then proportional."""
    weights = {n: gemv("ahasd", 4096, 1024, n).phases["weights"] for n in (1, 2, 3, 4, 8, 16)}
    assert weights[1] == weights[2] == weights[3] < weights[4]
    read = 4096 * 1024 // 8 // 64
    for n in (4, 8, 16):
        assert weights[n] >= read * 2 * n
    assert weights[16] / weights[8] == pytest.approx(2, rel=0.1)


def test_a_rank_share_does_not_depend_on_how_many_ranks() -> None:
    one = gemv("ahasd", 512, 1024, ranks=1)
    eight = gemv("ahasd", 4096, 1024, ranks=8)
    assert one.phases["weights"] == eight.phases["weights"]
    assert eight.bandwidth_gbps > 7.9 * one.bandwidth_gbps * one.cycles / eight.cycles
    # Two ranks of a channel answer one after the other.
    assert eight.phases["gather"] > 1.5 * one.phases["gather"]


def test_near_the_roofline_and_first_order() -> None:
    platform = load_platform("ahasd")
    streams = Streams(platform)
    for rows, cols in ((4096, 1024), (4096, 4096), (13824, 5120)):
        found = gemv(platform, rows, cols)
        weights = found.phases["weights"] * platform.dram.tck_ps
        first_order = streams.unit_ps(rows * cols // 8, 1)
        assert 1 <= weights / first_order < 1.03
        assert 0.7 < found.bandwidth_gbps / (8 * streams.unit_peak) < 0.8


def test_opening_rows_ahead_would_hide_them() -> None:
    """Sets in turn with look-ahead: only refresh is left."""
    spec = replace(load_pim("ahasd"), lookahead=65)
    program = [Op("RD", i % 8, i // 8, 64) for i in range(256)]
    ahead = lane_of(spec, program, True, refresh=False)
    assert ahead.passed <= 256 * 64 * 6 + 150


def test_inputs_longer_than_the_buffer_come_in_parts() -> None:
    small = replace(load_pim("ahasd"), input_buffer_bytes=1024)
    whole, parts = gemv("ahasd", 4096, 4096), gemv(small, 4096, 4096)
    assert parts.commands["RD"] == whole.commands["RD"]
    assert parts.commands["WR"] == whole.commands["WR"]
    assert parts.cycles == pytest.approx(whole.cycles, rel=0.01)
    assert gemv("ahasd", 4096, 4096, broadcast=False).commands.get("WR", 0) == 0


def test_host_sequencer_shares_the_bus() -> None:
    """Two ranks a channel on one command bus: nearly as fast, never faster; four ranks, a little slower."""
    device = load_pim("ahasd")
    host = replace(device, sequencer="host")
    for ranks in (8, 16):
        own, shared = (gemv(spec, 128 * ranks, 1024, ranks=ranks) for spec in (device, host))
        assert own.cycles <= shared.cycles < 1.02 * own.cycles
        assert own.commands["RD"] == shared.commands["RD"]
    busy = replace(host, channels=1)
    assert gemv(busy, 1024, 1024, ranks=16).cycles > 1.5 * gemv(device, 1024, 1024, ranks=16).cycles


def test_attention_reads_keys_and_values_once() -> None:
    shape = {"heads": 32, "kv_heads": 32, "head_dim": 128}
    one = attention("ahasd", kv_len=1024, **shape)
    assert one.bytes == 2 * 1024 * 4096
    assert sum(one.phases.values()) == one.cycles
    longer = attention("ahasd", kv_len=4096, **shape)
    assert longer.phases["values"] / one.phases["values"] == pytest.approx(4, rel=0.02)
    grouped = attention("ahasd", kv_len=1024, heads=32, kv_heads=4, head_dim=128)
    assert grouped.bytes == one.bytes // 8
    # Eight heads share what is read: their MACs decide.
    assert grouped.phases["scores"] > one.phases["scores"] / 8 * 2
    with pytest.raises(ConfigError, match="multiple of kv_heads"):
        attention("ahasd", kv_len=1024, heads=32, kv_heads=5, head_dim=128)
    assert attention("hbm2-pim", kv_len=64, heads=1, kv_heads=1, head_dim=128).cycles > 0


def test_abort_at_a_command_boundary() -> None:
    found, execution = schedule_gemv("ahasd", 1024, 1024)
    boundaries = execution.boundaries()
    assert len(boundaries) == sum(found.commands.values())
    dram, spec = execution.spec.dram, execution.spec
    longest = dram["RCD"] + dram["RAS"] + dram["RP"] + dram["RFCab"] + spec.switch_ps // dram.tck_ps + 64
    for clock in [0, *boundaries[::97], found.cycles - 1]:
        free = execution.abort_at(clock)
        assert clock <= free <= clock + longest
    assert execution.abort_at(found.cycles) == found.cycles
    assert execution.abort_at(found.cycles + 9) == found.cycles
    refresh = next(clock for clock, name, *_ in execution.commands() if name == "REF")
    assert execution.abort_at(refresh + 1) >= refresh + dram["RFCab"]
    with pytest.raises(ConfigError, match="abort: -1"):
        execution.abort_at(-1)


def test_trace_of_a_kernel(tmp_path) -> None:
    found, execution = schedule_gemv("hbm2-pim", 64, 128)
    execution.write(tmp_path / "t")
    lines = [line.split() for line in (tmp_path / "t").read_text().splitlines()[1:]]
    assert Counter(line[1] for line in lines) == found.commands
    assert lines[0] == ["1", "ACT", "0", "0", "0", "16380", "-"]
    assert sum(line[1] == "RD" and line[3:5] == ["all", "0"] for line in lines) == 64


def test_platform_units_follow_overrides() -> None:
    platform = load_platform("ahasd")
    assert pim_of_platform(platform) == load_pim("ahasd")
    single = with_overrides(platform, {"platform.pim.banks_at_once": 1})
    assert gemv(single, 4096, 1024).commands["RD"] > 1.9 * gemv(platform, 4096, 1024).commands["RD"]
    assert gemv("lp5-pim", 4096, 1024).bandwidth_gbps == pytest.approx(44.6, abs=0.5)


def test_mistakes_are_named(tmp_path) -> None:
    assert set(PRESETS) == set(list_pim())
    with pytest.raises(ConfigError, match="near: hbm2-pim"):
        load_pim("hbm-pim")
    with pytest.raises(ConfigError, match="vectors: 0 must be at least 1"):
        gemv("ahasd", 1, 1, 0)
    for name in ("rows", "cols", "ranks"):
        with pytest.raises(ConfigError, match=f"{name}: 0 must be at least 1"):
            gemv("ahasd", **{"rows": 1, "cols": 1, "ranks": 1, name: 0})
    with pytest.raises(ConfigError, match="need units of kind tiles"):
        elementwise("ahasd", "add", 1)
    with pytest.raises(ConfigError, match="operation: 'mul' must be one of add, relu"):
        elementwise("hbm2-pim", "mul", 1)
    with pytest.raises(ConfigError, match="elements: 0"):
        elementwise("hbm2-pim", "add", 0)
    base = load_pim("ahasd")
    for change, message in (
        ({"kind": "tensor"}, "kind: 'tensor' must be one of"),
        ({"sequencer": "none"}, "sequencer: 'none' must be one of"),
        ({"lanes": 0}, "lanes: 0 must be a positive integer"),
        ({"banks_at_once": 3}, "banks_at_once: 3 must divide"),
        ({"kind": "tiles", "units": 3}, "units: 3 must be half of the 16"),
    ):
        with pytest.raises(ConfigError, match=message):
            replace(base, **change)
    with pytest.raises(ConfigError, match="is outside 4 x 4"):
        Placement(base, 4, 4, 1).locate(4, 0)
    (tmp_path / "x.toml").write_text('dram = "lp5-pim"\nkind = "stream"\n')
    with pytest.raises(ConfigError, match="missing"):
        load_pim(tmp_path / "x.toml")
    (tmp_path / "y.toml").write_text("= 1")
    with pytest.raises(ConfigError, match="not TOML"):
        load_pim(tmp_path / "y.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_pim(tmp_path / "z.toml")
    assert load_dram("lp5-pim").organisation.ranks == 1

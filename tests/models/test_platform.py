"""Platforms: presets, user files, overrides, capacity, what is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ahasd.models.errors import ConfigError
from ahasd.models.first_order.dram import Streams
from ahasd.models.language_files import PAIRS, language_model, pair
from ahasd.models.platform import (
    Platform,
    check_capacity,
    list_platforms,
    load_platform,
    platform_rows,
    with_overrides,
)
from ahasd.models.platform.notes import platform_notes


def test_presets() -> None:
    assert list_platforms() == ["ahasd", "lpddr5-6400"]
    ahasd = load_platform()
    assert (ahasd.name, ahasd.dram, ahasd.target_ranks) == ("ahasd", Platform().dram, 8)
    dram = ahasd.dram
    assert (dram.trp, dram.trcd, dram.tras, dram.trrd_l, dram.twr) == (32, 32, 64, 8, 24)
    assert (dram.tccd_s, dram.tccd_l, dram.trefi, dram.tfaw, dram.trfc) == (4, 6, 6240, 64, 560)
    assert (dram.ranks, dram.banks, dram.columns, dram.rank_bytes) == (16, 16, 64, 1 << 32)
    assert load_platform("lpddr5-6400").dram.tck_ps == 1250


@pytest.mark.parametrize(
    ("name", "pim", "efficiency", "bus", "bus_efficiency"),
    [("ahasd", 17.067, 0.780, 51.2, 0.910), ("lpddr5-6400", 12.8, 0.825, 51.2, 0.928)],
)
def test_rates_follow_from_timing(
    name: str, pim: float, efficiency: float, bus: float, bus_efficiency: float
) -> None:
    """Efficiencies as derived by hand: 64 tCCD_L / (64 tCCD_L + tRCD + tRP) x (1 - tRFC / tREFI)."""
    streams = Streams(load_platform(name))
    assert streams.unit_peak == pytest.approx(pim, rel=1e-3)
    assert streams.unit_sustained / streams.unit_peak == pytest.approx(efficiency, abs=1e-3)
    assert streams.bus_peak == pytest.approx(bus)
    assert streams.bus_sustained / streams.bus_peak == pytest.approx(bus_efficiency, abs=1e-3)


def test_the_bus_is_as_slow_as_its_pins_or_its_columns() -> None:
    for change in ({"platform.dram.data_rate": 3200}, {"platform.dram.tccd_s": 8}):
        streams = Streams(with_overrides(load_platform(), change))
        assert streams.bus_sustained == pytest.approx(23.3, rel=0.01)


def test_a_channel_with_more_target_ranks_holds_up_the_bus() -> None:
    streams = Streams(load_platform())
    size = 1 << 30
    assert streams.bus_ps(size, 8) == streams.bus_ps(size, 16)
    assert streams.bus_ps(size, 1) == pytest.approx(4 * streams.bus_ps(size, 4), rel=1e-6)
    assert streams.bus_ps(size, 5) == pytest.approx(1.6 * streams.bus_ps(size, 4), rel=1e-6)


def test_overrides() -> None:
    changed = with_overrides(
        load_platform(), {"platform.pim.draft_ranks": "4", "platform.contention": "none"}
    )
    assert (changed.pim.draft_ranks, changed.target_ranks, changed.contention) == (4, 12, "none")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("platform.pim.draft_rank", "4", r"unknown key; near: platform\.pim\.draft_ranks"),
        ("platform.name", "x", "unknown key"),
        ("platform.pim.draft_ranks", "16", r"platform\.pim\.draft_ranks: 16 must be less than the 16 ranks"),
        ("platform.pim.draft_ranks", "0", r"'0' must be an integer in 1\.\.255 \(ranks\)"),
        ("platform.pim.switch_ps", "1000", r"must be an integer in 55000\.\.1e\+06 \(ps\)"),
        ("platform.pim.banks_at_once", "32", "must be at most the 16 banks of a rank"),
        ("platform.pim.sequencer", "host", "host needs timing = commands"),
        ("platform.timing", "exact", "must be one of first-order, commands"),
        ("platform.contention", "maybe", "must be one of block, yield, none"),
        ("platform.dram.trfc", "7000", r"platform\.dram\.trfc: 7000 must be less than trefi = 6240"),
        ("platform.dram.access_bytes", "48", "row_bytes: 2048 must be a multiple of access_bytes"),
    ],
)
def test_bad_overrides(key: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        with_overrides(load_platform(), {key: value})
    assert "\n" not in str(caught.value)


def test_user_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('source = "my phone"\ncontention = "yield"\n[dram]\ntrcd = 29\n')
    mine = load_platform(path)
    assert (mine.name, mine.contention, mine.dram.trcd, mine.dram.trp) == ("mine", "yield", 29, 32)
    row = next(row for row in platform_rows(mine) if row.path == "platform.dram.trcd")
    assert (row.value, row.source) == (29, "my phone (default 32)")
    for text, message in (
        (
            "[dram]\ntrcdd = 29\n",
            r"mine\.toml: platform\.dram\.trcdd: unknown key; near: platform\.dram\.trcd",
        ),
        ("[dram]\ntrcd = 0\n", r"mine\.toml: platform\.dram\.trcd: 0 must be an integer in 1\.\.1000"),
        ("dram = 3\n", r"mine\.toml: platform\.dram: unknown key"),
        ("dram = \n", r"mine\.toml: not TOML"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=message):
            load_platform(path)
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read"):
        load_platform(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"platform 'ahsad': unknown; near: ahasd; or a \.toml file"):
        load_platform("ahsad")


def test_every_parameter_has_range_and_source() -> None:
    printed = platform_rows(load_platform())
    assert len(printed) > 45
    for row in printed:
        assert row.allowed, row.path
        assert row.source, row.path


def test_capacity() -> None:
    platform = load_platform()
    for name in PAIRS:
        check_capacity(platform, *pair(name))
    tight = with_overrides(platform, {"platform.pim.draft_ranks": 9})
    with pytest.raises(ConfigError, match=r"target model palm-30b needs 30\.44 GB .* 7 ranks hold 30\.06 GB"):
        check_capacity(tight, *pair("palm-8b/30b"))
    one = with_overrides(platform, {"platform.pim.draft_ranks": 1})
    with pytest.raises(ConfigError, match=r"draft model llama2-7b needs 7\.81 GB"):
        check_capacity(one, language_model("llama2-7b"), None)


def test_notes_are_computed() -> None:
    notes = "\n".join(platform_notes(load_platform()))
    for figure in (
        "= 273.1 GB/s",
        "256 GB/s, 93.8%",
        "213.1 GB/s, 78.0%",
        "51.2 GB/s peak, 46.6 GB/s",
        "7800 ns",
        "PIM sustains 208.4 of the printed 256 GB/s",
        "bus sustains 45.9 of the printed 51.2 GB/s",
    ):
        assert figure in notes
    three = platform_notes(with_overrides(load_platform(), {"platform.pim.banks_at_once": 3}))
    assert "not with these parameters (banks_at_once: 3 must divide the 16 banks" in three[-1]
    slow = with_overrides(load_platform(), {"platform.dram.tck_ps": 1250})
    assert "= 136.5 GB/s" in platform_notes(slow)[0]
    assert not any("printed" in note for note in platform_notes(load_platform("lpddr5-6400")))

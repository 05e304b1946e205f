"""Memories by name, from a user's TOML, or of a platform."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ahasd.models.dram.spec import DramSpec, Organisation, load_standard
from ahasd.models.errors import ConfigError
from ahasd.models.platform import Platform, load_platform
from ahasd.models.settings import near

__all__ = ["dram_of_platform", "list_dram", "load_dram"]

_HOME = Path(__file__).parents[1] / "data" / "dram"
_OF_PLATFORM = "ahasd"


def list_dram() -> list[str]:
    """Names that ``load_dram`` takes."""
    return sorted([_OF_PLATFORM, *(path.stem for path in _HOME.glob("*.toml"))])


def load_dram(name_or_path: str | Path) -> DramSpec:
    """A preset, or the memory of a TOML file with the same keys.

    Raises
    ------
    ConfigError
        If there is no such preset or file, or its table is wrong.
    """
    name = str(name_or_path)
    if name == _OF_PLATFORM:
        return dram_of_platform(load_platform(_OF_PLATFORM))
    if name in list_dram():
        return _read(_HOME / f"{name}.toml")
    if not name.endswith(".toml"):
        raise ConfigError(f"preset {name!r}: unknown; near: {near(name, list_dram())}; or a .toml file")
    return _read(Path(name))


def dram_of_platform(platform: Platform) -> DramSpec:
    """One channel of ``platform``, as LPDDR5 with its timing.

    What a platform does not give follows from it: tRC = tRAS + tRP, tRPab = tRP, tRRD_S = tRRD_L, BL/n_max =
    tCCD_L, tREFIpb = tREFI / 8, tRFCpb = tRFC / 2 (JESD209-5B, 32 Gb), and 2.5 ns, 10 ns, 90 ns, 7.5 ns for
    tPPD and turn-around gaps, tAAD, tpbR2pbR, tpbR2act.
    """
    dram = platform.dram

    def clocks(ps: int) -> int:
        return -(-ps // dram.tck_ps)

    beats = -(-8 * dram.access_bytes // dram.channel_bits)
    gap = clocks(2500)
    timing = {
        "CL": dram.cl,
        "CWL": dram.cwl,
        "BL": -(-beats * 1_000_000 // (dram.data_rate * dram.tck_ps)),
        "BL_L": dram.tccd_l,
        "RCD": dram.trcd,
        "RP": dram.trp,
        "RPab": dram.trp,
        "RAS": dram.tras,
        "RC": dram.tras + dram.trp,
        "RTP": dram.trtp,
        "WR": dram.twr,
        "CCD_S": dram.tccd_s,
        "CCD_L": dram.tccd_l,
        "RRD_S": dram.trrd_l,
        "RRD_L": dram.trrd_l,
        "FAW": dram.tfaw,
        "WTR_S": dram.twtr_s,
        "WTR_L": dram.twtr_l,
        "RTW": gap,
        "PPD": gap,
        "AAD": clocks(10_000),
        "CS": gap,
        "REFI": dram.trefi,
        "REFIpb": dram.trefi // 8,
        "RFCab": dram.trfc,
        "RFCpb": dram.trfc // 2,
        "PBR2PBR": clocks(90_000),
        "PBR2ACT": clocks(7500),
    }
    return DramSpec(
        name=platform.name,
        standard=load_standard("lpddr5"),
        organisation=Organisation(
            ranks=dram.ranks_per_channel,
            bank_groups=dram.bank_groups,
            banks_per_group=dram.banks_per_group,
            rows=dram.rank_bytes // (dram.banks * dram.row_bytes),
            columns=dram.columns,
            access_bytes=dram.access_bytes,
        ),
        tck_ps=dram.tck_ps,
        timing=tuple(timing.items()),
        description=platform.description,
        source=platform.source,
    )


def _read(path: Path) -> DramSpec:
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not TOML ({str(error).splitlines()[0]})") from None
    try:
        return DramSpec(
            name=path.stem,
            standard=load_standard(table["standard"]),
            organisation=Organisation(**table["organisation"]),
            tck_ps=int(table["tck_ps"]),
            timing=tuple(table["timing"].items()),
            description=str(table.get("description", "")),
            source=str(table.get("source", "")),
        )
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"{path}: expected standard, tck_ps, [organisation] and [timing] ({error})"
        ) from None

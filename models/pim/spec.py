"""PIM side of a memory as data: units, which banks they read together, registers, who sends the commands."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ahasd.models.dram.presets import dram_of_platform, load_dram
from ahasd.models.dram.spec import DramSpec
from ahasd.models.errors import ConfigError
from ahasd.models.platform import Platform, load_platform
from ahasd.models.settings import near

__all__ = ["KINDS", "PimSpec", "list_pim", "load_pim", "pim_of_platform"]

KINDS = ("tiles", "stream")
_HOME = Path(__file__).parents[1] / "data" / "pim"
_OF_PLATFORM = "ahasd"


@dataclass(frozen=True, kw_only=True)
class PimSpec:
    """Units of a rank. ``kind`` says how they compute a GEMV.

    ``tiles``: a unit serves an even and an odd bank, inputs and sums lie in registers, programs go tile by
    tile. ``stream``: the units read ``banks_at_once`` banks together and multiply all that a read gives with
    a buffered input; the rest of a kernel is their sequencer's.

    Raises
    ------
    ConfigError
        If a value is out of range or contradicts the memory.
    """

    name: str
    dram: DramSpec
    kind: str
    units: int
    """Of a rank."""
    lanes: int
    """``tiles``: elements of a register. ``stream``: MACs of a rank a unit clock."""
    element_bytes: int
    lookahead: int
    """Commands that the sequencer looks at to open rows in time; 1: a row opens when an access needs it."""
    sequencer: str
    """``device``: the rank has its own. ``host``: commands share the channel's command bus, one a clock."""
    input_registers: int = 8
    accumulators: int = 8
    banks_at_once: int = 0
    """``stream`` only."""
    clock_ps: int = 0
    """Unit clock; ``stream`` only."""
    input_bytes: int = 1
    result_bytes: int = 2
    input_buffer_bytes: int = 16384
    """Inputs that a unit holds (U); longer ones are broadcast in parts, each before its weights."""
    switch_ps: int = 0
    """Into PIM mode; ``stream`` only, ``tiles`` switches by commands."""
    ranks: int = 1
    """Default for a kernel."""
    max_ranks: int = 1 << 20
    channels: int = 1 << 20
    """That the ranks lie on in turn."""
    description: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"kind: {self.kind!r} must be one of {', '.join(KINDS)}")
        if self.sequencer not in ("device", "host"):
            raise ConfigError(f"sequencer: {self.sequencer!r} must be one of device, host")
        positive = [
            "units",
            "lanes",
            "element_bytes",
            "lookahead",
            "input_registers",
            "accumulators",
            "ranks",
        ]
        if self.kind == "stream":
            positive += ["banks_at_once", "clock_ps", "input_bytes", "result_bytes", "input_buffer_bytes"]
        for name in positive:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ConfigError(f"{name}: {value!r} must be a positive integer")
        banks = self.dram.organisation.banks
        if self.kind == "tiles" and 2 * self.units != banks:
            raise ConfigError(f"units: {self.units} must be half of the {banks} banks")
        if self.kind == "stream" and banks % self.banks_at_once:
            raise ConfigError(f"banks_at_once: {self.banks_at_once} must divide the {banks} banks of a rank")

    @property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """Banks that are read together: even and odd ones, or neighbours."""
        banks = range(self.dram.organisation.banks)
        if self.kind == "tiles":
            return tuple(banks[::2]), tuple(banks[1::2])
        return tuple(
            tuple(banks[first : first + self.banks_at_once])
            for first in range(0, len(banks), self.banks_at_once)
        )

    @property
    def set_bytes(self) -> int:
        """That one read of a set gives."""
        return len(self.sets[0]) * self.dram.organisation.access_bytes

    @property
    def column_clocks(self) -> int:
        """From one column command to the next: tCCD_L."""
        return self.dram["CCD_L"]

    def mac_clocks(self, vectors: int) -> int:
        """From one weight read to the next, ``vectors`` MACs a weight, memory clocks; ``stream`` only."""
        macs = -(-self.set_bytes // self.element_bytes) * vectors
        mac_ps = -(-macs // self.lanes) * self.clock_ps
        return max(self.column_clocks, -(-mac_ps // self.dram.tck_ps))

    @property
    def outputs(self) -> int:
        """Of a tile."""
        return self.units * self.accumulators

    @property
    def inputs(self) -> int:
        """Of a tile."""
        return self.input_registers * self.lanes

    @property
    def tile_reads(self) -> int:
        return self.outputs * self.inputs * self.element_bytes // self.set_bytes


def list_pim() -> list[str]:
    """Names that ``load_pim`` takes."""
    return sorted([_OF_PLATFORM, *(path.stem for path in _HOME.glob("*.toml"))])


def load_pim(name_or_path: str | Path) -> PimSpec:
    """A preset, or a TOML file with the same keys.

    Raises
    ------
    ConfigError
        If there is no such preset or file, or its table is wrong.
    """
    name = str(name_or_path)
    if name == _OF_PLATFORM:
        return pim_of_platform(load_platform(_OF_PLATFORM))
    if name in list_pim():
        return _read(_HOME / f"{name}.toml")
    if not name.endswith(".toml"):
        raise ConfigError(f"preset {name!r}: unknown; near: {near(name, list_pim())}; or a .toml file")
    return _read(Path(name))


def pim_of_platform(platform: Platform) -> PimSpec:
    """The PIM units of ``platform``, INT8."""
    pim, dram = platform.pim, platform.dram
    return PimSpec(
        name=platform.name,
        dram=one_rank(dram_of_platform(platform)),
        kind="stream",
        units=pim.units_per_rank,
        lanes=pim.lanes * pim.units_per_rank,
        element_bytes=1,
        lookahead=1,
        sequencer=pim.sequencer,
        banks_at_once=pim.banks_at_once * pim.units_per_rank,
        clock_ps=pim.clock_ps,
        input_bytes=pim.input_bytes,
        result_bytes=pim.result_bytes,
        switch_ps=pim.switch_ps,
        ranks=pim.draft_ranks,
        max_ranks=dram.ranks,
        channels=dram.channels,
        description=platform.description,
        source=platform.source,
    )


def one_rank(spec: DramSpec) -> DramSpec:
    """The same memory with a single rank: in PIM mode ranks share no data bus."""
    return replace(spec, organisation=replace(spec.organisation, ranks=1))


def _read(path: Path) -> PimSpec:
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not TOML ({str(error).splitlines()[0]})") from None
    try:
        dram = one_rank(load_dram(table.pop("dram")))
        return PimSpec(name=path.stem, dram=dram, **table)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except (KeyError, TypeError) as error:
        raise ConfigError(f"{path}: {error}") from None

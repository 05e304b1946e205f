"""Parameters of a platform: memory, PIM, attention unit, NPU, links, energy. Defaults: the ``ahasd`` preset.

Clock counts of the memory are in tCK. Sources: [AH] arXiv 2604.25326, platform table; [JESD] JESD209-5B,
LPDDR5; (U) engineering judgement.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ahasd.models.energy.coefficients import Coefficients
from ahasd.models.errors import ConfigError
from ahasd.models.platform.gpu import Gpu, HbmPim, MobileGpu
from ahasd.models.settings import check, param

__all__ = ["Aau", "Dram", "Link", "Npu", "Pim", "Platform"]

_AH = "[AH] table"
_JESD = "[JESD] LPDDR5-6400, rounded to tCK; [AH] omits it"


@dataclass(frozen=True, kw_only=True)
class Dram:
    """Organisation and timing of the memory, off-chip bus included."""

    channels: int = param(4, low=1, high=64, source="x64 bus of [AH] as four x16 LPDDR5 channels")
    channel_bits: int = param(16, unit="bits", low=8, high=1024, source="LPDDR5 channel [JESD]")
    data_rate: int = param(
        6400, unit="MT/s", low=100, high=20000, source="[AH] off-chip 51.2 GB/s = 64 bits at it"
    )
    ranks_per_channel: int = param(4, low=1, high=16, source="[AH] 16 PIM units, one a rank")
    rank_mib: int = param(4096, unit="MiB", low=16, high=1 << 20, source="[AH] 64 GB in 16 ranks")
    bank_groups: int = param(4, low=1, high=8, source=_AH)
    banks_per_group: int = param(4, low=1, high=16, source=_AH)
    row_bytes: int = param(2048, unit="bytes", low=256, high=65536, source="[JESD] 2 KB page")
    access_bytes: int = param(32, unit="bytes", low=8, high=256, source="[JESD] BL16 on x16")
    tck_ps: int = param(
        625,
        unit="ps",
        low=100,
        high=10000,
        source="the clock at which [AH]'s counts are DRAM-like; it prints 1250",
    )
    trp: int = param(32, unit="tCK", low=1, high=1000, source=_AH)
    trcd: int = param(32, unit="tCK", low=1, high=1000, source=_AH)
    tras: int = param(64, unit="tCK", low=1, high=1000, source=_AH)
    trrd_l: int = param(8, unit="tCK", low=1, high=1000, source=_AH)
    twr: int = param(24, unit="tCK", low=1, high=1000, source=_AH)
    tccd_s: int = param(4, unit="tCK", low=1, high=1000, source=_AH)
    tccd_l: int = param(6, unit="tCK", low=1, high=1000, source=_AH)
    trefi: int = param(6240, unit="tCK", low=100, high=100000, source=_AH)
    tfaw: int = param(64, unit="tCK", low=1, high=1000, source=_AH)
    trfc: int = param(560, unit="tCK", low=0, high=100000, source=_AH)
    cl: int = param(34, unit="tCK", low=1, high=1000, source=_JESD)
    cwl: int = param(18, unit="tCK", low=1, high=1000, source=_JESD)
    trtp: int = param(16, unit="tCK", low=1, high=1000, source=_JESD)
    twtr_s: int = param(10, unit="tCK", low=1, high=1000, source=_JESD)
    twtr_l: int = param(20, unit="tCK", low=1, high=1000, source=_JESD)

    def __post_init__(self) -> None:
        check(self)
        if self.row_bytes % self.access_bytes:
            raise ConfigError(f"row_bytes: {self.row_bytes} must be a multiple of access_bytes")
        if self.trfc >= self.trefi:
            raise ConfigError(f"trfc: {self.trfc} must be less than trefi = {self.trefi}")

    @property
    def ranks(self) -> int:
        return self.channels * self.ranks_per_channel

    @property
    def banks(self) -> int:
        """Banks of a rank."""
        return self.bank_groups * self.banks_per_group

    @property
    def columns(self) -> int:
        """Accesses of a row."""
        return self.row_bytes // self.access_bytes

    @property
    def rank_bytes(self) -> int:
        return self.rank_mib << 20


@dataclass(frozen=True, kw_only=True)
class Pim:
    """PIM units of the ranks, and which ranks hold which model."""

    draft_ranks: int = param(
        8,
        unit="ranks",
        low=1,
        high=255,
        source="half of them, two a channel",
        note="the target model has the rest",
    )
    units_per_rank: int = param(1, low=1, high=64, source="[AH] 16 PIM units")
    banks_at_once: int = param(
        2, unit="banks", low=1, high=64, source="273 GB/s for 16 units; [AH] prints 256"
    )
    lanes: int = param(
        64, unit="INT8 MACs a clock", low=1, high=65536, source="[AH] 102.4 GOPS, read as per unit"
    )
    clock_ps: int = param(1250, unit="ps", low=100, high=100000, source="[AH] 800 MHz")
    input_bytes: int = param(1, unit="bytes", low=1, high=4, source="INT8 inputs of a GEMV")
    result_bytes: int = param(2, unit="bytes", low=1, high=4, source="INT16 elements of the attention unit")
    switch_ps: int = param(
        150_000, unit="ps", low=55_000, high=1_000_000, source="1-3 row cycles (LP-Spec), [AH] below 1 us"
    )
    sequencer: str = param("device", choices=("device", "host"), source="[AH] control on the memory side")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class Aau:
    """Attention unit of a rank."""

    lanes: int = param(16, unit="elements a clock", low=1, high=1024, source="hardware specification")
    clock_ps: int = param(1250, unit="ps", low=100, high=100000, source="[AH] 800 MHz")
    pipeline: int = param(64, unit="clocks", low=0, high=10000, source="hardware specification: 2n/16 + 64")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class Npu:
    """Weight-stationary systolic arrays, scratchpad, vector unit."""

    arrays: int = param(2, low=1, high=64, source="[AH] 16 TOPS")
    rows: int = param(64, unit="PEs", low=4, high=1024, source="[AH] 64 x 64")
    columns: int = param(64, unit="PEs", low=4, high=1024, source="[AH] 64 x 64")
    clock_ps: int = param(1000, unit="ps", low=100, high=100000, source="[AH] 1 GHz")
    scratchpad_kib: int = param(8192, unit="KiB", low=64, high=1 << 20, source="[AH] 8 MB")
    vector_gops: int = param(8200, unit="Gop/s", low=1, high=1_000_000, source="[AH] 8.2 TOPS")
    vector_ops: int = param(
        8, unit="ops an element", low=1, high=64, source="(U) exponential, scaling and sums of a softmax"
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class Link:
    """Between memory controller and NPU."""

    latency_ps: int = param(
        100_000,
        unit="ps",
        low=10_000,
        high=1_000_000,
        source="AXI 10 ns + closed-page LPDDR5 42.5 ns + controller 40-60 ns (U); one way",
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class Platform:
    """A phone's memory with PIM, and its NPU; and the GPUs that systems are compared with.

    Raises
    ------
    ConfigError
        If a value is out of range or contradicts another.
    """

    name: str = field(default="ahasd", metadata={"label": True})
    description: str = field(default="", metadata={"label": True})
    source: str = field(default="", metadata={"label": True})
    """Where values other than the defaults come from."""
    timing: str = param(
        "first-order",
        choices=("first-order", "commands"),
        source="closed formulas",
        note="commands: simulated DRAM, PIM and NPU kernels",
    )
    contention: str = param(
        "block",
        choices=("block", "yield", "none"),
        source="PIM mode closes a rank to the NPU",
        note="the paper implies none",
    )
    control_clock_ps: int = param(1250, unit="ps", low=100, high=100000, source="[AH] 800 MHz")
    dram: Dram = field(default_factory=Dram)
    pim: Pim = field(default_factory=Pim)
    aau: Aau = field(default_factory=Aau)
    npu: Npu = field(default_factory=Npu)
    link: Link = field(default_factory=Link)
    gpu: Gpu = field(default_factory=Gpu)
    gpu_mobile: MobileGpu = field(default_factory=MobileGpu)
    hbm_pim: HbmPim = field(default_factory=HbmPim)
    energy: Coefficients = field(default_factory=Coefficients)

    def __post_init__(self) -> None:
        check(self)
        if self.pim.sequencer == "host" and self.timing == "first-order":
            raise ConfigError("pim.sequencer: host needs timing = commands; first-order knows device only")
        if self.pim.draft_ranks >= self.dram.ranks:
            raise ConfigError(
                f"pim.draft_ranks: {self.pim.draft_ranks} must be less than the {self.dram.ranks} ranks"
            )
        if self.pim.banks_at_once * self.pim.units_per_rank > self.dram.banks:
            raise ConfigError(
                f"pim.banks_at_once: {self.pim.banks_at_once} x {self.pim.units_per_rank} units a rank "
                f"must be at most the {self.dram.banks} banks of a rank"
            )

    @property
    def target_ranks(self) -> int:
        """Ranks that hold the target model."""
        return self.dram.ranks - self.pim.draft_ranks

"""Where a matrix lies: over ranks by outputs, then over the sets of a rank, rows and columns; does it fit."""

from __future__ import annotations

from dataclasses import dataclass

from ahasd.models.errors import ConfigError
from ahasd.models.pim.program import RESERVED_ROWS
from ahasd.models.pim.spec import PimSpec

__all__ = ["Placement", "check_fit"]


@dataclass(frozen=True)
class Placement:
    """A ``rows`` x ``cols`` matrix on ``ranks`` ranks.

    Outputs are dealt to ranks in blocks, the same to each but the last ones. ``tiles``: a tile of 64 outputs
    x 128 inputs in every bank of a set, input tiles in even and odd sets in turn. ``stream``: a rank's
    outputs one after the other through the rows of the first set, then of the next.
    """

    spec: PimSpec
    rows: int
    cols: int
    ranks: int

    def __post_init__(self) -> None:
        for name in ("rows", "cols", "ranks"):
            value = getattr(self, name)
            if value < 1:
                raise ConfigError(f"{name}: {value} must be at least 1")
        if self.ranks > self.spec.max_ranks:
            raise ConfigError(
                f"ranks: {self.ranks} must be at most the {self.spec.max_ranks} of the platform"
            )

    @property
    def rank_rows(self) -> int:
        """Outputs of the fullest rank."""
        return -(-self.rows // self.ranks)

    @property
    def reads(self) -> int:
        """Column commands for the weights, of the fullest rank."""
        spec = self.spec
        if spec.kind == "tiles":
            return -(-self.rank_rows // spec.outputs) * -(-self.cols // spec.inputs) * spec.tile_reads
        return -(-self.rank_rows * self.cols * spec.element_bytes // spec.set_bytes)

    @property
    def bank_rows(self) -> int:
        """Rows that the kernel takes in the fullest bank; ``tiles``: results and reserved rows too."""
        spec, columns = self.spec, self.spec.dram.organisation.columns
        if spec.kind == "stream":
            return -(-self.reads // (columns * len(spec.sets)))
        outputs = -(-self.rank_rows // spec.outputs)
        pairs = -(-self.cols // (2 * spec.inputs))
        weights = -(-outputs * pairs * spec.tile_reads // columns)
        return weights + -(-outputs * spec.accumulators // columns) + RESERVED_ROWS

    def locate(self, output: int, column: int) -> tuple[int, int, int, int]:
        """Rank, set, row and column access of the weight at ``output``, ``column``."""
        if not (0 <= output < self.rows and 0 <= column < self.cols):
            raise ConfigError(f"weight: {output}, {column} is outside {self.rows} x {self.cols}")
        spec, columns = self.spec, self.spec.dram.organisation.columns
        rank, own = divmod(output, self.rank_rows)
        if spec.kind == "stream":
            access = (own * self.cols + column) * spec.element_bytes // spec.set_bytes
            row, access = divmod(access, columns)
            place, row = divmod(row, spec.dram.organisation.rows)
            return rank, place, row, access
        tiles = -(-self.cols // spec.inputs)
        tile, inner = divmod(column, spec.inputs)
        block, lane = divmod(own, spec.outputs)
        in_set = -(-tiles // 2) if tile % 2 == 0 else tiles // 2
        access = (block * in_set + tile // 2) * spec.tile_reads
        # A unit's outputs one after the other, a register of inputs at a time.
        access += lane // spec.units * spec.input_registers + inner // spec.lanes
        row, access = divmod(access, columns)
        return rank, tile % 2, row, access


def check_fit(placement: Placement) -> None:
    """The weights and, for ``tiles``, reserved rows must fit in each rank.

    Raises
    ------
    ConfigError
        If they do not: what they take and what there is.
    """
    org = placement.spec.dram.organisation
    if placement.bank_rows > org.rows:
        raise ConfigError(
            f"rows x cols: {placement.rows} x {placement.cols} on {placement.ranks} ranks takes "
            f"{placement.bank_rows} rows of each bank, which has {org.rows}"
        )

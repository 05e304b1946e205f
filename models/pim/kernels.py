"""PIM kernels: GEMV, element-wise operations, attention over a KV cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ahasd.models.dram.stream import KernelResult
from ahasd.models.errors import ConfigError
from ahasd.models.pim.execution import Execution, run_lanes
from ahasd.models.pim.lane import Lane
from ahasd.models.pim.placement import Placement, check_fit
from ahasd.models.pim.program import (
    BARRIER,
    BUFFER,
    RESERVED_ROWS,
    WAIT,
    Op,
    elementwise_program,
    gemv_program,
    operand_rows,
)
from ahasd.models.pim.spec import PimSpec, load_pim, pim_of_platform
from ahasd.models.platform import Platform

__all__ = ["OPERANDS", "attention", "elementwise", "gemv", "schedule_gemv"]

OPERANDS = {"add": 2, "relu": 1}
"""Element-wise operations and what they read."""

Where = PimSpec | Platform | str


def gemv(
    where: Where,
    rows: int,
    cols: int,
    vectors: int = 1,
    ranks: int | None = None,
    refresh: bool = True,
    *,
    broadcast: bool = True,
    gather: bool = True,
    switch: bool = True,
) -> KernelResult:
    """``rows`` outputs x ``cols`` inputs with ``vectors`` input vectors, outputs split over ``ranks`` ranks.

    ``stream`` units read each weight once; the kernel is broadcast of the inputs (unless they are there),
    mode switch (unless in it), weights, and gather of the results over the bus (or they stay). ``tiles``
    units hold one vector and read the weights for each; the kernel is as in peers.toml: results are written
    back, not read out.

    Raises
    ------
    ConfigError
        If a number is below 1, there are not so many ranks, or the weights do not fit.
    """
    return _gemv(where, rows, cols, vectors, ranks, refresh, broadcast, gather, switch, False)[0]


def schedule_gemv(
    where: Where,
    rows: int,
    cols: int,
    vectors: int = 1,
    ranks: int | None = None,
    refresh: bool = True,
    *,
    broadcast: bool = True,
    gather: bool = True,
    switch: bool = True,
) -> tuple[KernelResult, Execution]:
    """As ``gemv``, with the commands of a rank: its trace, boundaries and what an abort costs."""
    result, lane = _gemv(where, rows, cols, vectors, ranks, refresh, broadcast, gather, switch, True)
    return result, Execution(_spec(where), lane.steps or [], result.cycles)


def elementwise(where: Where, operation: str, elements: int, refresh: bool = True) -> KernelResult:
    """``add`` or ``relu`` of ``elements`` elements on one rank, ``tiles`` units only.

    Raises
    ------
    ConfigError
        If the operation is unknown, the units are of another kind or the operands do not fit.
    """
    spec = _spec(where)
    if spec.kind != "tiles":
        raise ConfigError(f"preset {spec.name}: element-wise kernels need units of kind tiles")
    if operation not in OPERANDS:
        raise ConfigError(f"operation: {operation!r} must be one of {', '.join(OPERANDS)}")
    if elements < 1:
        raise ConfigError(f"elements: {elements} must be at least 1")
    operands = OPERANDS[operation]
    org = spec.dram.organisation
    size = (operands + 1) * elements * spec.element_bytes
    rows = (operands + 1) * operand_rows(spec, elements) + RESERVED_ROWS
    if rows > org.rows:
        raise ConfigError(f"elements: {elements} take {rows} rows of each bank, which has {org.rows}")
    lane = Lane(spec, elementwise_program(spec, elements, operands), refresh=refresh)
    cycles = run_lanes([lane])
    config = {"kernel": operation, "elements": elements}
    return _result(spec, cycles, lane, size, 1, refresh, config, {})


def attention(
    where: Where,
    *,
    heads: int,
    kv_heads: int,
    head_dim: int,
    kv_len: int,
    tokens: int = 1,
    ranks: int | None = None,
    refresh: bool = True,
    broadcast: bool = True,
    gather: bool = True,
) -> KernelResult:
    """Scores and weighted sum of ``tokens`` queries over a KV cache of ``kv_len`` entries: two GEMVs.

    Keys and values are read once, with the MACs of all heads that share them (``stream``). They are split by
    positions over the ranks: scores have kv_len x kv_heads outputs of head_dim inputs, the sum is over as
    many bytes, a rank's results being partial ones. Softmax comes in between and is not part of this.
    """
    if min(heads, kv_heads, head_dim, kv_len, tokens) < 1 or heads % max(kv_heads, 1):
        raise ConfigError("attention: numbers must be at least 1, heads a multiple of kv_heads")
    spec = _spec(where)
    count = spec.ranks if ranks is None else ranks
    share = tokens * (heads // kv_heads)
    shape = spec, kv_len * kv_heads, head_dim, share, count, refresh
    scores = _gemv(*shape, False, False, True, False)[0]
    values = _gemv(*shape, False, False, False, False)[0]
    ends = _exchange(spec, count, refresh, tokens * heads * head_dim if broadcast else 0, 0)
    # Partial sums of every query on every rank.
    back = _exchange(spec, count, refresh, 0, tokens * heads * head_dim if gather else 0)
    cycles = ends + scores.cycles + values.cycles + back
    ps = cycles * spec.dram.tck_ps
    size = 2 * scores.bytes
    return KernelResult(
        cycles=cycles,
        ps=ps,
        commands={name: number + values.commands.get(name, 0) for name, number in scores.commands.items()},
        bytes=size,
        bandwidth_gbps=1000 * size / ps,
        config={
            **scores.config,
            "kernel": "attention",
            "heads": heads,
            "kv_heads": kv_heads,
            "head_dim": head_dim,
            "kv_len": kv_len,
            "vectors": tokens,
        },
        phases={"broadcast": ends, "scores": scores.cycles, "values": values.cycles, "gather": back},
    )


def _spec(where: Where) -> PimSpec:
    if isinstance(where, PimSpec):
        return where
    return pim_of_platform(where) if isinstance(where, Platform) else load_pim(where)


def _gemv(
    where: Where,
    rows: int,
    cols: int,
    vectors: int,
    ranks: int | None,
    refresh: bool,
    broadcast: bool,
    gather: bool,
    switch: bool,
    record: bool,
) -> tuple[KernelResult, Lane]:
    spec = _spec(where)
    count = spec.ranks if ranks is None else ranks
    if vectors < 1:
        raise ConfigError(f"vectors: {vectors} must be at least 1")
    placement = Placement(spec, rows, cols, count)
    check_fit(placement)
    size = rows * cols * spec.element_bytes
    config = {"kernel": "gemv", "rows": rows, "cols": cols, "vectors": vectors}
    if spec.kind == "tiles":
        lane = Lane(
            spec, gemv_program(spec, placement.rank_rows, cols, vectors), refresh=refresh, record=record
        )
        cycles = run_lanes([lane])
        return _result(spec, cycles, lane, size, count, refresh, config, {}), lane
    lane, cycles, phases = _stream(spec, placement, vectors, refresh, broadcast, gather, switch, record)
    return _result(spec, cycles, lane, size, count, refresh, config, phases), lane


def _stream(
    spec: PimSpec,
    placement: Placement,
    vectors: int,
    refresh: bool,
    broadcast: bool,
    gather: bool,
    switch: bool,
    record: bool,
) -> tuple[Lane, int, dict[str, int]]:
    """Broadcast, switch and weights on the ranks of the fullest channel, then the gather from all of them.

    Ranks with a sequencer of their own do the same at the same clocks: one is simulated for all.
    """
    on_channel = -(-placement.ranks // spec.channels)
    shared = on_channel if spec.sequencer == "host" else 1
    bus: set[int] = set()
    double = spec.sequencer == "host" and len(spec.dram.standard.activate) > 1
    lanes = [
        Lane(
            spec,
            _weights(spec, placement, vectors, broadcast, switch),
            refresh=refresh,
            in_sets=True,
            bus=bus,
            listens=index > 0,
            double_act=double,
            record=record,
        )
        for index in range(shared)
    ]
    first = lanes[0]
    end = run_lanes(lanes)
    phases = {"broadcast": first.mark, "switch": -(-spec.switch_ps // spec.dram.tck_ps) if switch else 0}
    phases["weights"] = end - sum(phases.values())
    if gather:
        size = vectors * placement.rank_rows * spec.result_bytes
        first.extend(_gather(spec, size, on_channel), end)
        phases["gather"] = run_lanes([first]) - end
        end += phases["gather"]
    return first, end, phases


def _weights(
    spec: PimSpec, placement: Placement, vectors: int, broadcast: bool, switch: bool
) -> Iterator[Op]:
    """Inputs in parts that fit the buffer, each followed by its weights."""
    org = spec.dram.organisation
    part = max(1, spec.input_buffer_bytes // (vectors * spec.input_bytes))
    interval = spec.mac_clocks(vectors)
    done = 0
    for first in range(0, placement.cols, part):
        inputs = min(part, placement.cols - first)
        if broadcast:
            yield _buffer(spec, "WR", vectors * inputs * spec.input_bytes)
            yield Op(BARRIER)
        if switch and not first:
            yield Op(WAIT, number=-(-spec.switch_ps // spec.dram.tck_ps))
        upto = placement.reads if first + inputs == placement.cols else _share(placement, first + inputs)
        for access in range(done, upto, org.columns):
            place, row = divmod(access // org.columns, org.rows)
            yield Op("RD", place, row, min(org.columns, upto - access), interval)
        done = upto


def _share(placement: Placement, cols: int) -> int:
    """Reads up to input ``cols``, in whole rows."""
    columns = placement.spec.dram.organisation.columns
    return placement.reads * cols // placement.cols // columns * columns


def _buffer(spec: PimSpec, kind: str, size: int) -> Op:
    dram = spec.dram
    accesses = -(-size // dram.organisation.access_bytes)
    return Op(kind, BUFFER, 0, accesses, max(dram["CCD_S"], dram["BL"]))


def _gather(spec: PimSpec, size: int, ranks: int) -> Iterator[Op]:
    """``size`` bytes from each of ``ranks`` ranks on a channel, one rank after the other."""
    for rank in range(ranks):
        if rank:
            yield Op(WAIT, number=spec.dram["CS"])
        yield _buffer(spec, "RD", size)


def _exchange(spec: PimSpec, ranks: int, refresh: bool, inputs: int, results: int) -> int:
    """Clocks of a broadcast of ``inputs`` elements and a gather of ``results`` from each rank."""
    if spec.kind == "tiles" or not inputs + results:
        return 0
    program: list[Op] = []
    if inputs:
        program.append(_buffer(spec, "WR", inputs * spec.input_bytes))
    if results:
        program += _gather(spec, results * spec.result_bytes, -(-ranks // spec.channels))
    return run_lanes([Lane(spec, program, refresh=refresh, in_sets=True)])


def _result(
    spec: PimSpec,
    cycles: int,
    lane: Lane,
    size: int,
    ranks: int,
    refresh: bool,
    config: Mapping[str, Any],
    phases: Mapping[str, int],
) -> KernelResult:
    ps = cycles * spec.dram.tck_ps
    return KernelResult(
        cycles=cycles,
        ps=ps,
        commands=dict(sorted(lane.commands.items())),
        bytes=size,
        bandwidth_gbps=1000 * size / ps,
        config={
            "preset": spec.name,
            **config,
            "ranks": ranks,
            "refresh": refresh,
            "sequencer": spec.sequencer,
            "tck_ps": spec.dram.tck_ps,
        },
        phases=phases,
    )

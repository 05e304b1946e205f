"""The cases. Each returns rows of figures; `--quick` takes the smaller sizes."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from ahasd.models.control.params import ControlConfig
from ahasd.models.replay import GoldenUnit, ReplayUnit, read_replay, replay, vectors
from ahasd.models.traces import list_traces
from ahasd.sim.compiled.engine import CompiledReplayUnit, CompiledUnit
from ahasd.sim.config import RunConfig
from ahasd.sim.rtl_engine import RtlReplayUnit
from ahasd.sim.run import simulate
from benchmarks.measure import best, child

__all__ = ["CASES"]

Rows = list[dict[str, object]]


def engines(quick: bool) -> Rows:
    """Events and driven clock cycles a second of each engine, on conformance vectors."""
    kinds: dict[str, tuple[Callable[[], ReplayUnit], int]] = {
        "golden": (GoldenUnit, 10),
        "compiled": (CompiledReplayUnit, 10),
        "rtl": (RtlReplayUnit, 1),
    }
    rows: Rows = []
    for name, (make, count) in kinds.items():
        recordings = [read_replay(path) for path in vectors()[:count]]
        units = [make() for _ in recordings]
        began = time.process_time()
        for recording, unit in zip(recordings, units, strict=True):
            replay(recording, unit)
        seconds = time.process_time() - began
        events = sum(len(recording.steps) for recording in recordings)
        row: dict[str, object] = {"engine": name, "events_per_s": events / seconds}
        if isinstance(unit, CompiledReplayUnit | RtlReplayUnit):
            driven = sum(u.unit.driven for u in units if isinstance(u, CompiledReplayUnit | RtlReplayUnit))
            row["cycles_per_s"] = driven / seconds
        rows.append(row)
    rate = {str(row["engine"]): float(str(row["events_per_s"])) for row in rows}
    for row in rows:
        row["times_rtl"] = rate[str(row["engine"])] / rate["rtl"]
    return rows


def skipping(quick: bool) -> Rows:
    """Simulated clock cycles a second: clock stopped while ``clk_req`` is low, or every cycle clocked."""
    tokens = 64 if quick else 256
    config = RunConfig(engine="compiled", tokens=tokens)
    cycles = simulate(config).tally.time_ps / 1250
    skipped = cycles / best(lambda: simulate(config))

    unit = CompiledUnit()
    unit.configure(ControlConfig())
    unit.start(1)
    unit.run(1000, shift=8, to_rest=True)
    count = 200_000 if quick else 2_000_000
    every = count / best(lambda: unit.run(unit.edge + count, shift=8, every=True))
    return [
        {"clock": "stopped at rest", "cycles_per_s": skipped, "ratio": skipped / every},
        {"clock": "every cycle", "cycles_per_s": every, "ratio": 1.0},
    ]


def runs(quick: bool) -> Rows:
    """Whole runs of the default system."""
    tokens = 128 if quick else 1024
    names = ["golden", "compiled"] if quick else ["golden", "compiled", "rtl"]
    seconds = {
        name: best(
            lambda name=name: simulate(RunConfig(engine=name, tokens=tokens)),  # type: ignore[misc]
            1 if name == "rtl" else 5,
        )
        for name in names
    }
    return [
        {"engine": name, "tokens": tokens, "seconds": taken, "times_golden": taken / seconds["golden"]}
        for name, taken in seconds.items()
    ]


def sequences(quick: bool) -> Rows:
    """Growth with the number of sequences of 1024 tokens: time and peak memory of a process each."""
    names = [name for name in list_traces() for _ in range(3)]
    rows: Rows = []
    for count in (1, 4) if quick else (1, 4, 16, 64):
        trace = ",".join(names[:count])
        code = (
            "import time\nfrom ahasd.sim.config import RunConfig\nfrom ahasd.sim.run import simulate\n"
            "simulate(RunConfig(engine='golden', tokens=8))\nbegan = time.process_time()\n"
            f"simulate(RunConfig(engine='golden', trace={trace!r}))\nprint(time.process_time() - began)"
        )
        _, memory = child(code)
        config = RunConfig(engine="golden", trace=trace)
        seconds = best(lambda config=config: simulate(config), 1)  # type: ignore[misc]
        rows.append({"sequences": count, "seconds": seconds, "peak_mb": memory})
    one = best(lambda: simulate(RunConfig(engine="golden", trace=names[0])), 3)
    for row in rows:
        row["times_one"] = float(str(row["seconds"])) / one
    return rows


def length(quick: bool) -> Rows:
    """Growth with the tokens of one sequence."""
    rows: Rows = []
    for tokens in (64, 128) if quick else (64, 128, 256, 512, 1024):
        config = RunConfig(engine="golden", tokens=tokens)
        seconds = best(lambda config=config: simulate(config))  # type: ignore[misc]
        rows.append({"tokens": tokens, "seconds": seconds, "ms_per_token": 1000 * seconds / tokens})
    return rows


def in_flight(quick: bool) -> Rows:
    """Growth with the batches in flight: short batches fill the list of seven, long ones do not."""
    rows: Rows = []
    for size in (1, 16) if quick else (1, 2, 4, 8, 16):
        config = RunConfig(engine="golden", system="async", policy=f"fixed-{size}", tokens=256)
        rows.append({"batch": size, "seconds": best(lambda config=config: simulate(config))})  # type: ignore[misc]
    return rows


def matrix(quick: bool) -> Rows:
    """Five systems, three pairs, three policies, 1024 tokens each, golden engine."""
    tokens = 32 if quick else 1024
    count = 0
    began = time.process_time()
    for system in ("npu-pim-sync", "async", "async+aau", "async+aau+edc", "ahasd"):
        for pair in ("opt-1.3b/6.7b", "llama2-7b/13b", "palm-8b/30b"):
            for policy in ("fixed-5", "svip:code", "svip:paper"):
                engine = None if system == "npu-pim-sync" else "golden"
                simulate(RunConfig(system=system, pair=pair, policy=policy, tokens=tokens, engine=engine))
                count += 1
    seconds = time.process_time() - began
    return [{"runs": count, "tokens": tokens, "seconds": seconds, "seconds_a_run": seconds / count}]


def _point(number: int) -> int:
    settings = {"control.max_draft": 1 + number % 16}
    return simulate(RunConfig(engine="compiled", tokens=64, set=settings)).tally.tokens


def sweep(quick: bool) -> Rows:
    """Points of a sweep a second (wall clock), by processes and by number of points."""
    rows: Rows = []
    for processes in (1, 2):
        for points in (8,) if quick else (16, 64):
            with ProcessPoolExecutor(processes) as pool:
                list(pool.map(_point, range(processes)))  # start the processes
                began = time.perf_counter()
                list(pool.map(_point, range(points)))
                seconds = time.perf_counter() - began
            rows.append({"processes": processes, "points": points, "points_per_s": points / seconds})
    return rows


def kernels(quick: bool) -> Rows:
    """DRAM and PIM kernels: `ahasd validate` checks their cycles, here is what simulating them costs."""
    from ahasd.models.dram import load_dram, stream
    from ahasd.models.pim import gemv

    spec = load_dram("lpddr5-6400")
    count = 4096 if quick else 65536
    rows: Rows = []
    found = stream(spec, "rotate", count)
    seconds = best(lambda: stream(spec, "rotate", count), 1)
    rows.append({"kernel": f"stream rotate {count}", "cycles": found.cycles, "seconds": seconds})
    for preset in ("hbm2-pim", "lp5-like", "ahasd"):
        result = gemv(preset, 4096, 1024)
        seconds = best(lambda preset=preset: gemv(preset, 4096, 1024), 1)  # type: ignore[misc]
        rows.append({"kernel": f"gemv 4096 x 1024 {preset}", "cycles": result.cycles, "seconds": seconds})
    return rows


def startup(quick: bool) -> Rows:
    """`ahasd --help` against the help of an empty Typer program."""
    repeat = 3 if quick else 10
    empty = (
        "import typer\napp = typer.Typer()\n@app.command()\ndef main() -> None: ...\n"
        "try: app(['--help'])\nexcept SystemExit: pass"
    )
    ours = "from ahasd.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass"
    seconds = {"empty Typer program": child(empty, repeat)[0], "ahasd": child(ours, repeat)[0]}
    return [
        {"program": name, "seconds": taken, "times_empty": taken / seconds["empty Typer program"]}
        for name, taken in seconds.items()
    ]


CASES: dict[str, Callable[[bool], Rows]] = {
    "engines": engines,
    "skipping": skipping,
    "runs": runs,
    "sequences": sequences,
    "length": length,
    "in_flight": in_flight,
    "matrix": matrix,
    "sweep": sweep,
    "kernels": kernels,
    "startup": startup,
}

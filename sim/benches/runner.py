"""Runs a bench: builds the simulator, starts cocotb, and says what passed and what was covered."""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ahasd.models.control.params import UnitParams
from ahasd.models.errors import ConfigError, ToolError
from ahasd.models.replay import read_replay
from ahasd.models.replay import vectors as bundled
from ahasd.sim.benches.simulators import environment, find_simulator, first_error, launch, simulator_file
from ahasd.sim.port_bits import port_map

__all__ = ["BENCHES", "BenchResult", "bench_result", "run_bench"]

BENCHES = ("control_unit", "rank_gate", "registers", "ahasd_top", "attention_unit")
"""Benches; each has a module ``cocotb_NAME`` here and runs on the Verilog module NAME."""
STREAMS, EVENTS = 4, 400
"""Random environments played beside the vectors, and events in each."""
RUN_LIMIT = 180.0
"""Seconds for each; Verilator needs 2 for a vector."""


@dataclass(frozen=True, kw_only=True)
class BenchResult:
    """What a run of a bench found."""

    bench: str
    simulator: str
    seed: int
    passed: tuple[str, ...]
    failed: dict[str, str]
    """Test name to message."""
    report: dict[str, Any]
    """``totals`` of events and cycles; ``decisions`` and ``pressure`` bins by name."""
    waves: Path | None

    @property
    def missed(self) -> list[str]:
        """Bins that have not come about."""
        bins = {**self.report.get("decisions", {}), **self.report.get("pressure", {})}
        return [name for name, count in bins.items() if not count]


def run_bench(
    bench: str | None = "control_unit",
    simulator: str = "verilator",
    seed: int | None = None,
    waves: bool = False,
    vectors: Sequence[Path] | None = None,
    verilog: Path | None = None,
) -> int:
    """Run a bench and print a summary; the exit code, 1 if a test fails.

    Parameters
    ----------
    bench : str, optional
        A name in :data:`BENCHES`; all of them if None.
    simulator : str
        ``verilator`` or ``icarus``.
    seed : int, optional
        Of all agents and random environments; drawn and printed if not given.
    waves : bool
        Keep the waves, as BENCH.vcd (Verilator) or BENCH.fst (Icarus) in the working directory.
    vectors : sequence of Path, optional
        Replay files to play instead of the bundled vectors. With those, every coverage bin is required.
    verilog : Path, optional
        The generated Verilog of the bench's module.

    Raises
    ------
    ConfigError
        If there is no such bench or simulator, or no Verilog is given.
    VectorError
        If a replay file cannot be read.
    ToolError
        If a tool is missing or fails.
    """
    code = 0
    for name in BENCHES if bench is None else (bench,):
        result = bench_result(name, simulator, seed, waves, vectors, verilog)
        _print(result)
        code |= bool(result.failed)
    return int(code)


def bench_result(
    bench: str,
    simulator: str = "verilator",
    seed: int | None = None,
    waves: bool = False,
    vectors: Sequence[Path] | None = None,
    verilog: Path | None = None,
    streams: int = STREAMS,
) -> BenchResult:
    """As :func:`run_bench`, without printing."""
    if bench not in BENCHES:
        raise ConfigError(f"bench: {bench!r} must be one of {', '.join(BENCHES)}")
    if verilog is None:
        raise ConfigError(f"bench {bench}: no Verilog given; `ahasd verilog {bench}` writes it")
    files = [path.resolve() for path in (bundled() if vectors is None else vectors)]
    for path in files:
        read_replay(path)  # a broken file is the user's error, not a failed test
    found = find_simulator(simulator)
    build = simulator_file(found, verilog, bench, waves)
    seed = secrets.randbelow(1 << 31) if seed is None else seed
    with tempfile.TemporaryDirectory(prefix="ahasd-bench-") as name:
        work = Path(name)
        settings = {
            "ports": port_map(UnitParams()),
            "vectors": [str(path) for path in files],
            "streams": streams,
            "events": EVENTS,
            "seed": seed,
            "require": vectors is None,
            "report": str(work / "report.json"),
        }
        (work / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        arguments = {
            "simulator": simulator,
            "test_module": f"ahasd.sim.benches.cocotb_{bench}",
            "hdl_toplevel": bench,
            "hdl_toplevel_lang": "verilog",
            "build_dir": str(build),
            "test_dir": str(work),
            "results_xml": str(work / "results.xml"),
            "seed": seed,
            "waves": waves,
        }
        if simulator == "icarus" and waves:
            arguments["plusargs"] = [f"+dumpfile_path={work / bench}.fst"]
        variables = environment(found, AHASD_BENCH=str(work / "settings.json"))
        limit = 120 + RUN_LIMIT * (len(files) + streams)
        code = launch("test", arguments, variables, work / "log", limit)
        return _collect(bench, f"{simulator} {found.version}", seed, work, code, files, waves)


def _collect(
    bench: str, simulator: str, seed: int, work: Path, code: int, files: list[Path], waves: bool
) -> BenchResult:
    results = work / "results.xml"
    if not results.exists():
        raise ToolError(f"bench {bench}: {simulator} ended with code {code}: {first_error(work / 'log')}")
    passed, failed = [], {}
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        name = _readable(case.get("name", ""), files)
        faults = [fault for tag in ("failure", "error") for fault in case.findall(tag)]
        if faults:
            text = faults[0].get("message") or faults[0].text or faults[0].get("error_msg") or "failed"
            failed[name] = text.strip().splitlines()[0]
        else:
            passed.append(name)
    report = work / "report.json"
    if code != 0 and not failed:
        failed["simulation"] = f"ended with code {code}: {first_error(work / 'log')}"
    kept = None
    if waves:
        kept = _keep_waves(bench, work)
    return BenchResult(
        bench=bench,
        simulator=simulator,
        seed=seed,
        passed=tuple(passed),
        failed=failed,
        report=json.loads(report.read_text(encoding="utf-8")) if report.exists() else {},
        waves=kept,
    )


def _readable(name: str, files: list[Path]) -> str:
    """A test's name, with the file's for a vector's number."""
    if name.startswith("vector/number="):
        return f"vector {files[int(name.rpartition('=')[2])].name}"
    return name


def _keep_waves(bench: str, work: Path) -> Path | None:
    for found, suffix in ((work / "dump.vcd", "vcd"), (work / f"{bench}.fst", "fst")):
        if found.exists():
            return Path(shutil.move(found, Path(f"{bench}.{suffix}").resolve()))
    return None


def _print(result: BenchResult) -> None:
    totals = result.report.get("totals", {})
    runs = len(result.passed) + len(result.failed)
    print(f"{result.bench} on {result.simulator}, seed {result.seed}")
    print(f"  {len(result.passed)} of {runs} tests passed", end="")
    print(f"; {totals.get('events', 0)} events in {totals.get('cycles', 0)} cycles")
    for name, message in result.failed.items():
        print(f"  failed: {name}: {message}")
    for kind in ("decisions", "pressure"):
        bins = result.report.get(kind, {})
        print(f"  coverage of {kind}: {sum(map(bool, bins.values()))} of {len(bins)} bins")
        width = max(map(len, bins), default=0)
        for name, count in bins.items():
            print(f"    {name:{width}}  {count or 'MISSED'}")
    if result.waves is not None:
        print(f"  waves: {result.waves}")

"""What a run writes for other viewers: an HTML page, a Perfetto trace, a GTKWave save file."""

from __future__ import annotations

import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ahasd.sim.config import RunConfig
from ahasd.sim.perfetto import trace_text
from ahasd.sim.result import Result
from ahasd.sim.run import simulate
from ahasd.sim.run_page import run_page
from ahasd.sim.tracks import bins, tracks
from ahasd.sim.views import summary
from ahasd.sim.waves import declared, save_file

# Each with the names of its tracks: devices that split operators or do both tasks are one track.
SYSTEMS = {
    "ahasd": ["NPU", "PIM", "control unit"],
    "async": ["NPU", "PIM", "control unit"],
    "npu-pim-sync": ["NPU", "PIM"],
    "oracle": ["NPU", "PIM"],
    "npu-only": ["NPU"],
    "pim-only": ["PIM"],
    "pim-sd": ["PIM"],
    "specpim": ["NPU + PIM"],
    "gpu-only": ["GPU"],
    "specpim-gpu": ["PIM + GPU"],
}
WHOLE = ("NPU", "PIM", "GPU")


def run(system: str, tokens: int = 48) -> Result:
    return simulate(RunConfig(system=system, tokens=tokens))


def page(result: Result) -> str:
    return run_page(result.runs[0], result.to_dict())


def trace(result: Result) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(trace_text(result.runs[0], result.to_dict()))
    return document


def threads(document: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Events of each thread by the thread's name."""
    events = document["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    return {
        name: [e for e in events if e.get("tid") == tid and e["ph"] != "M"] for tid, name in names.items()
    }


def ps(microseconds: float) -> int:
    return round(microseconds * 10**6)


@pytest.mark.parametrize("system", SYSTEMS)
def test_tasks_of_a_track_do_not_overlap_and_are_all_that_its_device_did(system: str) -> None:
    result = run(system)
    found = threads(trace(result))
    assert list(found) == SYSTEMS[system]
    sums = result.to_dict()
    for name, events in found.items():
        tasks = [(ps(e["ts"]), ps(e["ts"]) + ps(e["dur"])) for e in events if e["ph"] == "X"]
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(tasks))
        assert all(0 <= begin < end <= sums["time_ps"] for begin, end in tasks)
        if name in WHOLE:
            times = sums[name.lower()]
            assert sum(end - begin for begin, end in tasks) == sum(times.values()) - times["idle_ps"]


def test_the_kinds_of_tasks_add_up_to_the_figures_of_the_run() -> None:
    result = run("ahasd", 200)
    found, sums = threads(trace(result)), result.to_dict()
    for kind in ("draft", "preverify", "aborted"):
        spent = sum(ps(e["dur"]) for e in found["PIM"] if e["cat"] == kind)
        assert 0 < spent == sums["pim"][f"{kind}_ps"]
    verifications = found["NPU"]
    assert sum(ps(e["args"]["blocked_us"]) for e in verifications) == sums["npu"]["blocked_ps"]
    assert sum(ps(e["args"]["wasted_us"]) for e in verifications) == sums["npu"]["wasted_ps"]
    assert sum(e["args"]["accepted"] for e in verifications) == sums["accepted"]


def test_events_have_what_the_format_demands() -> None:
    needs = {
        "X": {"name", "cat", "ts", "dur", "pid", "tid"},
        "i": {"name", "cat", "ts", "s", "pid", "tid"},
        "C": {"name", "ts", "pid", "args"},
        "M": {"name", "pid", "tid", "args"},
    }
    document = trace(run("ahasd"))
    assert document["displayTimeUnit"] == "ms"
    assert {e["ph"] for e in document["traceEvents"]} == set(needs)
    for event in document["traceEvents"]:
        assert needs[event["ph"]] <= set(event)


def test_decisions_are_those_of_the_recording_at_the_tasks_that_they_begin() -> None:
    result = run("ahasd", 200)
    recording = result.runs[0].recording
    assert recording is not None
    found = threads(trace(result))
    decisions = found["control unit"]
    expected = [type(d).__name__.lower() for step in recording.steps for d in step.decisions]
    assert [e["name"] for e in decisions] == expected
    tick = 256 * 1250  # ps, the defaults
    for decided, task in (("verify", "NPU"), ("draft", "PIM")):
        times = [ps(e["ts"]) for e in decisions if e["name"] == decided]
        begins = [ps(e["ts"]) for e in found[task] if e["name"] == decided]
        assert len(times) - len(begins) in (0, 1)  # the last one may begin when the run ends
        assert all(0 <= begin - at <= 2 * tick for at, begin in zip(times, begins, strict=False))


def test_queued_tokens_fall_to_none_and_never_below() -> None:
    counters = [e["args"]["tokens"] for e in trace(run("ahasd", 200))["traceEvents"] if e["ph"] == "C"]
    assert counters[0] == min(counters) == 0
    assert max(counters) > 1
    assert all(a != b for a, b in itertools.pairwise(counters))


class Reader(HTMLParser):
    """Text, references and balance of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self.counts: dict[str, int] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_page_stands_alone_and_holds_the_figures(system: str) -> None:
    result = run(system)
    text = page(result)
    reader = Reader(text)
    assert reader.open == []
    assert reader.links == []
    assert not re.search(r"https?:|url\(|@import|<script", text)
    for row in summary(result):
        if row.group:  # all but how long the simulation took
            assert row.value in reader.texts
    assert reader.counts["svg"] == 2
    assert set(SYSTEMS[system]) - {"control unit"} <= set(reader.texts)
    assert ("unit: verify" in reader.texts) == ("control unit" in SYSTEMS[system])


def test_the_page_of_a_long_run_is_small() -> None:
    result = run("ahasd", 1024)
    text = page(result)
    assert len(text.encode()) < 1_000_000
    # Only the first verifications one by one.
    assert text.count("<title>verification: ") == 40 < result.to_dict()["verifications"]


def test_the_strip_shares_out_all_the_time_of_a_track() -> None:
    result = run("ahasd")
    time_ps = result.runs[0].tally.time_ps
    edges = [time_ps * number // 7 for number in range(8)]
    for track in tracks(result.runs[0]):
        shares = bins(track, edges)
        whole = sum(sum(share.values()) for share in shares)
        assert whole == sum(busy.end - busy.begin for busy in track.busy)
        for share, begin, end in zip(shares, edges, edges[1:], strict=False):
            assert sum(share.values()) <= end - begin


@pytest.mark.parametrize("system", ["ahasd", "pim-sd"])
def test_two_runs_give_the_same_bytes(system: str) -> None:
    first, second = run(system), run(system)
    assert page(first) == page(second)
    assert trace(first) == trace(second)


def test_the_save_file_shows_waves_that_are_there_in_groups(tmp_path: Path) -> None:
    vcd = tmp_path / "run.vcd"
    simulate(RunConfig(tokens=3, engine="rtl"), vcd=vcd)
    names = declared(vcd)
    lines = save_file(vcd).read_text(encoding="utf-8").splitlines()
    waves = [line.partition("[")[0] for line in lines if not line.startswith(("[", "-", "@"))]
    assert waves
    assert set(waves) <= set(names)
    groups = [line[1:] for line in lines if line.startswith("-")]
    streams = ["token", "feedback", "result", "task", "verify", "commit"]
    assert groups[::2] == groups[1::2] == ["clock", *streams, "abort", "state"]
    ends = {wave.rpartition(".")[2] for wave in waves}
    for stream in streams:
        assert {f"{stream}__valid", f"{stream}__ready", f"{stream}__payload"} <= ends
    assert {"clk", "status", "cause"} <= ends

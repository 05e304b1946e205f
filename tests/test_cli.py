"""The command line: exit codes, one-line errors, JSON alone on standard output, files whole or not at all."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ahasd.cli import compare, hardware, main, replay, run
from ahasd.models.language_files import DEFAULT_PAIR
from ahasd.models.platform import DEFAULT_PLATFORM
from ahasd.models.policies import DEFAULT_POLICY
from ahasd.models.replay import vectors
from ahasd.models.traces import DEFAULT_TRACE
from ahasd.sim.systems import DEFAULT_SYSTEM

COMMANDS = ("run", "compare", "reproduce", "replay", "trace", "platform", "verilog", "area", "cocotb")


class Called(NamedTuple):
    code: int
    out: str
    err: str


def call(*arguments: str) -> Called:
    """Run the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(list(arguments))
    code = ended.value.code
    assert isinstance(code, int)
    return Called(code, out.getvalue(), err.getvalue())


def shell(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ahasd", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


# Bad input: one line, exit code 2.


BAD: list[tuple[str, str]] = [
    ("run --system asinc", "near: async"),
    ("run --system async+edc+edc", "at most once"),
    ("run --system gpu-only --engine golden", "no control unit"),
    ("run --system nosuch.py", "cannot be read"),
    ("run --system npu-pim-sync --engine golden", "no control unit"),
    ("run --engine gold", "near: golden"),
    ("run --pair llama2-7b", "near: llama2-7b"),
    ("run --pair opt-1.3b/none", "near:"),
    ("run --policy svap", "near: svip"),
    ("run --platform ahast", "near: ahasd"),
    ("run --platform no/such.toml", "no/such.toml"),
    ("run --trace smollm2-sampled/77", "near: smollm2-sampled"),
    ("run --trace no/such.npz", "no such file"),
    ("run --trace synth:acceptence=0.8", "near: synth.acceptance"),
    ("run --tokens 0", "from 1 to 1024"),
    ("run --tokens 1025", "from 1 to 1024"),
    ("run --tokens many", "--tokens"),
    ("run --set control.max_draft", "expected key=value"),
    ("run --set max_draft=3", "keys begin with platform., control., policy., system."),
    ("run --set control.max_draf=3", "near: control.max_draft"),
    ("run --set control.max_draft=17", "1..16"),
    ("run --set control.max_draft=x", "'x' must be an integer"),
    ("run --set control.tick_cycles=3", "power of two"),
    ("run --set control.edc=perhaps", "true or false"),
    ("run --set control.suppress=never", "wait, preverify"),
    ("run --set control.context=32000", "more than"),
    ("run --set platform.contention=maybe", "block, yield, none"),
    ("run --set platform.pim.draft_ranks=16", "16 ranks"),
    ("run --set platform.dram.rank_mib=16", "GB"),
    ("run --set system.colour=red", "system.aau"),
    ("run --set policy.threshold=nan", "policy.threshold"),
    ("run --json --text", "nothing else"),
    ("run --vcd waves.vcd", "--engine rtl"),
    ("run --record no/such/folder/file.jsonl", "no such folder"),
    ("run --record r.jsonl --system npu-pim-sync", "no control unit"),
    ("run --record r.jsonl --trace smollm2-greedy", "name one"),
    ("run --no-such-option", "No such option"),
    ("run extra", "unexpected extra argument"),
    ("no-such-command", "No such command"),
    ("compare --systems ahasd,asinc", "near: async"),
    ("replay", "a file is missing"),
    ("replay no-such-file.jsonl", "no-such-file.jsonl: cannot be read"),
    ("replay --check --engine none", "near:"),
    ("trace show none/00", "no such trace"),
    ("trace synth acceptance=2 -o new", "0..1"),
    ("trace synth --count 0 -o new", "from 1 to 100"),
    ("trace record --target a --draft b --prompt @no.txt -o new", "no.txt: cannot be read"),
    ("trace", ""),
    ("platform show none", "near:"),
    ("platform show --set platform.npu.arays=2", "near: platform.npu.arrays"),
    ("verilog none -o .", "control_unit"),
]


@pytest.mark.parametrize(("line", "expected"), BAD, ids=[line for line, _ in BAD])
def test_bad_input_is_one_line(
    line: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    called = call(*line.split())
    assert called.code == 2
    if line != "trace":
        assert called.out == ""
    assert called.err.startswith("ahasd: ")
    assert called.err.count("\n") == 1
    assert expected in called.err
    assert not list(tmp_path.iterdir())


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5000])


def _not_json(path: Path) -> None:
    path.write_text("{", encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "spoil"),
    [("00_essay.npz", _truncated), ("provenance.json", _not_json), ("pieces.json", _not_json)],
)
def test_a_broken_trace_names_its_file(file: str, spoil: Callable[[Path], None], tmp_path: Path) -> None:
    from ahasd.models import traces

    home = Path(traces.__file__).parent / "data" / "traces" / "smollm2-sampled"
    for name in ("00_essay.npz", "provenance.json", "pieces.json"):
        shutil.copy(home / name, tmp_path)
    assert call("run", "--tokens", "5", "--trace", str(tmp_path / "00_essay.npz")).code == 0
    spoil(tmp_path / file)
    called = call("run", "--tokens", "5", "--trace", str(tmp_path / "00_essay.npz"))
    assert called.code == 2
    assert called.err.count("\n") == 1
    assert str(tmp_path / file) in called.err


# Vectors.


def _spoilt(change: Callable[[list[dict[str, Any]]], None], path: Path) -> Path:
    lines = [json.loads(line) for line in vectors()[0].read_text(encoding="utf-8").splitlines()]
    change(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_replay_agrees_with_all_vectors() -> None:
    called = call("replay", "--check")
    assert called.code == 0, called.err
    assert called.out.count("decides the same") == len(vectors()) == 40


def test_replay_names_the_first_line_that_differs(tmp_path: Path) -> None:
    def change(lines: list[dict[str, Any]]) -> None:
        lines[3]["decisions"][0]["position"] += 1

    path = _spoilt(change, tmp_path / "v.jsonl")
    called = call("replay", str(path), "--check")
    assert called.code == 1
    assert f"{path}: line 4: expected" in called.err


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lines: lines.pop(), "truncated"),
        (lambda lines: lines[2]["event"].pop("entropy"), ":3: expected the keys"),
        (lambda lines: lines[2]["event"].update(event="tokn"), ":3: event: 'tokn'"),
        (lambda lines: lines[0]["config"].update(max_draft=99), ":1: config: max_draft: 99"),
        (
            lambda lines: lines.insert(2, {"event": {"at": 4294066796, "event": "aborted"}, "decisions": []}),
            ":3",
        ),
    ],
)
def test_a_broken_vector_is_bad_input(
    change: Callable[[list[dict[str, Any]]], None], expected: str, tmp_path: Path
) -> None:
    path = _spoilt(change, tmp_path / "v.jsonl")
    called = call("replay", str(path), "--check")
    assert called.code == 2
    assert called.err.startswith(f"ahasd: {path}:")
    assert expected in called.err


def test_replay_writes_what_it_decided(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    source = vectors()[1]
    assert call("replay", str(source), "-o", str(out)).code == 0
    assert out.read_text(encoding="utf-8") == source.read_text(encoding="utf-8")
    assert call("replay", str(source)).out == source.read_text(encoding="utf-8")


# Output.


def test_json_is_one_document_and_nothing_else() -> None:
    called = call("run", "--tokens", "30", "--json")
    assert (called.code, called.err) == (0, "")
    document = json.loads(called.out)
    assert list(document) == [
        "schema",
        "config",
        "trace",
        "system",
        "engine",
        "tokens",
        "lossless",
        "time_ps",
        "tokens_per_s",
        "ttft_ps",
        "prefill_ps",
        "drafted",
        "committed_drafts",
        "useful",
        "verified",
        "accepted",
        "acceptance",
        "verifications",
        "tokens_per_verification",
        "npu",
        "pim",
        "gpu",
        "edc",
        "tvc",
        "counters",
        "energy",
        "wall",
    ]
    assert list(document["edc"]) == ["predictions", "suppressed", "correct", "accuracy"]
    assert list(document["npu"]) == ["busy_ps", "idle_ps", "blocked_ps", "wasted_ps"]


@pytest.mark.parametrize("line", ["compare --tokens 20", "trace list", "trace show factbook-sampled"])
def test_other_json(line: str) -> None:
    called = call(*line.split(), "--json")
    assert (called.code, called.err) == (0, "")
    assert isinstance(json.loads(called.out), dict)


def test_platform_shows_sources_and_notes() -> None:
    called = call("platform", "show")
    assert "platform.pim.draft_ranks" in called.out
    assert "What follows from them" in called.out
    document = json.loads(call("platform", "show", "--set", "platform.npu.arrays=4", "--json").out)
    (arrays,) = [row for row in document["parameters"] if row["path"] == "platform.npu.arrays"]
    assert arrays["value"] == 4
    assert document["notes"]


def test_text_marks_what_was_dropped() -> None:
    called = call("run", "--tokens", "60", "--text", "-v")
    assert "[-" in called.out
    assert "PIM meanwhile" in called.out
    assert "\x1b" not in called.out


def test_out_writes_whole_files(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "results"
    called = call("run", "--tokens", "40", "--out", str(folder), "--record", str(tmp_path / "r.jsonl"))
    assert called.code == 0
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["report.html", "run.json", "summary.txt", "text.txt", "timeline.txt", "trace.json"]
    assert json.loads((folder / "run.json").read_text())["tokens"] >= 40
    assert call("replay", str(tmp_path / "r.jsonl"), "--check").code == 0


def test_an_output_folder_that_is_a_file_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    called = call("run", "--tokens", "5", "--out", str(tmp_path / "file"))
    assert called.code == 2
    assert "cannot be created" in called.err


def test_compare_sets_systems_side_by_side() -> None:
    called = call("compare", "--systems", "npu-pim-sync,ahasd", "--tokens", "40")
    assert called.code == 0
    table, bars = called.out.split("\n\n")
    assert table.splitlines()[0].split()[:2] == ["system", "tokens/s"]
    for part in (table.splitlines()[1:], bars.splitlines()):
        assert [line.split()[0] for line in part] == ["npu-pim-sync", "ahasd"]


def test_verilog_of_a_block(tmp_path: Path) -> None:
    called = call("verilog", "entropy_average", "-o", str(tmp_path))
    assert called.code == 0, called.err
    assert Path(called.out.splitlines()[0]).suffix == ".sv"
    assert "module" in Path(called.out.splitlines()[0]).read_text(encoding="utf-8")


def test_waves_of_the_rtl(tmp_path: Path) -> None:
    path = tmp_path / "run.vcd"
    called = call("run", "--tokens", "3", "--engine", "rtl", "--vcd", str(path))
    assert called.code == 0, called.err
    assert "$enddefinitions" in path.read_text(encoding="utf-8")
    assert list(tmp_path.glob("*.gtkw"))


# Help and start.


def test_help_is_everywhere_and_has_an_example() -> None:
    top = call("--help")
    assert top.code == 0
    assert all(command in top.out for command in COMMANDS)
    lines = [[command] for command in COMMANDS if command not in ("trace", "platform")]
    for group in ("trace", "platform"):
        lines += [[group, "list"], [group, "show"]]
    for line in lines:
        called = call(*line, "--help")
        assert called.code == 0
        assert "Example: ahasd " in called.out


@pytest.mark.parametrize("example", [run.EXAMPLE, compare.EXAMPLE, hardware.VERILOG_EXAMPLE, replay.EXAMPLE])
def test_examples_parse(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples run, shortened; the recorded file that one names is made first."""
    monkeypatch.chdir(tmp_path)
    words = example.removeprefix("Example: ahasd ").split()
    if "--tokens" in words:
        words[words.index("--tokens") + 1] = "20"
    if words[0] == "replay":
        assert call("run", "--tokens", "3", "--record", "recorded.jsonl").code == 0
    assert call(*words).code == 0


def test_help_names_the_true_defaults() -> None:
    text = " ".join(call("run", "--help").out.split())
    for default in (
        DEFAULT_PAIR,
        DEFAULT_PLATFORM,
        DEFAULT_POLICY,
        DEFAULT_TRACE,
        "compiled",
        DEFAULT_SYSTEM,
    ):
        assert f"[default: ({default})]" in text


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from ahasd.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'simpy', 'amaranth', 'rich'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_version_and_no_command() -> None:
    assert call("--version").out.startswith("ahasd ")
    called = call()
    assert called.code == 0
    assert "Commands:" in called.out


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m ahasd replay {vectors()[0]} | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith('{"config"')
    assert done.stderr == ""


def test_as_a_process() -> None:
    done = shell("run", "--tokens", "10", "--json", COLUMNS="40", TERM="dumb")
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["tokens"] >= 10
    assert shell("run", "--system", "x").returncode == 2


def test_the_facade() -> None:
    import ahasd

    assert ahasd.simulate(ahasd.RunConfig(tokens=5)).tally.tokens >= 5
    assert ahasd.load_trace(DEFAULT_TRACE).name == DEFAULT_TRACE
    assert ahasd.platform("ahasd").name == "ahasd"
    assert set(ahasd.__all__) <= set(dir(ahasd))
    with pytest.raises(AttributeError):
        _ = ahasd.no_such_thing
    with pytest.raises(ahasd.AhasdError):
        ahasd.simulate(ahasd.RunConfig(tokens=0))

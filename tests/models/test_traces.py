"""Finding, loading and checking trace files; messages name file, field, position, what was expected."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ahasd.models.errors import TraceError
from ahasd.models.traces import DEFAULT_TRACE, list_traces, load_set, load_trace, resolve

HOME = Path(load_trace.__code__.co_filename).parent / "data" / "traces"
SOURCE = HOME / "smollm2-sampled"
Arrays = dict[str, np.ndarray[Any, Any]]


@pytest.fixture
def broken(tmp_path: Path) -> Callable[..., Path]:
    """Writes a copy of a bundled trace (turn ends included) after a change, without its digest."""

    def write(change: Callable[[Arrays], object], provenance: dict[str, Any] | None = None) -> Path:
        with np.load(SOURCE / "01_facts.npz") as archive:
            arrays = dict(archive)
        change(arrays)
        np.savez(tmp_path / "x.npz", **arrays)
        (tmp_path / "pieces.json").write_bytes((SOURCE / "pieces.json").read_bytes())
        data = json.loads((SOURCE / "provenance.json").read_text()) | {"files": {}} | (provenance or {})
        (tmp_path / "provenance.json").write_text(json.dumps(data))
        return tmp_path / "x.npz"

    return write


def put(name: str, at: Any, value: Any) -> Callable[[Arrays], object]:
    def change(arrays: Arrays) -> None:
        arrays[name][at] = value

    return change


def replace(name: str, make: Callable[[np.ndarray[Any, Any]], Any]) -> Callable[[Arrays], object]:
    def change(arrays: Arrays) -> None:
        arrays[name] = np.asarray(make(arrays[name]))

    return change


def test_all_bundled_traces_load() -> None:
    names = list_traces()
    assert len(names) == 24
    assert DEFAULT_TRACE in names
    for name in names:
        trace = load_trace(name)
        assert (trace.name, trace.rows, trace.steps) == (name, 1024, 64)
        assert trace.context == len(trace.prompt)
        assert trace.text(trace.y[:8].tolist())


def test_arrays_are_read_only() -> None:
    trace = load_trace(DEFAULT_TRACE)
    for array in (trace.y, trace.draft, trace.entropy, trace.prompt):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_sets_and_paths() -> None:
    assert [t.name for t in load_set("factbook-sampled")] == [f"factbook-sampled/0{n}" for n in range(6)]
    assert [t.name for t in resolve("smollm2-greedy/02")] == ["smollm2-greedy/02"]
    assert len(resolve("smollm2-greedy")) == 6
    several = resolve("smollm2-greedy/02, factbook-sampled,smollm2-greedy/02")
    assert len(several) == 8
    assert several[0] is several[7], "a trace named twice is read once"
    path = SOURCE / "00_essay.npz"
    assert load_trace(path).name == str(path)
    assert [t.name for t in resolve(str(SOURCE))] == [str(p) for p in sorted(SOURCE.glob("*.npz"))]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("smolm2-sampled/00", "no such trace; near: smollm2-sampled/0"),
        ("nonsense", "near: factbook-sampled, factbook-templated, smollm2-greedy, smollm2-sampled"),
        ("smollm2-sampled/06", "no such trace; near: smollm2-sampled/0"),
        ("nowhere/x.npz", "no such file"),
        ("smollm2-sampled", "name one, such as smollm2-sampled/00"),
        ("", "no such trace"),
    ],
)
def test_unknown_names(spec: str, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        load_trace(spec)


def test_a_trace_is_no_set() -> None:
    with pytest.raises(TraceError, match="is one trace"):
        load_set("smollm2-sampled/00")


BAD: list[tuple[Callable[[Arrays], object], str]] = [
    (replace("y", lambda a: a[:1024]), r"y has shape \[1024\], expected \[1088\]"),
    (replace("draft", lambda a: a[:, :32]), r"draft has shape \[1024, 32\], expected \[1024, 64\]"),
    (replace("y", lambda a: a.astype(float)), "y has type float64, expected an integer type"),
    (replace("top1", lambda a: a.astype(int)), "top1 has type int64, expected a floating-point type"),
    (
        replace("y", lambda a: a.astype(np.int64) - 50000),
        r"y\[0\] is -\d+, expected a token id from 0 to 262143",
    ),
    (put("draft", (7, 3), 60000), r"draft\[7, 3\] is 60000, which has no text in pieces.json"),
    (put("entropy", (5, 6), np.nan), r"entropy\[5, 6\] is nan, expected 0 to h_max = 7 nats"),
    (put("entropy", (5, 6), 7.5), r"entropy\[5, 6\] is 7.5, expected 0 to h_max = 7 nats"),
    (put("entropy", (5, 6), -0.5), r"entropy\[5, 6\] is -0.5, expected 0 to"),
    (put("target_entropy", 9, np.inf), r"target_entropy\[9\] is inf, expected finite nats"),
    (put("top1", (0, 0), 1.5), r"top1\[0, 0\] is 1.5, expected a probability from 0 to 1"),
    (put("accept_pred", (1023, 63), -0.1), r"accept_pred\[1023, 63\] is -0.0999\d*, expected a probability"),
    (put("top1", (0, 0), 0.001), r"entropy\[0, 0\] is .*, expected at least -ln\(top1\)"),
    (put("lookahead", 3, 65), r"lookahead\[3\] is 65, expected 1 to 64"),
    (put("lookahead", 3, 0), r"lookahead\[3\] is 0, expected 1 to 64"),
    (put("lookahead", 111, 2), r"lookahead\[111\] is 2, expected 1 \(the turn ends before position 112\)"),
    (put("turn", 500, 1), r"turn\[500\] is 1, expected at least 6, the turn before it"),
    (
        put("turn", slice(1000, None), 99),
        r"lookahead\[975\] is 64, expected 25 \(the turn ends before position 1000\)",
    ),
    (put("match_len", 4, 63), r"match_len\[4\] is 63, expected \d+, the draft tokens equal to y from 4 on"),
    (put("context", (), 0), "context is 0, expected 1 to 32767"),
    (put("context", (), 40000), "context is 40000, expected 1 to 32767"),
    (put("context", (), 37), r"prompt has shape \[38\], expected \[context\] = \[37\]"),
    (put("prompt_token", (), 5), "prompt_token is 5, expected 198, the last of prompt"),
    (lambda a: a.pop("turn"), "no field turn, expected y, draft, entropy"),
    (replace("y", lambda a: a.astype(object)), "y is damaged"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[m[:30] for _, m in BAD])
def test_contradictions(
    broken: Callable[..., Path], change: Callable[[Arrays], object], message: str
) -> None:
    path = broken(change)
    with pytest.raises(TraceError, match=message) as caught:
        load_trace(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_an_end_of_turn_after_the_last_row_is_seen(broken: Callable[..., Path]) -> None:
    def change(arrays: Arrays) -> None:
        arrays["lookahead"][975:] = np.minimum(64, 1030 - np.arange(975, 1024))
        arrays["match_len"] = np.minimum(arrays["match_len"], arrays["lookahead"])

    assert load_trace(broken(change)).lookahead[-1] == 7


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"h_max": 0}, "h_max is 0, expected nats above 0"),
        ({"h_max": "7"}, "h_max is '7'"),
        ({"vocab_draft": True}, "vocab_draft is True, expected an integer"),
        ({"vocab_draft": 10}, "draft has 245 different ids, expected at most vocab_draft = 10"),
        ({"vocab": 1000}, r"expected a token id from 0 to 999"),
        ({"files": ["x.npz"]}, "files must map file names"),
        ({"files": {"x.npz": "0" * 64}}, "SHA-256 is [0-9a-f]{16}..., provenance.json expects 0000"),
    ],
)
def test_provenance(broken: Callable[..., Path], extra: dict[str, Any], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        load_trace(broken(lambda arrays: None, extra))


def test_damaged_files(broken: Callable[..., Path], tmp_path: Path) -> None:
    path = broken(lambda arrays: None)
    whole = path.read_bytes()
    for blob in (b"", b"PK", whole[:1000], whole[: len(whole) // 2], b"\x93NUMPY" + whole[6:], b"text"):
        path.write_bytes(blob)
        with pytest.raises(TraceError, match=r"x\.npz: not an .npz archive, or truncated"):
            load_trace(path)
    with path.open("wb") as out:
        np.save(out, np.zeros(3))
    with pytest.raises(TraceError, match="holds one array"):
        load_trace(path)
    flipped = bytearray((SOURCE / "00_essay.npz").read_bytes())
    flipped[5000:5100] = bytes(100)
    path.write_bytes(flipped)
    with pytest.raises(TraceError, match=r"x\.npz: \w+ is damaged"):
        load_trace(path)


def test_companion_files(broken: Callable[..., Path], tmp_path: Path) -> None:
    path = broken(lambda arrays: None)
    (tmp_path / "pieces.json").write_text('{"one": "x"}')
    with pytest.raises(TraceError, match=r"pieces\.json: 'one' must be a token id"):
        load_trace(path)
    (tmp_path / "pieces.json").write_text("[]")
    with pytest.raises(TraceError, match=r"pieces\.json: is a JSON list, expected an object"):
        load_trace(path)
    (tmp_path / "pieces.json").write_bytes(b"\xff{")
    with pytest.raises(TraceError, match=r"pieces\.json: not JSON"):
        load_trace(path)
    (tmp_path / "provenance.json").unlink()
    with pytest.raises(TraceError, match=r"provenance\.json: no such file"):
        load_trace(path)

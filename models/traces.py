"""Recorded rollout traces: find, load, check.

A trace holds, for every position of the target model's own output y, the draft model's greedy rollout from
the true prefix, so that any schedule of drafting and verification can be replayed. Fields:
`models/data/traces/README.md`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ahasd.models.errors import TraceError
from ahasd.models.trace_checks import check_arrays
from ahasd.models.trace_files import read_arrays, read_pieces, read_provenance

__all__ = ["DEFAULT_TRACE", "Trace", "list_traces", "load_set", "load_trace", "resolve"]

DEFAULT_TRACE = "smollm2-sampled/00"
_HOME = Path(__file__).parent / "data" / "traces"

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """One recorded sequence. R rows (1024 in a file), K = 64 rollout steps; arrays are read-only.

    ``load_trace`` checks what it reads; a ``Trace`` made by hand is taken as it is.
    """

    name: str
    """``SET/NN`` for a bundled trace, else the path it was given as."""
    y: Ints
    """[R + K] the target model's own tokens."""
    draft: Ints
    """[R, K] ``draft[i, k]``: k-th token of the draft's rollout from the true prefix before ``y[i]``."""
    entropy: Floats
    """[R, K] nats, of the draft's softmax at that step."""
    top1: Floats
    """[R, K] its largest probability."""
    accept_pred: Floats
    """[R, K] learned probability that the token is accepted, given that all before it was."""
    match_len: Ints
    """[R] leading draft tokens equal to ``y[i:]``, at most ``lookahead``."""
    lookahead: Ints
    """[R] tokens of y there were to compare with: K, or less near the end of a chat turn."""
    turn: Ints
    """[R] chat turn, non-decreasing."""
    target_entropy: Floats
    """[R] nats, of the target's softmax."""
    prompt: Ints
    """[context] prompt ids."""
    h_max: float
    """Nats; entropies are quantised in 1/256 of it."""
    vocab_draft: int
    """Size of the draft model's output vocabulary (its ids may lie in a larger one)."""
    pieces: Mapping[int, str] = field(repr=False)
    """Text of every id that occurs."""
    provenance: Mapping[str, Any] = field(repr=False)

    @property
    def rows(self) -> int:
        """R: positions that have a rollout, the longest run."""
        return int(self.draft.shape[0])

    @property
    def steps(self) -> int:
        """K: recorded steps of a rollout."""
        return int(self.draft.shape[1])

    @property
    def context(self) -> int:
        """Prompt tokens."""
        return int(self.prompt.shape[0])

    @property
    def prompt_token(self) -> int:
        """Id of the last prompt token."""
        return int(self.prompt[-1])

    def text(self, ids: list[int]) -> str:
        """The ids as text; an id without a piece is shown as ``<id>``."""
        return "".join(self.pieces.get(i, f"<{i}>") for i in ids)


def list_traces() -> list[str]:
    """Names ``SET/NN`` of all bundled traces, sorted."""
    return [f"{p.parent.name}/{p.name[:2]}" for p in sorted(_HOME.glob("*/[0-9][0-9]_*.npz"))]


def load_trace(name: str | Path) -> Trace:
    """The trace called ``SET/NN``, or that of an ``.npz`` file with its two JSON files beside it.

    Raises
    ------
    TraceError
        If there is no such trace or it contradicts itself; one line with file, field and position.
    """
    found = _find(str(name))
    if len(found) != 1:
        raise TraceError(f"{name}: is a set of {len(found)} traces; name one, such as {name}/00")
    return _load(*found[0])


def load_set(name: str | Path) -> list[Trace]:
    """All traces of a set, or of a folder of ``.npz`` files, in order of their file names."""
    found = _find(str(name))
    if _is_one(str(name)):
        raise TraceError(f"{name}: is one trace; expected a set, one of {', '.join(_sets())}")
    return [_load(label, path) for label, path in found]


def resolve(spec: str | Path) -> list[Trace]:
    """What a user may give: ``SET/NN``, ``SET`` (all of it), a path, or several of these separated by commas.

    A trace named more than once is read once.
    """
    loaded: dict[TraceSource, Trace] = {}
    for source in find_traces(spec):
        if source not in loaded:
            loaded[source] = source.load()
    return [loaded[source] for source in find_traces(spec)]


@dataclass(frozen=True, slots=True)
class TraceSource:
    """Where a trace is read from; for work on many of them without holding all."""

    name: str
    path: Path

    def load(self) -> Trace:
        """Read and check it; raises TraceError."""
        return _load(self.name, self.path)


def find_traces(spec: str | Path) -> list[TraceSource]:
    """As :func:`resolve`, but only finds the traces."""
    return [TraceSource(*found) for part in str(spec).split(",") for found in _find(part.strip())]


def _sets() -> list[str]:
    return sorted({name.split("/")[0] for name in list_traces()})


def _is_one(spec: str) -> bool:
    return ("/" in spec and spec in list_traces()) or spec.endswith(".npz")


def _find(spec: str) -> list[tuple[str, Path]]:
    """(name, file) pairs that ``spec`` stands for; at least one."""
    if spec.startswith("synth:"):
        raise TraceError(f"{spec}: synthetic traces are not available yet")
    names = list_traces()
    wanted = [name for name in names if name == spec or name.split("/")[0] == spec]
    if wanted:
        return [(name, next(_HOME.glob(f"{name}_*.npz"))) for name in wanted]
    path = Path(spec)
    if path.is_dir() and (files := sorted(path.glob("*.npz"))):
        return [(str(file), file) for file in files]
    if spec.endswith(".npz"):
        return [(spec, path)]
    near = difflib.get_close_matches(spec, [*names, *_sets()], n=4, cutoff=0.5) or _sets()
    raise TraceError(f"{spec}: no such trace; near: {', '.join(near)}")


def _load(name: str, path: Path) -> Trace:
    provenance = read_provenance(path.with_name("provenance.json"))
    pieces = read_pieces(path.with_name("pieces.json"))
    raw = read_arrays(path, sha256=provenance.get("files", {}).get(path.name))
    arrays = check_arrays(str(path), raw, pieces, provenance)
    for array in arrays.values():
        array.flags.writeable = False
    return Trace(
        name=name,
        h_max=float(provenance["h_max"]),
        vocab_draft=int(provenance["vocab_draft"]),
        pieces=pieces,
        provenance=provenance,
        **arrays,
    )

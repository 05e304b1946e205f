"""Rollout traces, recorded or synthetic: find, load, check.

A trace holds, for every position of the target model's own output y, the draft model's greedy rollout from
the true prefix, so that any schedule of drafting and verification can be replayed. Fields:
`models/data/traces/README.md`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ahasd.models import synthetic
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
    """``SET/NN`` for a bundled trace, ``synth:...`` for a synthetic one, else the path it was given as."""
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

    @property
    def largest_id(self) -> int:
        """Of all token ids."""
        return int(max(self.y.max(), self.draft.max(), self.prompt.max()))

    def text(self, ids: list[int]) -> str:
        """The ids as text; an id without a piece is shown as ``<id>``."""
        return "".join(self.pieces.get(i, f"<{i}>") for i in ids)


def list_traces() -> list[str]:
    """Names ``SET/NN`` of all bundled traces, sorted."""
    return [f"{p.parent.name}/{p.name[:2]}" for p in sorted(_HOME.glob("*/[0-9][0-9]_*.npz"))]


def load_trace(name: str | Path) -> Trace:
    """The trace called ``SET/NN`` or ``synth:KEY=VALUE,...``, or that of an ``.npz`` file.

    Such a file has its two JSON files beside it.

    Raises
    ------
    TraceError
        If there is no such trace or it contradicts itself; one line with file, field and position.
    ConfigError
        If a setting of a synthetic trace is unknown or out of range.
    """
    found = _find(str(name))
    if len(found) != 1:
        raise TraceError(f"{name}: is a set of {len(found)} traces; name one, such as {name}/00")
    return found[0].load()


def load_set(name: str | Path) -> list[Trace]:
    """All traces of a set, or of a folder of ``.npz`` files, in order of their file names."""
    found = _find(str(name))
    if _is_one(str(name)):
        raise TraceError(f"{name}: is one trace; expected a set, one of {', '.join(_sets())}")
    return [source.load() for source in found]


def resolve(spec: str | Path) -> list[Trace]:
    """What a user may give: ``SET/NN``, ``SET`` (all of it), a path, or ``synth:KEY=VALUE,...``.

    Several are separated by commas. A trace named more than once is read once.
    """
    loaded: dict[TraceSource, Trace] = {}
    for source in find_traces(spec):
        if source not in loaded:
            loaded[source] = source.load()
    return [loaded[source] for source in find_traces(spec)]


@dataclass(frozen=True, slots=True)
class TraceSource:
    """Where a trace comes from; for work on many of them without holding all."""

    name: str
    origin: Path | synthetic.SyntheticSettings

    def load(self) -> Trace:
        """Read or make it, and check it; raises TraceError."""
        if isinstance(self.origin, Path):
            return _load(self.name, self.origin)
        return _checked(self.name, self.name, *synthetic.synthesise(self.origin))


def find_traces(spec: str | Path) -> list[TraceSource]:
    """As :func:`resolve`, but only finds the traces."""
    return [source for part in _parts(str(spec)) for source in _find(part)]


def _parts(spec: str) -> list[str]:
    """``spec`` at its commas, but not at those inside a synthetic trace's settings."""
    parts: list[str] = []
    for part in (text.strip() for text in spec.split(",")):
        if parts and parts[-1].startswith(synthetic.PREFIX) and re.match(r"\w+=", part):
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts


def _sets() -> list[str]:
    return sorted({name.split("/")[0] for name in list_traces()})


def _is_one(spec: str) -> bool:
    return (
        ("/" in spec and spec in list_traces()) or spec.endswith(".npz") or spec.startswith(synthetic.PREFIX)
    )


def _find(spec: str) -> list[TraceSource]:
    """What ``spec`` stands for; at least one."""
    if spec.startswith(synthetic.PREFIX):
        settings = synthetic.parse(spec)
        return [TraceSource(synthetic.name_of(settings), settings)]
    names = list_traces()
    wanted = [name for name in names if name == spec or name.split("/")[0] == spec]
    if wanted:
        return [TraceSource(name, next(_HOME.glob(f"{name}_*.npz"))) for name in wanted]
    path = Path(spec)
    if path.is_dir() and (files := sorted(path.glob("*.npz"))):
        return [TraceSource(str(file), file) for file in files]
    if spec.endswith(".npz"):
        return [TraceSource(spec, path)]
    near = difflib.get_close_matches(spec, [*names, *_sets()], n=4, cutoff=0.5) or _sets()
    raise TraceError(f"{spec}: no such trace; near: {', '.join(near)}")


def _load(name: str, path: Path) -> Trace:
    provenance = read_provenance(path.with_name("provenance.json"))
    pieces = read_pieces(path.with_name("pieces.json"))
    raw = read_arrays(path, sha256=provenance.get("files", {}).get(path.name))
    return _checked(name, str(path), raw, pieces, provenance)


def _checked(
    name: str,
    where: str,
    raw: Mapping[str, npt.NDArray[Any]],
    pieces: Mapping[int, str],
    provenance: Mapping[str, Any],
) -> Trace:
    arrays = check_arrays(where, raw, pieces, provenance)
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

"""The three files of a trace: read with errors of one line and nothing executed (no pickle), and written."""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ahasd.models.errors import TraceError
from ahasd.models.trace_checks import ROWS, STEPS

__all__ = ["FIELDS", "new_folder", "read_arrays", "read_pieces", "read_provenance", "write_set"]

FIELDS = (
    "y",
    "draft",
    "entropy",
    "top1",
    "accept_pred",
    "match_len",
    "lookahead",
    "turn",
    "target_entropy",
    "context",
    "prompt",
    "prompt_token",
)
"""Arrays of a trace file."""
H_LIMIT = math.log(1 << 18)
"""Nats: the entropy of a uniform choice among all ids that the control unit can hold."""
_DAMAGE = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    MemoryError,
    NotImplementedError,
    zlib.error,
    zipfile.BadZipFile,
)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise TraceError(f"{path}: no such file") from None
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({error.strerror})") from None


def _json_object(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(_bytes(path))
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path}: not JSON ({str(error).splitlines()[0]})") from None
    if not isinstance(data, dict):
        raise TraceError(f"{path}: is a JSON {type(data).__name__}, expected an object")
    return data


def read_arrays(path: Path, sha256: str | None = None) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an ``.npz`` file by name.

    Raises
    ------
    TraceError
        If the file is missing, damaged, pickled, lacks a field, or has another SHA-256 than ``sha256``.
    """
    blob = _bytes(path)
    if sha256 is not None and (actual := hashlib.sha256(blob).hexdigest()) != sha256:
        raise TraceError(f"{path}: SHA-256 is {actual[:16]}..., provenance.json expects {sha256[:16]}...")
    try:
        archive = np.load(io.BytesIO(blob), allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile):
        raise TraceError(f"{path}: not an .npz archive, or truncated") from None
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise TraceError(f"{path}: holds one array, expected an .npz archive")
    arrays: dict[str, npt.NDArray[Any]] = {}
    with archive:
        for name in FIELDS:
            if name not in archive.files:
                raise TraceError(f"{path}: no field {name}, expected {', '.join(FIELDS)}")
            try:
                arrays[name] = archive[name]
            except _DAMAGE as error:
                reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                raise TraceError(f"{path}: {name} is damaged ({reason})") from None
    return arrays


def read_pieces(path: Path) -> Mapping[int, str]:
    """Token id to text."""
    pieces: dict[int, str] = {}
    for key, text in _json_object(path).items():
        if not (key.isascii() and key.isdigit()) or not isinstance(text, str):
            raise TraceError(f"{path}: {key!r} must be a token id with its text")
        pieces[int(key)] = text
    return pieces


def read_provenance(path: Path) -> dict[str, Any]:
    """Where a set comes from; ``h_max`` and ``vocab_draft`` must be there.

    ``vocab``, ``files``, ``rows`` (1024) and ``steps`` (64) may.
    """
    data = _json_object(path)
    h_max, vocab = data.get("h_max"), data.get("vocab_draft")
    if not isinstance(h_max, int | float) or isinstance(h_max, bool) or not 0 < h_max <= H_LIMIT:
        raise TraceError(f"{path}: h_max is {h_max!r}, expected nats above 0 and at most ln 2^18 = 12.48")
    for key in ("vocab_draft", "vocab"):
        size = data.get(key, vocab)
        if not isinstance(size, int) or isinstance(size, bool) or not 2 <= size <= 1 << 18:
            raise TraceError(f"{path}: {key} is {size!r}, expected an integer from 2 to 2^18")
    for key, most in (("rows", ROWS), ("steps", STEPS)):
        count = data.get(key, most)
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= most:
            raise TraceError(f"{path}: {key} is {count!r}, expected an integer from 1 to {most}")
    files = data.get("files", {})
    if not isinstance(files, dict) or not all(isinstance(v, str) and len(v) == 64 for v in files.values()):
        raise TraceError(f"{path}: files must map file names to SHA-256 digests of 64 hex digits")
    return data


def new_folder(folder: Path) -> None:
    """Make the folder for a set, or take one without traces.

    Raises
    ------
    TraceError
        If ``folder`` holds a set already or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(f"{folder}: cannot be written ({error.strerror})") from None
    if any(folder.glob("*.npz")):
        raise TraceError(f"{folder}: holds traces already, expected a new folder")


def write_set(
    folder: Path,
    traces: Mapping[str, Mapping[str, npt.NDArray[Any]]],
    pieces: Mapping[int, str],
    provenance: Mapping[str, Any],
) -> list[Path]:
    """Write a set: an ``.npz`` for each trace, ``pieces.json``, and ``provenance.json`` with their SHA-256.

    The same arrays give the same bytes. ``provenance.json`` comes last, so that a set which has it is whole.

    Raises
    ------
    TraceError
        If ``folder`` holds a set already or cannot be written.
    """
    digests, paths = {}, []
    new_folder(folder)
    try:
        for name, arrays in traces.items():
            blob = io.BytesIO()
            stored: dict[str, Any] = {field: arrays[field] for field in FIELDS}
            np.savez_compressed(blob, **stored)
            digests[name] = hashlib.sha256(blob.getvalue()).hexdigest()
            paths.append(folder / name)
            paths[-1].write_bytes(blob.getvalue())
        text = json.dumps({str(i): pieces[i] for i in sorted(pieces)}, ensure_ascii=False)
        (folder / "pieces.json").write_text(text + "\n", encoding="utf-8")
        text = json.dumps({**provenance, "files": digests}, indent=1, ensure_ascii=False)
        (folder / "provenance.json").write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise TraceError(f"{folder}: cannot be written ({error.strerror})") from None
    return paths

"""Folders of results keyed by what they were made from, so that a second run is instant.

A folder is made under a temporary name and renamed when complete: runs at the same time at worst do the work
twice, and a reader never sees half of one.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ahasd.models import cache_root as cache
from ahasd.models.errors import ToolError

__all__ = ["cache_root", "content_key", "result_folder"]

_STALE_S = 24 * 3600  # a temporary folder this old was left by a run that was killed


def cache_root() -> Path:
    """Where result folders are kept."""
    return cache.cache_root() / "synth"


def content_key(*parts: str) -> str:
    """SHA-256 over texts, each with its length, so that no two lists share a key by concatenation."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()


def result_folder(key: str, make: Callable[[Path], None], root: Path | None = None) -> tuple[Path, bool]:
    """The folder for ``key`` and whether it was there already; else ``make`` fills it.

    Whatever ``make`` raises passes through; what it had written is kept as ROOT/failed/KEY.

    Raises
    ------
    ToolError
        If the cache cannot be written.
    """
    root = root or cache_root()
    folder = root / key
    if folder.is_dir():
        return folder, True
    try:
        root.mkdir(parents=True, exist_ok=True)
        _sweep(root)
        work = Path(tempfile.mkdtemp(prefix="tmp-", dir=root))
    except OSError as error:
        raise ToolError(
            f"{root}: {error.strerror}; set AHASD_CACHE to a folder that can be written"
        ) from None
    try:
        make(work)
        work.chmod(0o755)
        _rename(work, folder)
    except Exception:
        (root / "failed").mkdir(exist_ok=True)
        shutil.rmtree(root / "failed" / key, ignore_errors=True)
        _rename(work, root / "failed" / key)
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder, False


def _rename(work: Path, folder: Path) -> None:
    try:
        work.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another run was first, with the same content
            raise


def _sweep(root: Path) -> None:
    for left in root.glob("tmp-*"):
        with contextlib.suppress(OSError):  # another run may sweep too
            if time.time() - left.stat().st_mtime > _STALE_S:
                shutil.rmtree(left)

"""Where results that are dear to compute are kept between processes."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_root"]


def cache_root() -> Path:
    """``$AHASD_CACHE``, else ``$XDG_CACHE_HOME/ahasd``, else ``~/.cache/ahasd``; it need not exist."""
    if chosen := os.environ.get("AHASD_CACHE"):
        return Path(chosen)
    try:
        home = Path.home()
    except RuntimeError:  # no home folder: nothing will be kept
        home = Path(os.devnull)
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "ahasd"

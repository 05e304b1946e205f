"""Files that are written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ahasd.models.errors import AhasdError

__all__ = ["json_text", "make_folder", "write_whole"]


def json_text(document: Any) -> str:
    """One JSON document, indented, ending in a line end."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def make_folder(path: Path) -> None:
    """Create a folder and those above it.

    Raises
    ------
    AhasdError
        If that is not possible, with the reason.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AhasdError(f"{path}: cannot be created ({error.strerror})") from None


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` beside ``path`` and rename.

    Raises
    ------
    AhasdError
        If the file cannot be written, with the reason.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise AhasdError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        partial.unlink(missing_ok=True)

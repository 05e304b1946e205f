"""Terminal output shared by the commands: tables, progress, numbers from text."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence

__all__ = ["Progress", "announce", "print_table", "table_text"]

PATIENCE = 2.0
"""Seconds without a word on the terminal."""


def _render(rows: Iterable[Sequence[str]], header: Sequence[str], width: int | None, colour: bool) -> str:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=bool(header))
    body = [list(row) for row in rows]
    for index in range(len(body[0]) if body else len(header)):
        table.add_column(
            header[index] if header else "", style="bold" if index == 0 else None, overflow="fold"
        )
    for row in body:
        table.add_row(*row)
    console = Console(width=width, no_color=not colour, force_terminal=colour, highlight=False, markup=False)
    with console.capture() as capture:
        console.print(table)
    return "".join(line.rstrip() + "\n" for line in capture.get().splitlines())


def table_text(rows: Iterable[Sequence[str]], header: Sequence[str] = ()) -> str:
    """A table as plain text, as wide as it needs to be."""
    return _render(rows, header, 200, colour=False)


def print_table(rows: Iterable[Sequence[str]], header: Sequence[str] = ()) -> None:
    """A table on standard output; bold where it is a terminal."""
    terminal = sys.stdout.isatty()
    sys.stdout.write(_render(rows, header, None if terminal else 200, colour=terminal))


def announce(text: str) -> None:
    """Say, on a terminal only, what will take some time."""
    if sys.stderr.isatty():
        sys.stderr.write(text + "\n")


class Progress:
    """A line on standard error for work of more than two seconds; silent when that is no terminal."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown = 0.0
        self._active = sys.stderr.isatty()

    def __call__(self, name: str, done: int, wanted: int) -> None:
        """Show that ``done`` of ``wanted`` are done."""
        now = time.monotonic()
        if self._active and now - self._began > PATIENCE and now - self._shown > 0.2:
            self._shown = now
            sys.stderr.write(f"\r\x1b[K{name}: {done} of {wanted} tokens, {now - self._began:.0f} s")
            sys.stderr.flush()

    def end(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

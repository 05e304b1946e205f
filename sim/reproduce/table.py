"""A table: what each CSV file and each table of the page is made from."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Field", "Table", "text_of"]

Field = str | int | float | None


def text_of(value: Field) -> str:
    """Numbers to four significant digits, nothing for None."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under a header, with a title and what a reader must know."""

    name: str
    """Of the file, without ending."""
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Field]]
    note: str = ""

    def csv(self) -> str:
        """As CSV text."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows([text_of(field) for field in row] for row in self.rows)
        return text.getvalue()

    def markdown(self) -> str:
        """As a section of a Markdown page."""
        lines = [self.header, ["---"] * len(self.header), *([text_of(f) for f in row] for row in self.rows)]
        body = ["| " + " | ".join(field.replace("|", "\\|") for field in line) + " |" for line in lines]
        return "\n".join([f"## {self.title}", *(["", self.note] if self.note else []), "", *body, ""])

    def columns(self, *names: str) -> list[tuple[Field, ...]]:
        """The named columns of each row."""
        places = [list(self.header).index(name) for name in names]
        return [tuple(row[place] for place in places) for row in self.rows]

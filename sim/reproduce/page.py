"""One HTML page that holds everything and refers to nothing outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from ahasd.sim.reproduce.table import Field, Table, text_of

__all__ = ["STYLE", "page"]

STYLE = """
body { font: 14px/1.4 sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222 }
table { border-collapse: collapse; font-size: 12px }
td, th { border-bottom: 1px solid #ddd; padding: 2px 8px; text-align: left; vertical-align: top }
td.number { text-align: right; font-variant-numeric: tabular-nums }
tr.holds td:first-child { border-left: 4px solid #2a7 }
tr.under td:first-child { border-left: 4px solid #d90 }
tr.not td:first-child { border-left: 4px solid #c33 }
svg { max-width: 100%; height: auto }
summary { cursor: pointer; font-weight: bold }
"""
"""Of all our pages."""
LONG = 40
"""Rows above which a table is folded."""


def page(
    facts: Sequence[tuple[str, str]], tables: Sequence[Table], figures: Mapping[str, tuple[str, str]]
) -> str:
    """The page: what was run, each table, and the figures (title and ``svg`` element) that belong to it."""
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8"><title>AHASD: claims</title>',
        f"<style>{STYLE}</style></head><body>",
        "<h1>AHASD: every claim, on which assumptions</h1>",
        "<table>",
        *(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts),
        "</table>",
    ]
    for table in tables:
        parts.append(f'<h2 id="{table.name}">{escape(table.title)}</h2>')
        if table.note:
            parts.append(f"<p>{escape(table.note)}</p>")
        for name, (title, svg) in figures.items():
            if name.partition("_")[0] == table.name or name == table.name:
                parts += [f"<h3>{escape(title)}</h3>", svg]
        parts.append(_table(table))
    parts.append("</body></html>\n")
    return "\n".join(parts)


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    verdict = list(table.header).index("verdict") if "verdict" in table.header else None
    rows = [f"<tr{_class(row, verdict)}>{''.join(_cell(field) for field in row)}</tr>" for row in table.rows]
    text = "\n".join([f"<table><tr>{head}</tr>", *rows, "</table>"])
    if len(rows) <= LONG:
        return text
    return f"<details><summary>{len(rows)} rows ({table.name}.csv)</summary>\n{text}\n</details>"


def _class(row: Sequence[Field], verdict: int | None) -> str:
    if verdict is None:
        return ""
    text = str(row[verdict])
    kind = "holds" if text == "holds" else "under" if text.startswith("holds") else "not"
    return f' class="{kind}"'


def _cell(field: Field) -> str:
    kind = "" if isinstance(field, str) or field is None else ' class="number"'
    return f"<td{kind}>{escape(text_of(field))}</td>"

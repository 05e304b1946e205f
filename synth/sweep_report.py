"""The sweep as a table in Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from statistics import mean, stdev

from ahasd.models.control.params import UnitParams
from ahasd.synth.sweep import TOKENS, TRACES, Point

__all__ = ["HEADER", "csv_text", "markdown", "row"]

_COLUMNS = (
    *("variant", "PHT", "um2", "storage um2", "flip-flops", "ns", "MHz"),
    *("go on", "timer", "fix", "clear", "tokens/s", "against default"),
)
HEADER = f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}"
"""First two lines of the table."""


def row(point: Point, default: Point | None) -> str:
    """A point as a line of the table, with the gain over ``default``."""
    if point.problem:
        return f"| {point.name} | cannot be built: {point.problem} |{' |' * (len(_COLUMNS) - 2)}"
    cells = [point.name, str(UnitParams(**point.sizes).pht_entries)]
    cells += [f"{point.um2:.0f}", f"{point.storage_um2:.0f}", str(point.flops)]
    cells += [f"{point.period_ns:.3f}", f"{1000 / point.period_ns:.0f}"]
    cells += [str(point.cycles[key]) for key in ("go on", "timer", "fix", "clear")]
    cells += [f"{point.mean_tokens_per_s:.3f}", _gain(point, default)]
    return f"| {' | '.join(cells)} |"


def _gain(point: Point, default: Point | None) -> str:
    """Mean of the traces' gains, and its standard error."""
    if default is None or default.problem or not point.sizes:
        return ""
    gains = [100 * (speed / default.tokens_per_s[trace] - 1) for trace, speed in point.tokens_per_s.items()]
    return f"{mean(gains):+.1f} ± {stdev(gains) / len(gains) ** 0.5:.1f} %"


def markdown(points: Sequence[Point], library: str, engine: str) -> str:
    """The report."""
    default = next((point for point in points if not point.sizes), None)
    return "\n".join(
        [
            "# The control unit's sizes",
            "",
            f"Made by `make dse` (`ahasd sweep`; {library}, {engine}); memory arrays in flip-flops. Columns",
            "`go on` to `clear`: clock cycles from an event to the task that follows (`synth/sweep.py`).",
            f"Tokens/s: mean of {len(TRACES)} traces of {TOKENS} tokens, system `ahasd`, golden engine.",
            "The last column is the mean of the traces' gains and its standard error.",
            "What the table says: [synthesis.md](../synthesis.md#what-each-bit-buys).",
            "",
            HEADER,
            *(row(point, default) for point in points),
            "",
        ]
    )


def csv_text(points: Sequence[Point]) -> str:
    """One line a point, nested values with dotted keys."""
    rows = []
    for point in points:
        line: dict[str, object] = {}
        for key, value in asdict(point).items():
            if key == "sizes":
                line |= {size: getattr(UnitParams(**point.sizes), size) for size in UnitParams.RANGES}
            elif isinstance(value, dict):
                line |= {f"{key}.{inner}": v for inner, v in value.items()}
            else:
                line[key] = value
        rows.append(line)
    keys = list(dict.fromkeys(key for line in rows for key in line))
    text = io.StringIO()
    writer = csv.DictWriter(text, keys, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()

"""`python -m benchmarks [--quick] [-o FILE] [CASE ...]`: measure, print, write JSON."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.cases import CASES
from benchmarks.measure import machine

DIGITS = 4


def rounded(value: object) -> object:
    """Four significant digits: more is noise."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def table(rows: list[dict[str, object]]) -> str:
    """Rows as a Markdown table."""
    header = list(dict.fromkeys(key for row in rows for key in row))
    lines = [header, ["---"] * len(header)]
    lines += [[f"{row.get(key, '')}" for key in header] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> int:
    """Run the cases that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("-o", "--output", type=Path, help="write JSON there, and tables beside it")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}")
    results: dict[str, object] = {"machine": machine(), "quick": arguments.quick, "cases": {}}
    page = [
        "# Benchmarks",
        f"`make bench` on {machine()}. CPU seconds unless said otherwise; docs/benchmarks.md explains.",
    ]
    for name in arguments.cases or CASES:
        rows = [{key: rounded(value) for key, value in row.items()} for row in CASES[name](arguments.quick)]
        results["cases"][name] = rows  # type: ignore[index]
        purpose = (CASES[name].__doc__ or "").strip()
        page.append(f"## {name}\n\n{purpose}\n\n{table(rows)}")
        print("\n" + page[-1], flush=True)
        if arguments.output is not None:  # as it goes: an interrupted run keeps what it has
            arguments.output.parent.mkdir(parents=True, exist_ok=True)
            arguments.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            arguments.output.with_suffix(".md").write_text("\n\n".join(page) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

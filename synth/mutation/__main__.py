"""`python -m ahasd.synth.mutation`: mutants of the control unit; exit 1 below the required score."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ahasd.synth.mutation.library import build
from ahasd.synth.mutation.report import passed, report
from ahasd.synth.mutation.run import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ahasd.synth.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=240, help="mutants")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of mutants")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--report", type=Path, help="write the page to this file")
    given = parser.parse_args()
    mutants = run(build(given.count, given.seed), given.jobs)
    page = report(mutants)
    if given.report:
        given.report.write_text(page, encoding="utf-8")
    print(page)
    return int(not passed(mutants))


if __name__ == "__main__":
    sys.exit(main())

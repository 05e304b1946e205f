"""`python -m ahasd.synth.mutation`: mutants of the control unit; exit 1 below the required score."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from ahasd.synth.mutation.library import build
from ahasd.synth.mutation.run import report, run

REQUIRED = 0.95


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ahasd.synth.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=240, help="mutants")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of mutants")
    parser.add_argument("--budget", type=float, default=900, help="seconds of simulation at most")
    parser.add_argument("--report", type=Path, help="write the page to this file")
    given = parser.parse_args()
    library = build(given.count, given.seed)
    start = time.monotonic()
    mutants = sorted(run(library, given.budget), key=lambda mutant: mutant.number)
    page = report(mutants, time.monotonic() - start)
    if given.report:
        given.report.write_text(page, encoding="utf-8")
    print(page)
    return int(sum(m.seed is not None for m in mutants) < REQUIRED * len(mutants))


if __name__ == "__main__":
    sys.exit(main())

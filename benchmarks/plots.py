"""Plots of a benchmark's JSON: `python -m benchmarks.plots docs/reports/benchmarks.json docs/reports`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "ahasd"  # the same file from the same figures
from matplotlib import pyplot  # noqa: E402

PLOTS = {
    "sequences": ("sequences", ["times_one"], "cost of N sequences / cost of one", True),
    "length": ("tokens", ["ms_per_token"], "ms of CPU a token", False),
    "in_flight": ("batch", ["seconds"], "seconds of CPU for 256 tokens", False),
}


def main(source: Path, folder: Path) -> None:
    """One SVG a plot."""
    cases = json.loads(source.read_text(encoding="utf-8"))["cases"]
    for name, (x, ys, label, diagonal) in PLOTS.items():
        figure, axes = pyplot.subplots(figsize=(5, 3.2), layout="constrained")
        rows = cases[name]
        for y in ys:
            axes.plot([row[x] for row in rows], [row[y] for row in rows], "o-")
        if diagonal:
            ends = [rows[0][x], rows[-1][x]]
            axes.plot(ends, ends, ":", color="grey", label="proportional")
            axes.legend(frameon=False)
        axes.set(xlabel=x.replace("_", " "), ylabel=label)
        axes.set_ylim(bottom=0)
        figure.savefig(folder / f"bench-{name}.svg", metadata={"Date": None})
        pyplot.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

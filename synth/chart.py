"""A chart of areas by block: storage apart from logic."""

from __future__ import annotations

from pathlib import Path

from ahasd.models.errors import ConfigError, ToolError
from ahasd.synth.area import AreaReport

__all__ = ["draw_area"]


def draw_area(report: AreaReport, path: Path) -> None:
    """Draw bars of each block's own area, um^2, to a PNG or SVG file.

    Raises
    ------
    ConfigError
        If the file's ending is neither.
    ToolError
        If matplotlib is missing or the file cannot be written.
    """
    if path.suffix not in (".png", ".svg"):
        raise ConfigError(f"chart: {str(path)!r} must end in .png or .svg")
    try:
        from matplotlib.figure import Figure  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError:
        raise ToolError("matplotlib is not installed: pip install 'ahasd[charts]'") from None
    blocks = [block for block in report.blocks if block.um2][::-1]
    names = [block.name.removeprefix(f"{report.top}.") for block in blocks]
    figure = Figure(figsize=(8, 0.4 * len(blocks) + 1.2), layout="constrained")
    axes = figure.add_subplot()
    storage = [block.storage_um2 for block in blocks]
    axes.barh(names, storage, label=f"memory arrays, {report.storage}")
    axes.barh(names, [block.logic_um2 for block in blocks], left=storage, label="logic and registers")
    axes.set_xlabel(f"um2, {report.library.name}, in all {report.total['um2']:.0f}")
    axes.legend()
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}") from None

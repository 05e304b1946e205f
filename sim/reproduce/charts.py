"""Charts as SVG and PNG, the same bytes each time. matplotlib is imported when one is drawn."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ahasd.models.errors import AhasdError, ConfigError, ToolError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Panel", "bars", "check_matplotlib", "image", "inline_svg", "save", "winners"]

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "ahasd",  # the same ids each time
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def check_matplotlib() -> None:
    """Before work begins whose charts could not be drawn.

    Raises
    ------
    ToolError
        If matplotlib is missing.
    """
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise ToolError("matplotlib is not installed: pip install 'ahasd[charts]'") from None


def _figure(width: float, height: float) -> Figure:
    check_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Bars in groups."""

    groups: Sequence[str]
    """Below the groups."""
    series: Sequence[tuple[str, Sequence[float | None]]]
    """Name, and a bar in each group; None leaves it out."""
    title: str = ""
    errors: Sequence[Sequence[tuple[float, float] | None]] | None = None
    """For each series and group the ends of an interval."""


def bars(*panels: Panel, unit: str, line: float | None = None, logarithmic: bool = False) -> Figure:
    """Panels below each other, all with the same series.

    Parameters
    ----------
    *panels : Panel
    unit : str
        Of the vertical axis.
    line : float, optional
        A level to compare with.
    logarithmic : bool
        Where values lie decades apart.
    """
    names = [name for name, _ in panels[0].series]
    most = max(len(panel.groups) for panel in panels)
    with _styled():
        figure = _figure(max(5.0, 0.9 + 0.13 * most * (len(names) + 1.5)), 0.9 + 2.7 * len(panels))
        for number, panel in enumerate(panels):
            axes = figure.add_subplot(len(panels), 1, number + 1)
            _bars(axes, panel)
            if logarithmic:
                axes.set_yscale("log")
            if line is not None:
                axes.axhline(line, color="black", linewidth=0.8, linestyle="--")
            axes.set_ylabel(unit)
            axes.set_title(panel.title)
        if len(names) > 1:
            columns = max(1, int(figure.get_figwidth() / (0.5 + 0.07 * max(map(len, names)))))
            handles, labels = figure.axes[0].get_legend_handles_labels()
            figure.legend(
                handles, labels, fontsize=7, ncols=min(columns, len(names)), loc="outside lower center"
            )
    return figure


def _bars(axes: Any, panel: Panel) -> None:
    from matplotlib import colormaps

    count = len(panel.series)
    width = 0.8 / count
    colours = colormaps["tab10" if count <= 10 else "tab20"].colors  # type: ignore[attr-defined]
    for number, (name, values) in enumerate(panel.series):
        places = [place - 0.4 + (number + 0.5) * width for place in range(len(panel.groups))]
        heights = [math.nan if value is None else value for value in values]
        axes.bar(places, heights, width, label=name, color=colours[number % len(colours)])
        if panel.errors is not None:
            _whiskers(axes, places, values, panel.errors[number])
    steep = len(panel.groups) > 4
    axes.set_xticks(
        range(len(panel.groups)),
        panel.groups,
        rotation=30 if steep else 0,
        ha="right" if steep else "center",
    )


def _whiskers(
    axes: Any,
    places: Sequence[float],
    values: Sequence[float | None],
    ends: Sequence[tuple[float, float] | None],
) -> None:
    for place, value, pair in zip(places, values, ends, strict=True):
        if value is not None and pair is not None:
            axes.errorbar(place, value, [[value - pair[0]], [pair[1] - value]], color="black", linewidth=0.8)


def winners(
    rows: Sequence[str],
    columns: Sequence[str],
    names: Sequence[Sequence[str | None]],
    notes: Sequence[Sequence[str]],
    *,
    labels: tuple[str, str],
) -> Figure:
    """A map of names, one colour a name, a note under each. ``labels``: vertical and horizontal axis."""
    kinds = sorted({name for row in names for name in row if name})
    with _styled():
        figure = _figure(1.8 + 1.1 * len(columns), 1.2 + 0.45 * len(rows))
        axes = figure.add_subplot()
        shades = [[math.nan if name is None else kinds.index(name) for name in row] for row in names]
        axes.imshow(shades, cmap="Pastel1", vmin=-0.5, vmax=8.5, aspect="auto", origin="lower")
        for y, (row, beside) in enumerate(zip(names, notes, strict=True)):
            for x, (name, note) in enumerate(zip(row, beside, strict=True)):
                axes.text(x, y, f"{name or '-'}\n{note}", ha="center", va="center", fontsize=7)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(rows)), rows)
        axes.set_ylabel(labels[0])
        axes.set_xlabel(labels[1])
    return figure


def image(figure: Figure, kind: str) -> bytes:
    """The figure as ``svg`` or ``png``."""
    data = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with _styled():
        figure.savefig(data, format=kind, dpi=150, metadata=metadata)
    return data.getvalue()


def inline_svg(svg: bytes) -> str:
    """The ``svg`` element alone, without prologue and metadata, for a page that refers to nothing outside."""
    text = svg.decode()
    text = text[text.index("<svg") :]
    return re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)


def save(figure: Figure, path: Path) -> None:
    """Write a chart; the ending says how.

    Raises
    ------
    ConfigError
        If the file's ending is neither .png nor .svg.
    AhasdError
        If the file cannot be written.
    """
    kind = path.suffix.removeprefix(".")
    if kind not in ("png", "svg"):
        raise ConfigError(f"chart: {str(path)!r} must end in .png or .svg")
    try:
        path.write_bytes(image(figure, kind))
    except OSError as error:
        raise AhasdError(f"{path}: cannot be written ({error.strerror})") from None


def _styled() -> Any:
    import matplotlib as mpl

    return mpl.rc_context(_STYLE)

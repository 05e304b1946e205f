"""Charts as SVG and PNG, the same bytes each time. matplotlib is imported when one is drawn."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ahasd.models.errors import AhasdError, ConfigError, ToolError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["bars", "check_matplotlib", "image", "inline_svg", "save", "winners"]

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


def bars(
    groups: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None]]],
    *,
    unit: str,
    title: str = "",
    line: float | None = None,
    errors: Sequence[Sequence[tuple[float, float] | None]] | None = None,
    logarithmic: bool = False,
) -> Figure:
    """Bars in groups.

    Parameters
    ----------
    groups : sequence of str
        Below the groups.
    series : sequence of (name, values)
        One bar in each group; None leaves it out.
    unit : str
        Of the vertical axis.
    title : str
    line : float, optional
        A level to compare with.
    errors : sequence, optional
        For each series and group the ends of an interval.
    logarithmic : bool
        Where values lie decades apart.
    """
    width = 0.8 / len(series)
    with _styled():
        figure = _figure(max(5.0, 0.9 + 0.13 * len(groups) * (len(series) + 1.5)), 3.8)
        axes = figure.add_subplot()
        for number, (name, values) in enumerate(series):
            places = [place - 0.4 + (number + 0.5) * width for place in range(len(groups))]
            axes.bar(places, [math.nan if value is None else value for value in values], width, label=name)
            if errors is not None:
                _whiskers(axes, places, values, errors[number])
        if logarithmic:
            axes.set_yscale("log")
        if line is not None:
            axes.axhline(line, color="black", linewidth=0.8, linestyle="--")
        steep = len(groups) > 4
        axes.set_xticks(
            range(len(groups)), groups, rotation=30 if steep else 0, ha="right" if steep else "center"
        )
        axes.set_ylabel(unit)
        axes.set_title(title)
        if len(series) > 1:
            longest = max(len(name) for name, _ in series)
            columns = max(1, int(figure.get_figwidth() / (0.5 + 0.07 * longest)))
            figure.legend(fontsize=7, ncols=min(columns, len(series)), loc="outside lower center")
    return figure


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
    *,
    labels: tuple[str, str],
) -> Figure:
    """A map of names: one colour a name. ``labels`` of the vertical and the horizontal axis."""
    kinds = sorted({name for row in names for name in row if name})
    with _styled():
        figure = _figure(1.8 + 1.1 * len(columns), 1.2 + 0.45 * len(rows))
        axes = figure.add_subplot()
        shades = [[float("nan") if name is None else kinds.index(name) for name in row] for row in names]
        axes.imshow(shades, cmap="Pastel1", vmin=-0.5, vmax=8.5, aspect="auto", origin="lower")
        for y, row in enumerate(names):
            for x, name in enumerate(row):
                axes.text(x, y, name or "-", ha="center", va="center", fontsize=7)
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

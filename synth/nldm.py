"""Tables of a Liberty library: delay, transition, setup and energy over slew and load, bilinear."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from ahasd.synth.liberty import Group, Library, library_group

__all__ = ["Arc", "CellTiming", "Setup", "Table", "WireLoad", "cell_timing", "wire_load"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table over one or two variables, or a constant; beyond its ends the last slope goes on."""

    rows: tuple[float, ...]
    columns: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]

    def __call__(self, row: float, column: float = 0.0) -> float:
        i, u = _place(self.rows, row)
        j, v = _place(self.columns, column)
        low, high = self.values[i], self.values[min(i + 1, len(self.values) - 1)]
        k = min(j + 1, len(low) - 1)
        return (1 - u) * ((1 - v) * low[j] + v * low[k]) + u * ((1 - v) * high[j] + v * high[k])


def _place(axis: tuple[float, ...], x: float) -> tuple[int, float]:
    if len(axis) < 2:
        return 0, 0.0
    i = min(max(bisect_right(axis, x) - 1, 0), len(axis) - 2)
    return i, (x - axis[i]) / (axis[i + 1] - axis[i])


def numbers(text: str) -> tuple[float, ...]:
    """Numbers of a Liberty list."""
    return tuple(float(part) for part in text.replace('"', " ").replace("\\", " ").replace(",", " ").split())


def table(group: Group, templates: dict[str, Group]) -> Table:
    """The table of a group such as ``cell_rise(Timing_7_7)``; slew first, whatever the template's order."""
    template = templates.get(group.name)
    own = template.attributes if template else {}
    axes = [
        numbers(group.attributes.get(key, own.get(key, "")))
        for key in ("index_1", "index_2")
        if key in group.attributes or key in own
    ]
    flat = numbers(group.attributes["values"])
    rows, columns = [*axes, (), ()][:2]
    width = max(len(columns), 1)
    values = tuple(flat[k : k + width] for k in range(0, len(flat), width))
    if columns and "capacitance" in own.get("variable_1", ""):
        return Table(columns, rows, tuple(zip(*values, strict=True)))
    return Table(rows, columns, values)


@dataclass(frozen=True, slots=True)
class Arc:
    """How an input edge reaches an output: tables for its rise and fall."""

    source: str
    target: str
    sense: str
    """``positive_unate``, ``negative_unate``, ``non_unate``, or ``edge`` for a clock."""
    delay: tuple[Table, Table]
    slew: tuple[Table, Table]
    """Each (rise, fall) of the output."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A data pin's time before the clock edge; tables for its rise and fall over (data, clock) slew."""

    pin: str
    clock: str
    tables: tuple[Table, Table]


@dataclass(frozen=True, slots=True)
class CellTiming:
    """Arcs, and setup times of a cell."""

    arcs: tuple[Arc, ...]
    setups: tuple[Setup, ...]


@dataclass(frozen=True, slots=True)
class WireLoad:
    """Capacitance of a net by its fan-out, in the library's unit."""

    capacitance: float
    lengths: tuple[float, ...]
    """Of fan-out 1, 2, ...; gaps are interpolated."""
    slope: float

    def __call__(self, fanout: int) -> float:
        if fanout <= 0 or not self.lengths:
            return 0.0
        beyond = max(fanout - len(self.lengths), 0)
        return self.capacitance * (self.lengths[min(fanout, len(self.lengths)) - 1] + beyond * self.slope)


def wire_load(library: Library) -> WireLoad:
    """The library's default wire load model; none if it has none."""
    group = library_group(library)
    wanted = group.attributes.get("default_wire_load", "")
    for model in group.all("wire_load"):
        if model.name == wanted:
            points = sorted(
                (int(n), length)
                for n, length in (numbers(p) for p in model.attributes["fanout_length"].split(";"))
            )
            lengths = [_between(points, n) for n in range(1, points[-1][0] + 1)]
            return WireLoad(
                float(model.attributes["capacitance"]), tuple(lengths), float(model.attributes["slope"])
            )
    return WireLoad(0.0, (), 0.0)


def _between(points: list[tuple[int, float]], n: int) -> float:
    after = next(k for k, (fanout, _) in enumerate(points) if fanout >= n)
    (n0, y0), (n1, y1) = points[max(after - 1, 0)], points[after]
    return y1 if n0 == n1 else y0 + (y1 - y0) * (n - n0) / (n1 - n0)


def _pair(group: Group, rise: str, fall: str, templates: dict[str, Group]) -> tuple[Table, Table] | None:
    found = {child.kind: child for child in group.groups}
    if rise not in found or fall not in found:
        return None
    return table(found[rise], templates), table(found[fall], templates)


def _pin_timing(pin: Group, templates: dict[str, Group]) -> Iterable[Arc | Setup]:
    for timing in pin.all("timing"):
        kind = timing.attributes.get("timing_type", "combinational")
        source = timing.attributes.get("related_pin", "")
        if kind.startswith("setup"):
            pair = _pair(timing, "rise_constraint", "fall_constraint", templates)
            if pair:
                yield Setup(pin.name, source, pair)
            continue
        if kind not in ("combinational", "rising_edge", "falling_edge"):
            continue
        delay = _pair(timing, "cell_rise", "cell_fall", templates)
        slew = _pair(timing, "rise_transition", "fall_transition", templates)
        if delay and slew:
            sense = timing.attributes.get("timing_sense", "non_unate") if kind == "combinational" else "edge"
            yield Arc(source, pin.name, sense, delay, slew)


_KNOWN: dict[str, dict[str, CellTiming]] = {}


def cell_timing(library: Library) -> dict[str, CellTiming]:
    """Cell name -> its timing; read once for a library."""
    if library.sha256 in _KNOWN:
        return _KNOWN[library.sha256]
    group = library_group(library)
    templates = {t.name: t for t in group.all("lu_table_template")}
    result = {}
    for cell in group.all("cell"):
        found = [item for pin in cell.all("pin") for item in _pin_timing(pin, templates)]
        result[cell.name] = CellTiming(
            tuple(item for item in found if isinstance(item, Arc)),
            tuple(item for item in found if isinstance(item, Setup)),
        )
    return _KNOWN.setdefault(library.sha256, result)

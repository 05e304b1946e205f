"""Energy of the control unit's gates, from how often each net toggles in a replay of recorded events.

Zero-delay toggles, so no glitches; no clock tree and no layout, wires by the library's default wire load;
input slew fixed; the mean over a table's conditions. Fit for comparisons; see docs/power.md for its limits.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from ahasd.models import replay
from ahasd.models.control.events import Commit
from ahasd.models.errors import ConfigError
from ahasd.sim.compiled.engine import CompiledReplayUnit
from ahasd.sim.engine import CLOCK_PS
from ahasd.synth.emit import named
from ahasd.synth.flow import Emit, Synthesise
from ahasd.synth.gate_model import CompileGates, toggles
from ahasd.synth.gates import Flatten, Gate, Gates, Net, block_of
from ahasd.synth.liberty import Library, library_group, read_library
from ahasd.synth.longest_path import net_loads
from ahasd.synth.nldm import Table, table
from ahasd.synth.tools import find_liberty, find_yosys

__all__ = ["Energy", "PowerReport", "power", "rest_of_system"]

SLEW_NS = 0.03
"""Input slew at which energy tables are read: about the mean in this netlist."""

TICK_CYCLES = 256
"""Clock cycles a timebase tick of a recording."""


@dataclass(kw_only=True)
class Energy:
    """Joules."""

    switching: float = 0.0
    """Charging nets: C V^2 / 2 a toggle."""
    internal: float = 0.0
    """Inside gates and flip-flops, a toggle."""
    clock: float = 0.0
    """Clock pins: their capacitance, and inside flip-flops at each cycle."""
    leakage: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.switching + self.internal + self.clock + self.leakage

    def add(self, other: Energy) -> None:
        """Add to each part."""
        for part in fields(self):
            setattr(self, part.name, getattr(self, part.name) + getattr(other, part.name))

    def to_dict(self) -> dict[str, float]:
        """Parts and total, four digits."""
        return {key: float(f"{value:.4g}") for key, value in {**asdict(self), "total": self.total}.items()}


@dataclass(frozen=True, kw_only=True)
class PowerReport:
    """Energy of a replay."""

    top: str
    library: str
    sources: list[str]
    events: int
    decisions: int
    tokens: int
    active_cycles: int
    """Cycles with ``clk_req`` high."""
    total_cycles: int
    """Cycles of the memory-side clock from the first to the last event."""
    gated: Energy
    """With the clock stopped while ``clk_req`` is low."""
    ungated: Energy
    blocks: list[tuple[str, Energy]]
    """By block, gated."""
    system_j: float | None = None
    """Energy of the rest of the system in the same run, J; None if no run's document was given."""
    metrics: dict[str, Any] = field(default_factory=dict)

    def share(self, energy: Energy) -> float | None:
        """Of the whole system's energy in the run."""
        return None if self.system_j is None else energy.total / (self.system_j + energy.total)

    @property
    def seconds(self) -> float:
        """Time from the first to the last event."""
        return self.total_cycles * CLOCK_PS * 1e-12

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON's types. ``system_share`` is null without a run's document."""

        def case(energy: Energy) -> dict[str, Any]:
            return {
                "energy_j": energy.to_dict(),
                "mean_w": float(f"{energy.total / self.seconds:.4g}"),
                "per_decision_j": float(f"{energy.total / max(self.decisions, 1):.4g}"),
                "per_token_j": float(f"{energy.total / max(self.tokens, 1):.4g}"),
                "system_share": None if (share := self.share(energy)) is None else float(f"{share:.4g}"),
            }

        return {
            "schema": 1,
            "top": self.top,
            "library": self.library,
            "sources": self.sources,
            "events": self.events,
            "decisions": self.decisions,
            "tokens": self.tokens,
            "clock_mhz": 1e6 / CLOCK_PS,
            "active_cycles": self.active_cycles,
            "total_cycles": self.total_cycles,
            "gated": case(self.gated),
            "ungated": case(self.ungated),
            "blocks": [{"name": name, "energy_j": energy.to_dict()} for name, energy in self.blocks],
            "system_j": self.system_j,
        }

    def to_json(self) -> str:
        """``to_dict`` as JSON text with a final newline."""
        return json.dumps(self.to_dict(), indent=2) + "\n"


class _Cells:
    """Energies of a library's cells, fJ."""

    def __init__(self, library: Library) -> None:
        group = library_group(library)
        self.volts = float(group.attributes.get("nom_voltage", "1.0"))
        self.unit = library.femtofarad  # energy tables: capacitance unit x V^2
        nanowatts = {"1nW": 1.0, "1uW": 1e3, "1pW": 1e-3, "1mW": 1e6}
        leak = nanowatts.get(group.attributes.get("leakage_power_unit", "1nW"), 1.0)
        templates = {t.name: t for t in group.all("power_lut_template")}
        self.leakage: dict[str, float] = {}
        self._tables: dict[tuple[str, str], list[Table]] = {}
        for cell in group.all("cell"):
            self.leakage[cell.name] = leak * float(cell.attributes.get("cell_leakage_power", "0"))
            for pin in cell.all("pin"):
                self._tables[cell.name, pin.name] = [
                    table(edge, templates)
                    for power in pin.all("internal_power")
                    for edge in power.groups
                    if edge.kind in ("rise_power", "fall_power", "power")
                ]

    def internal(self, kind: str, pin: str, load: float = 0.0) -> float:
        """Mean energy of an edge at a pin."""
        tables = self._tables.get((kind, pin), [])
        return self.unit * sum(t(SLEW_NS, load) for t in tables) / len(tables) if tables else 0.0


def _dynamic(gates: Gates, counts: dict[Net, int], cells: _Cells) -> dict[str, Energy]:
    library = gates.netlist.library
    loads = net_loads(gates)
    result: dict[str, Energy] = {}
    for gate in gates.cells:
        energy = result.setdefault(block_of(gate.name), Energy())
        cell = library.cells[gate.kind]
        for pin, net in gate.pins.items():
            count = counts.get(net, 0)
            if not count or isinstance(net, str):
                continue
            if pin in cell.inputs:
                if cell.flop and pin == "D":
                    energy.internal += count * cells.internal(gate.kind, pin) * 1e-15
                continue
            load = loads.get(net, 0.0)
            energy.switching += count * load * library.femtofarad * cells.volts**2 / 2 * 1e-15
            energy.internal += count * cells.internal(gate.kind, pin, load) * 1e-15
    return result


def _clock_pin(gate: Gate, library: Library, clock: Net) -> str:
    """The pin through which a flip-flop, latch or clock gate hangs on the clock; none behind a clock gate."""
    if not library.cells[gate.kind].sequential:
        return ""
    return next((pin for pin in library.cells[gate.kind].inputs if gate.pins.get(pin) == clock), "")


def _idle(gates: Gates, cells: _Cells, active: int, seconds: float) -> dict[str, Energy]:
    """Clock energy of ``active`` cycles and leakage of ``seconds``."""
    library = gates.netlist.library
    result: dict[str, Energy] = {}
    for gate in gates.cells:
        energy = result.setdefault(block_of(gate.name), Energy())
        energy.leakage += cells.leakage[gate.kind] * 1e-9 * seconds
        pin = _clock_pin(gate, library, gates.ports["clk"][1][0])
        if pin:
            charge = library.cells[gate.kind].inputs[pin] * library.femtofarad * cells.volts**2
            energy.clock += active * (charge + 2 * cells.internal(gate.kind, pin)) * 1e-15
    return result


def power(
    recordings: Sequence[Path] = (),
    *,
    liberty: str | os.PathLike[str] = "nangate45",
    yosys: str = "yowasp",
    period_ps: int = 1000,
    cache: Path | None = None,
    storage: str = "flops",
    document: Path | None = None,
) -> PowerReport:
    """Replay recordings on the control unit's gates, and sum energies; all vectors if none is given.

    ``document`` is what ``ahasd run --json`` printed of the one run that was recorded: with it the report
    has the unit's share of the system's energy.

    Raises
    ------
    ConfigError
        If a recording does not fit the unit, its decisions differ, or the document is of another run.
    ToolError
        If a tool or library is missing.
    """
    library = read_library(find_liberty(liberty))
    tool = find_yosys(yosys)
    component, name = named("control_unit", None)
    netlist = Synthesise(Emit(component, name).run(), library, tool, period_ps, cache, storage).run()
    gates = Flatten(netlist, tool, cache).run()
    compiled = CompileGates(gates, cache=cache)
    folder = compiled.run()
    cells = _Cells(library)
    counts: dict[Net, int] = {}
    events = decisions = tokens = active = total = 0
    paths = list(recordings) or replay.vectors()
    for path in paths:
        recording = replay.read_replay(path)
        unit = CompiledReplayUnit(folder)
        before = toggles(unit.unit, compiled)
        found = replay.replay(recording, unit, str(path))
        difference = replay.first_difference(recording, found)
        if difference is not None:
            raise ConfigError(f"{path}: the gates decide otherwise: {difference}")
        for net, count in toggles(unit.unit, compiled).items():
            counts[net] = counts.get(net, 0) + count - before[net]
        times = [step.at for step in recording.steps]
        active += unit.unit.driven
        total += max((times[-1] - times[0]) % (1 << 32) * TICK_CYCLES, unit.unit.driven)
        events += len(recording.steps)
        decisions += sum(len(step.decisions) for step in recording.steps)
        made = [d for step in recording.steps for d in step.decisions if isinstance(d, Commit)]
        tokens += sum(len(commit.tokens) for commit in made)
    system_j = None if document is None else rest_of_system(document, len(paths), tokens)
    seconds = total * CLOCK_PS * 1e-12
    gated, ungated, blocks = Energy(), Energy(), _dynamic(gates, counts, cells)
    for energy in blocks.values():
        ungated.add(energy)
    for energy in _idle(gates, cells, total, seconds).values():
        ungated.add(energy)
    for block, energy in _idle(gates, cells, active, seconds).items():
        blocks[block].add(energy)
    for energy in blocks.values():
        gated.add(energy)
    return PowerReport(
        top=name,
        library=library.name,
        sources=[path.name for path in paths],
        events=events,
        decisions=decisions,
        tokens=tokens,
        active_cycles=active,
        total_cycles=total,
        gated=gated,
        ungated=ungated,
        blocks=[(f"{name}.{block}" if block else name, blocks[block]) for block in sorted(blocks)],
        system_j=system_j,
        metrics=netlist.metrics,
    )


def rest_of_system(document: Path, recordings: int, tokens: int) -> float:
    """Energy of a run but the control unit's own share, which the gates replace, J."""
    try:
        run = json.loads(document.read_text(encoding="utf-8"))
        energy, committed = run["energy"], run["tokens"]
        rest = float(energy["total_j"]) - float(energy["components"]["control"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ConfigError(f"{document}: no document of ahasd run --json ({error!r})") from error
    if recordings != 1 or committed != tokens:
        raise ConfigError(
            f"{document}: is of {committed} tokens; expected the run of one recording, here {recordings} "
            f"with {tokens}"
        )
    return rest

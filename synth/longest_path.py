"""Longest paths of a netlist over the Liberty's tables: an estimate for machines without OpenSTA.

One pass in topological order keeps the latest arrival and the largest slew of each net, rising and falling
apart, as static timing analysers do. Simplifications: the clock is ideal; a wire is the library's default
wire load without resistance; of several conditions of an arc the worst counts, sense by the cell's table;
no false paths; latches are not followed through. ``docs/synthesis.md`` gives the distance from OpenSTA.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

from ahasd.models.errors import ToolError
from ahasd.synth.gates import Gates, Net
from ahasd.synth.liberty import Library
from ahasd.synth.nldm import Arc, cell_timing, wire_load

__all__ = ["EndPoint", "Step", "longest_paths", "net_loads", "port_load"]

INPUT_SLEW = 0.0
"""Transition at a driving cell's input and at clock pins, in the library's time unit: ideal."""

_FANOUT = 4  # load of an output, as synthesis assumes

RISE, FALL = 0, 1

_SENSE = {"positive_unate": ((0, 0), (1, 1)), "negative_unate": ((1, 0), (0, 1)), "edge": ((0, 0), (0, 1))}
_BOTH = ((0, 0), (0, 1), (1, 0), (1, 1))


def port_load(library: Library) -> float:
    """Load of an output port: four of the smallest inverter, in the library's unit."""
    return _FANOUT * next(iter(library.inverter.inputs.values()))


def net_loads(gates: Gates) -> dict[Net, float]:
    """Capacitance of each net, in the library's unit: pins, wire by fan-out, and ports."""
    library = gates.netlist.library
    wire = wire_load(library)
    fanout: dict[Net, int] = defaultdict(int)
    total: dict[Net, float] = defaultdict(float)
    for gate in gates.cells:
        inputs = library.cells[gate.kind].inputs
        for pin, net in gate.pins.items():
            if pin in inputs:
                fanout[net] += 1
                total[net] += inputs[pin]
    for _, net in gates.port_nets("output"):
        fanout[net] += 1
        total[net] += port_load(library)
    return {net: total[net] + wire(count) for net, count in fanout.items()}


@dataclass(frozen=True, slots=True)
class Step:
    """A pin on a path: cell, pin, net; ``at`` in the library's time unit after the clock edge."""

    cell: str
    kind: str
    pin: str
    net: Net
    at: float


@dataclass(frozen=True, slots=True)
class EndPoint:
    """The worst path to one register's or port's bit."""

    cell: str
    """Cell, or port with its bit."""
    pin: str
    slack: float
    from_port: bool
    to_port: bool
    path: tuple[Step, ...]


@dataclass
class _Node:
    arrival: list[float]
    slew: list[float]
    cause: list[tuple[Net, int, int] | None]  # input net, its edge, index of the driving cell
    start: list[bool]  # begins at an input port


def longest_paths(gates: Gates, period: float, share: float) -> list[EndPoint]:
    """All end points, the worst first, each with its path.

    Parameters
    ----------
    gates : Gates
    period : float
        In the library's time unit, ns in those used here.
    share : float
        Part of the period that lies outside at inputs and at outputs.

    Raises
    ------
    ToolError
        If there is a combinational loop or an unknown cell.
    """
    return _Search(gates, period, share).run()


class _Search:
    def __init__(self, gates: Gates, period: float, share: float) -> None:
        self.gates, self.period, self.outside = gates, period, period * share
        self.library = gates.netlist.library
        self.timing = cell_timing(self.library)
        unknown = {gate.kind for gate in gates.cells} - self.timing.keys()
        if unknown:
            raise ToolError(f"{gates.top}: cells without timing: {', '.join(sorted(unknown))}")
        self.nodes: dict[Net, _Node] = {}
        self.loads = net_loads(gates)
        self.kinds = {kind: _by_pin(self.timing[kind].arcs) for kind in self.timing}

    def run(self) -> list[EndPoint]:
        self._sources()
        self._propagate()
        found = [*self._registers(), *self._outputs()]
        return sorted(found, key=lambda end: (end.slack, end.cell))

    def _sources(self) -> None:
        inverter = self.library.inverter.name
        arc = self.timing[inverter].arcs[0]
        for _, net in self.gates.port_nets("input"):
            load = self.loads.get(net, 0.0)
            drive = [arc.delay[edge](INPUT_SLEW, load) - arc.delay[edge](INPUT_SLEW, 0.0) for edge in (0, 1)]
            slew = [arc.slew[edge](INPUT_SLEW, load) for edge in (0, 1)]
            arrival = [self.outside + late for late in drive]
            self.nodes[net] = _Node(arrival, slew, [None, None], [True, True])

    def _propagate(self) -> None:
        readers: dict[Net, list[int]] = defaultdict(list)
        waits: dict[int, int] = {}
        ready: deque[int] = deque()
        driven = {
            net
            for gate in self.gates.cells
            for pin, net in gate.pins.items()
            if pin not in self.library.cells[gate.kind].inputs
        }
        for index, gate in enumerate(self.gates.cells):
            through = {arc.source for arc in self.timing[gate.kind].arcs if arc.sense != "edge"}
            sources = {gate.pins[pin] for pin in through if gate.pins.get(pin) in driven}
            if self.library.cells[gate.kind].sequential:
                sources = set()
            waits[index] = len(sources)
            for net in sources:
                readers[net].append(index)
            if not sources:
                ready.append(index)
        while ready:
            index = ready.popleft()
            for net in self._evaluate(index):
                for reader in readers.get(net, ()):
                    waits[reader] -= 1
                    if not waits[reader]:
                        ready.append(reader)
        stuck = [self.gates.cells[index].name for index, left in waits.items() if left > 0]
        if stuck:
            raise ToolError(f"{self.gates.top}: a combinational loop through {stuck[0]}")

    def _evaluate(self, index: int) -> list[Net]:
        gate = self.gates.cells[index]
        sequential = self.library.cells[gate.kind].sequential
        outputs: list[Net] = []
        for pin, arcs in self.kinds[gate.kind].items():
            net = gate.pins.get(pin)
            if net is None or isinstance(net, str):
                continue
            node = _Node([-1e9, -1e9], [0.0, 0.0], [None, None], [False, False])
            load = self.loads.get(net, 0.0)
            for arc in arcs:
                if sequential:
                    if arc.sense == "edge":
                        self._launch(node, arc, load, index)
                    continue
                source = gate.pins.get(arc.source)
                before = self.nodes.get(source) if source is not None else None
                if before is None or source is None:  # a constant
                    continue
                for old, new in _SENSE.get(arc.sense, _BOTH):
                    at = before.arrival[old] + arc.delay[new](before.slew[old], load)
                    if at > node.arrival[new]:
                        node.arrival[new] = at
                        node.cause[new] = (source, old, index)
                        node.start[new] = before.start[old]
                    node.slew[new] = max(node.slew[new], arc.slew[new](before.slew[old], load))
            if max(node.arrival) > -1e8:
                self.nodes[net] = node
            outputs.append(net)
        return outputs

    def _launch(self, node: _Node, arc: Arc, load: float, index: int) -> None:
        for edge in (RISE, FALL):
            at = arc.delay[edge](INPUT_SLEW, load)
            if at > node.arrival[edge]:
                node.arrival[edge], node.cause[edge] = at, ("", edge, index)
            node.slew[edge] = max(node.slew[edge], arc.slew[edge](INPUT_SLEW, load))

    def _registers(self) -> list[EndPoint]:
        found = []
        for index, gate in enumerate(self.gates.cells):
            for setup in self.timing[gate.kind].setups:
                net = gate.pins.get(setup.pin)
                node = self.nodes.get(net) if net is not None else None
                if net is None or node is None:
                    continue
                slack, edge = min(
                    (
                        self.period - setup.tables[edge](node.slew[edge], INPUT_SLEW) - node.arrival[edge],
                        edge,
                    )
                    for edge in (RISE, FALL)
                )
                found.append(self._end(gate.name, setup.pin, slack, net, edge, False, index))
        return found

    def _outputs(self) -> list[EndPoint]:
        found = []
        for name, net in self.gates.port_nets("output"):
            node = self.nodes.get(net)
            if node is not None:
                edge = RISE if node.arrival[RISE] >= node.arrival[FALL] else FALL
                slack = self.period - self.outside - node.arrival[edge]
                found.append(self._end(name, "", slack, net, edge, True, None))
        return found

    def _end(
        self, cell: str, pin: str, slack: float, net: Net, edge: int, port: bool, index: int | None
    ) -> EndPoint:
        steps = []
        at: Net = net
        while at != "":
            here = self.nodes[at]
            cause = here.cause[edge]
            gate = self.gates.cells[cause[2]] if cause else None
            out = next((p for p, n in gate.pins.items() if n == at), "") if gate else ""
            steps.append(
                Step(gate.name if gate else "", gate.kind if gate else "", out, at, here.arrival[edge])
            )
            if cause is None:
                break
            at, edge = cause[0], cause[1]
        steps.reverse()
        first = self.nodes[steps[0].net]
        return EndPoint(cell, pin, slack, first.cause == [None, None], port, tuple(steps))


def _by_pin(arcs: tuple[Arc, ...]) -> dict[str, list[Arc]]:
    result: dict[str, list[Arc]] = {}
    for arc in arcs:
        result.setdefault(arc.target, []).append(arc)
    return result

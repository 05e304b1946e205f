"""A component with its inside in reach: signals, states and memory words by the names they have in the RTL.

Properties speak of registers that are no ports. The component is elaborated once into Amaranth's fragments,
which hold every statement and so every signal; a wrapper that uses such a signal gets a wire to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from amaranth.hdl import Const, Elaboratable, Module, Signal, Value
from amaranth.hdl import Fragment as _Fragment
from amaranth.hdl._mem import MemoryInstance
from amaranth.lib.wiring import Component

__all__ = ["Opened"]

Fragment: Any = _Fragment  # untyped in the stubs


class Opened(Elaboratable):
    """``component``, elaborated, for use as a submodule. Paths are submodule names joined by dots."""

    def __init__(self, component: Component) -> None:
        self.component = component
        self.fragment = Fragment.get(component, None)

    def elaborate(self, platform: object) -> Any:
        return self.fragment

    def part(self, path: str) -> Any:
        """The fragment of a submodule; of the component itself for an empty path."""
        fragment = self.fragment
        for name in path.split(".") if path else []:
            found = [sub for sub, sub_name, _ in fragment.subfragments if sub_name == name]
            if not found:
                raise KeyError(f"{path}: no submodule {name!r}")
            fragment = found[0]
        return fragment

    def signal(self, path: str) -> Any:
        """A register of the part, else a port of its own, else a wire that only it drives."""
        owner, _, name = path.rpartition(".")
        part = self.part(owner)
        if len(registers := self._driven(part, name, clocked=True)) == 1:
            return registers[0]
        for origin in part.origins or ():
            if isinstance(origin, Component) and name in origin.signature.members:
                return getattr(origin, name)
        if len(wires := self._driven(part, name, clocked=False)) == 1:
            return wires[0]
        raise KeyError(f"{path}: no signal of this name, or several")

    @staticmethod
    def _driven(part: Any, name: str, clocked: bool) -> list[Any]:
        """Signals of this name (a part also drives its sub-modules' inputs, under their names)."""
        found = {
            id(signal): signal
            for domain, statements in part.statements.items()
            for statement in statements
            for signal in statement._lhs_signals()
            if signal.name == name and (domain != "comb") == clocked
        }
        return list(found.values())

    def registers(self) -> Iterator[tuple[str, Signal]]:
        """Every register with its path."""
        yield from self._registers(self.fragment, "")

    def _registers(self, fragment: Any, path: str) -> Iterator[tuple[str, Signal]]:
        seen = set()
        for domain, statements in fragment.statements.items():
            if domain == "comb":
                continue
            for statement in statements:
                for signal in sorted(statement._lhs_signals(), key=lambda signal: str(signal.name)):
                    if id(signal) not in seen:
                        seen.add(id(signal))
                        yield path + signal.name, signal
        for sub, name, _ in fragment.subfragments:
            yield from self._registers(sub, f"{path}{name}.")

    def memories(self) -> Iterator[tuple[str, Any]]:
        """Every memory with its path."""

        def inside(fragment: Any, path: str) -> Iterator[tuple[str, Any]]:
            for sub, name, _ in fragment.subfragments:
                if isinstance(sub, MemoryInstance):
                    yield path + name, sub
                else:
                    yield from inside(sub, f"{path}{name}.")

        yield from inside(self.fragment, "")

    def states(self, path: str) -> tuple[Any, dict[str, int]]:
        """The state register of a part, and its values by the states' names."""
        register = self.signal(f"{path}.fsm_state" if path else "fsm_state")
        known: dict[str, int] = {}
        with suppress(KeyError):  # of the decoder: no more states
            for value in range(1 << len(register)):
                known[register.decoder(value).split("/")[0]] = value
        return register, known

    def state(self, path: str, *names: str) -> Value:
        """The state machine of a part is in one of these states."""
        register, known = self.states(path)
        missing = [name for name in names if name not in known]
        if missing:
            raise KeyError(f"{path or 'component'}: no state {', '.join(missing)}")
        matches = [register == known[name] for name in names]
        result: Value = Const(0)
        for match in matches:
            result = result | match
        return result

    def word(self, memory: str, address: Any, name: str) -> Signal:
        """What a memory holds at ``address``, seen without a clock."""
        part = self.part(memory)
        ports = part._read_ports
        data = Signal(len(ports[0]._data), name=name)
        index = Signal(len(ports[0]._addr), name=f"{name}_address")
        part.read_port(domain="comb", addr=index, data=data, en=Const(1), transparent_for=())
        self._addresses.append(index.eq(address))
        return data

    @property
    def _addresses(self) -> list[Any]:
        """Assignments that :meth:`word` needs in the wrapper."""
        if not hasattr(self, "_wanted"):
            self._wanted: list[Any] = []
        return self._wanted

    def insert(self, path: str, change: Callable[[Module, Callable[[str], Any]], None]) -> None:
        """Add statements after a part's own, which they override: a seeded bug.

        ``change`` gets a module to add them to and a function from names to the part's signals.
        """
        m = Module()
        change(m, lambda name: self.signal(f"{path}.{name}" if path else name))
        added = Fragment.get(m, None)
        for domain, statements in added.statements.items():
            self.part(path).add_statements(domain, *statements)

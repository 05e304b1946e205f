"""What a property is written in: a module around one opened component, with named checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.back import rtlil  # type: ignore[attr-defined]  # not in the stubs
from amaranth.hdl import Assert, Assume, ClockDomain, Cover, Elaboratable, Module, Signal, Value
from amaranth.lib.wiring import Component

from ahasd.synth.formal.opened import Opened

__all__ = ["Bench"]


class Bench(Elaboratable):
    """Checks around a component, all of whose inputs are free.

    The clock domain has no reset: what is proved holds from the state after a reset on, whatever the memories
    contain then (their initial values are taken away), and a later reset leads back to that state.
    """

    def __init__(self, component: Component) -> None:
        self.component = component
        self.opened = Opened(component)
        self.m = Module()
        self._clock: Any = ClockDomain("sync", reset_less=True)
        self.m.domains.sync = self._clock
        self.m.submodules.dut = self.opened
        self.names: list[str] = []
        self._early = Signal(init=1, name="first_cycle")
        self.m.d.sync += self._early.eq(0)

    @property
    def first_cycle(self) -> Signal:
        """High in the first cycle only: no past yet."""
        return self._early

    def signal(self, path: str) -> Any:
        """See :meth:`Opened.signal`."""
        return self.opened.signal(path)

    def past(self, value: Any, name: str) -> Signal:
        """``value`` one cycle ago; zero in the first cycle."""
        cast = Value.cast(value)
        register = Signal(cast.shape(), name=f"past_{name}")
        self.m.d.sync += register.eq(cast)
        return register

    def wire(self, value: Any, name: str) -> Signal:
        """``value`` with a name, for counterexamples."""
        cast = Value.cast(value)
        signal = Signal(cast.shape(), name=name)
        self.m.d.comb += signal.eq(cast)
        return signal

    def check(self, name: str, condition: Any) -> None:
        """To be proved."""
        self.names.append(name)
        self.m.d.comb += Assert(Value.cast(condition).bool(), name)

    def assume(self, condition: Any) -> None:
        """Promised by the environment, or proved elsewhere."""
        self.m.d.comb += Assume(Value.cast(condition).bool(), "assumed")

    def reach(self, name: str, condition: Any) -> None:
        """To be shown reachable."""
        self.m.d.comb += Cover(Value.cast(condition).bool(), name)

    def implies(self, name: str, premise: Any, conclusion: Any) -> None:
        """To be proved: wherever ``premise`` holds, ``conclusion`` does."""
        self.check(name, ~Value.cast(premise).bool() | Value.cast(conclusion).bool())

    def elaborate(self, platform: object) -> Module:
        for assignment in self.opened._addresses:
            self.m.d.comb += assignment
        return self.m

    def rtlil(self) -> str:
        """The whole as RTLIL, checks as cells with their names."""
        ports = [self._clock.clk]
        for _, member, port in self.component.signature.flatten(self.component):
            value = Value.cast(port)
            if member.flow.name == "In" and isinstance(value, Signal):
                ports.append(value)
        text = str(rtlil.convert(self, name="top", ports=ports, emit_src=False))
        return _name_checks(text.replace("cell \\$any", "cell $any"))  # Yosys' own cells, not modules


def _name_checks(text: str) -> str:
    """Give each ``$check`` cell its message as its name: solvers report cells, not messages."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("  cell $check "):
            message = lines[number + 1].partition(' \\FORMAT "')[2].rstrip('"')
            if message and message != "assumed":
                lines[number] = f"  cell $check \\check:{message.replace(' ', '_')}"
    return "\n".join(lines) + "\n"


Builder = Callable[[Bench], None]

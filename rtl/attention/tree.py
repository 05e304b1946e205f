"""Trees over the lanes, in two stages whatever the number of lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.attention.signatures import ELEMENT

__all__ = ["TREE_STAGES", "LaneSum", "LargestLane"]

TREE_STAGES = 2

T = TypeVar("T")


def _folded(items: Sequence[T], join: Callable[[T, T], T], levels: int) -> list[T]:
    """``items`` joined in neighbouring pairs, ``levels`` times."""
    items = list(items)
    for _ in range(levels):
        items = [join(a, b) for a, b in zip(items[::2], items[1::2], strict=True)]
    return items


class LaneSum(wiring.Component):
    """Sum of a signed number of each lane, two cycles later.

    Members
    -------
    terms : In(ArrayLayout(signed(bits), lanes))
    total : Out(signed)
    """

    terms: data.View
    total: Signal

    def __init__(self, lanes: int, bits: int) -> None:
        self._levels = (lanes - 1).bit_length()
        total = signed(bits + self._levels)
        super().__init__({"terms": In(data.ArrayLayout(signed(bits), lanes)), "total": Out(total)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        terms: list[Value] = [self.terms[k] for k in range(len(self.terms))]
        first = self._levels // 2

        def add(a: Value, b: Value) -> Value:
            return a + b

        halfway = []
        for k, value in enumerate(_folded(terms, add, first)):
            register = Signal(value.shape(), name=f"halfway_{k}", reset_less=True)
            m.d.sync += register.eq(value)
            halfway.append(register)
        total = Signal.like(self.total, reset_less=True)
        m.d.sync += total.eq(_folded(list[Value](halfway), add, self._levels - first)[0])
        m.d.comb += self.total.eq(total)
        return m


class LargestLane(wiring.Component):
    """Largest element and its lane, the lowest such lane, two cycles later.

    Members
    -------
    elements : In(ArrayLayout(signed(16), lanes))
    largest : Out(signed(16))
    lane : Out
    """

    elements: data.View
    largest: Signal
    lane: Signal

    def __init__(self, lanes: int) -> None:
        self._levels = (lanes - 1).bit_length()
        super().__init__(
            {
                "elements": In(data.ArrayLayout(ELEMENT, lanes)),
                "largest": Out(ELEMENT),
                "lane": Out(range(lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        Entry = tuple[Value, Value]
        joints = 0

        def larger(a: Entry, b: Entry) -> Entry:
            nonlocal joints
            second = Signal(name=f"second_{joints}")
            joints += 1
            m.d.comb += second.eq(b[0] > a[0])
            return Mux(second, b[0], a[0]), Mux(second, b[1], a[1])

        def registered(name: str, entry: Entry) -> Entry:
            value = Signal(ELEMENT, name=name, reset_less=True)
            lane = Signal.like(self.lane, name=f"{name}_lane", reset_less=True)
            m.d.sync += [value.eq(entry[0]), lane.eq(entry[1])]
            return value, lane

        entries: list[Entry] = [(self.elements[k], Value.cast(k)) for k in range(len(self.elements))]
        first = self._levels // 2
        halfway = [registered(f"halfway_{k}", e) for k, e in enumerate(_folded(entries, larger, first))]
        largest = registered("winner", _folded(halfway, larger, self._levels - first)[0])
        m.d.comb += [self.largest.eq(largest[0]), self.lane.eq(largest[1])]
        return m

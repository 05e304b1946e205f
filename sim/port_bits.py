"""Packs events and unpacks request beats by the bit offsets of the ports' layouts, without Amaranth objects.

The offsets come from ``ahasd.rtl.signatures`` (:func:`port_map`); as plain data they also stand beside a
compiled unit, which then runs without importing Amaranth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ahasd.models.control.events import Aborted, Event, Feedback, Preverified, Token
from ahasd.models.control.params import ControlConfig, UnitParams

if TYPE_CHECKING:
    from amaranth.lib.data import StructLayout

__all__ = ["SLOTS", "PortMap", "config_bits", "event_bits", "field", "port_map", "slot_of"]

PortMap = dict[str, dict[str, tuple[int, int]]]
"""Port name to field name to (offset, width)."""

SLOTS = ("token", "feedback", "result")
"""Input streams."""


def port_map(params: UnitParams) -> PortMap:
    """The layouts of all ports that carry structures."""
    from ahasd.rtl import signatures as s

    layouts: dict[str, StructLayout] = {
        "token": s.token_layout(params),
        "feedback": s.feedback_layout(params),
        "result": s.result_layout(params),
        "request": s.request_layout(params),
        "header": s.header_layout(params),
        "commit": s.commit_layout(params),
        "config": s.config_layout(params),
        "counters": s.counters_layout(params),
        "status": s.status_layout(params),
        "command": s.COMMANDS,
    }
    return {
        port: {str(name): (part.offset, part.width) for name, part in layout}
        for port, layout in layouts.items()
    }


def field(bits: int, place: tuple[int, int]) -> int:
    """One field's value."""
    offset, width = place
    return bits >> offset & ((1 << width) - 1)


def slot_of(event: Event) -> str:
    """The input stream that an event comes in on."""
    match event:
        case Token():
            return "token"
        case Feedback():
            return "feedback"
        case Preverified() | Aborted():
            return "result"


def event_bits(event: Event, ports: PortMap) -> int:
    """An event as the payload of its stream."""
    match event:
        case Token(id, entropy, last):
            port = ports["token"]
            return id << port["id"][0] | entropy << port["entropy"][0] | last << port["last"][0]
        case Feedback(accepted, following):
            port = ports["feedback"]
            return accepted << port["accepted"][0] | following << port["next"][0]
        case Preverified(passed, fix):
            port = ports["result"]
            bits = passed << port["passed"][0]
            return bits if fix is None else bits | 1 << port["has_fix"][0] | fix << port["fix"][0]
        case Aborted():
            return 1 << ports["result"]["kind"][0]


def config_bits(config: ControlConfig, ports: PortMap) -> int:
    """The configuration port's value."""
    values = {**config.to_dict(), "suppress_preverify": config.suppress == "preverify"}
    return sum(int(values[name]) << offset for name, (offset, _) in ports["config"].items())

"""What does not add up: peak against printed and sustained rates, computed from a platform's parameters."""

from __future__ import annotations

from ahasd.models.errors import ConfigError
from ahasd.models.first_order.dram import Streams
from ahasd.models.platform.params import Platform

__all__ = ["PRINTED_BUS_GBPS", "PRINTED_CLOCK_NS", "PRINTED_GOPS", "PRINTED_PIM_GBPS", "platform_notes"]

PRINTED_PIM_GBPS = 256
"""[AH] on-chip bandwidth, in table and text."""
PRINTED_BUS_GBPS = 51.2
"""[AH] off-chip bandwidth."""
PRINTED_GOPS = 102.4
"""[AH] INT8 PIM rate, without saying of what."""
PRINTED_CLOCK_NS = 1.25
"""[AH] 800 MHz beside the timing counts."""


def platform_notes(platform: Platform) -> list[str]:
    """Sentences for ``ahasd platform show``; GB/s are bytes a nanosecond."""
    streams = Streams(platform)
    dram, pim = platform.dram, platform.pim
    units = dram.ranks * pim.units_per_rank
    peak, sustained = units * streams.unit_peak, units * streams.unit_sustained
    bus, bus_sustained = streams.bus_peak, streams.bus_sustained
    clock = dram.tck_ps / 1000
    gmacs = 1000 * pim.lanes / pim.clock_ps
    ridge = gmacs / streams.unit_peak
    draft = pim.draft_ranks / dram.ranks
    width = f"{units} units x {pim.banks_at_once} banks x {dram.access_bytes} B"
    notes = [f"PIM peak: {width} a tCCD_L of {dram.tccd_l * clock:g} ns = {peak:.1f} GB/s"]
    if platform.name == "ahasd":
        notes += [
            (
                f"PIM peak printed: {PRINTED_PIM_GBPS} GB/s, {PRINTED_PIM_GBPS / peak:.1%} of what timing "
                f"gives; with one bank a unit it would be {peak / pim.banks_at_once:.1f} GB/s"
            ),
            (
                f"PIM compute printed: {PRINTED_GOPS} GOPS, read as per unit; as a total it is "
                f"{PRINTED_GOPS / 2:g} GMAC/s, {PRINTED_GOPS / 2 / bus:.2f} x the bus"
            ),
            (
                f"Clock printed: 800 MHz; tREFI would be {dram.trefi * PRINTED_CLOCK_NS:g} ns and tRCD "
                f"{dram.trcd * PRINTED_CLOCK_NS:g} ns, at {clock:g} ns they are {dram.trefi * clock:g} and "
                f"{dram.trcd * clock:g} ns"
            ),
        ]
    notes += [
        (
            f"PIM sustained: {sustained:.1f} GB/s, {sustained / peak:.1%} of peak: tRCD + tRP at each row, "
            f"refresh ({dram.trfc / dram.trefi:.1%} of the time)"
        ),
        f"PIM compute: {gmacs:.1f} GMAC/s a unit; a pass of more than {ridge:.1f} tokens is bound by it",
        f"Bus: {bus:.1f} GB/s peak, {bus_sustained:.1f} GB/s sustained ({bus_sustained / bus:.1%}: refresh)",
        (
            f"PIM against bus, sustained: {sustained / bus_sustained:.1f} x with all ranks, "
            f"{draft * sustained / bus_sustained:.1f} x on the {pim.draft_ranks} draft ranks"
        ),
    ]
    return notes + _simulated(platform, peak, bus)


def _simulated(platform: Platform, peak: float, bus: float) -> list[str]:
    """The same rates from simulated commands, set against what is printed."""
    from ahasd.models.command_cost.rates import bus_gbps, pim_gbps

    try:
        pim, off = pim_gbps(platform), bus_gbps(platform)
    except ConfigError as error:
        return [f"Simulated commands: not with these parameters ({error})"]
    rates = (
        f"Simulated commands: PIM {pim:.1f} GB/s with all ranks ({pim / peak:.1%} of peak; a row also waits "
        f"for tRTP), bus {off:.1f} GB/s ({off / bus:.1%} of its pins; refresh closes rows)"
    )
    notes = [rates]
    if platform.name == "ahasd":
        notes.append(
            f"Out of reach with the timing table: {_reach('PIM', pim, PRINTED_PIM_GBPS)}; "
            f"{_reach('bus', off, PRINTED_BUS_GBPS)}"
        )
    return notes


def _reach(what: str, found: float, printed: float) -> str:
    if found >= printed:
        return f"{what} reaches the printed {printed:g} GB/s ({found:.1f})"
    return f"{what} sustains {found:.1f} of the printed {printed:g} GB/s, {found / printed:.1%}"

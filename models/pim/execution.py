"""A kernel's execution: the ranks of a channel until all are done, its commands, and what an abort costs."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ahasd.models.dram.controller import Command
from ahasd.models.dram.stream import write_lines
from ahasd.models.errors import ConfigError
from ahasd.models.pim.lane import Lane, Step
from ahasd.models.pim.spec import PimSpec

__all__ = ["Execution", "run_lanes"]


def run_lanes(lanes: list[Lane]) -> int:
    """All lanes to their ends, command by command; the clock at which the last data have passed."""
    if len(lanes) == 1:
        while not lanes[0].done:
            lanes[0].step()
    else:
        while waiting := [lane for lane in lanes if not lane.done]:
            min(waiting, key=lambda lane: lane.next()[0]).step()
    return max(max(lane.passed, lane.busy) for lane in lanes)


@dataclass(frozen=True)
class Execution:
    """Steps of one rank, as they happened.

    Raises
    ------
    ConfigError
        From ``abort_at``, if the clock is negative.
    """

    spec: PimSpec
    steps: list[Step]
    cycles: int

    def commands(self) -> Iterator[Command]:
        """By clock. A set's bank is counted from the last bank of the rank on."""
        found = [
            Command(clock, name, bank, row, -1 if column < 0 else column + index)
            for name, bank, row, column, clocks in self.steps
            for index, clock in enumerate(clocks)
        ]
        yield from sorted(found)

    def write(self, path: Path) -> None:
        """The first rank's commands as a trace file; a set of banks has bank group ``all`` and its number.

        Raises
        ------
        ConfigError
            If the file cannot be written.
        """
        org, sets = self.spec.dram.organisation, len(self.spec.sets)

        def line(command: Command) -> str:
            if command.bank < org.banks:
                place = [str(part) for part in divmod(command.bank, org.banks_per_group)]
            else:
                chosen = command.bank - org.banks
                place = ["all", str(chosen) if chosen < sets else "buffer"]
            if command.name == "REF":
                place = ["-", "-"]
            rest = ["-" if part < 0 else str(part) for part in (command.row, command.column)]
            return " ".join([str(command.clock), command.name, "0", *place, *rest])

        write_lines(path, (line(command) for command in self.commands()))

    def boundaries(self) -> list[int]:
        """Clocks of all commands, ascending: where the kernel can be broken off."""
        return sorted({clock for step in self.steps for clock in step[4]})

    def abort_at(self, clock: int) -> int:
        """When the rank is free if told at ``clock`` to stop: no further commands, rows closed, mode left.

        Results so far are lost. A command that has issued by ``clock`` finishes; a rank that is being
        refreshed ends that first. Leaving PIM mode costs ``switch_ps``, or a row cycle for ``tiles``.
        """
        if clock < 0:
            raise ConfigError(f"abort: {clock} must be 0 or more (clocks)")
        if clock >= self.cycles:
            return self.cycles
        dram = self.spec.dram
        standard = dram.standard
        act, pre = standard.activate[0], standard.precharge
        after = {
            "ACT": dram.between("bank", act, pre),
            "RD": dram.between("bank", "RD", pre),
            "WR": dram.between("bank", "WR", pre),
        }
        free = closed = clock
        for name, _, _, _, clocks in self.steps:
            done = bisect.bisect_right(clocks, clock)
            if not done:
                continue
            last = clocks[done - 1]
            if name in after:
                closed = max(closed, last + after[name])
            elif name == "REF":
                free = max(free, last + dram["RFCab"])
        free = max(free, closed + dram["RP"])
        switch = -(-self.spec.switch_ps // dram.tck_ps)
        return free + (switch or dram.between("bank", act, act))

"""Sequencer of one rank: a program's column commands in order, rows opened ahead, refresh between rows.

- Column commands issue in program order, each as soon as the constraints allow.
- Rows are opened (and others closed for it) for the next access to each bank among the next ``lookahead``
  commands, up to the next fence.
- A due refresh keeps rows from being opened; it happens when the next command would need one, all rows
  closed. So it waits for the end of the open row, one row of commands at most.

A run of commands to an open row is one step. That is exact: from the second command on, the only constraint
that binds is the distance to the one before. Column commands raise later columns' clocks by constants, so the
last one decides; commands that come between are row commands to other banks, which never delay columns; the
command bus gives columns the first choice, and with at least two clocks between columns there is always a
slot for a row command. ``run_length=1`` steps command by command; a test compares the two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count as count_from
from operator import itemgetter

from ahasd.models.dram.timing import NEVER, Timing
from ahasd.models.pim.program import BARRIER, BUFFER, LEAVE, SETS, WAIT, Op
from ahasd.models.pim.spec import PimSpec

__all__ = ["Lane", "Step"]

Step = tuple[str, int, int, int, "range | list[int]"]
"""Command, place, row, first column and clocks of a run of commands; for row commands the column is -1."""


class Lane:
    """One rank and its program.

    ``bus`` holds the taken clocks of the command bus; ranks that share it share the set. ``listens``: another
    rank's lane sends the buffer accesses. ``double_act``: an activation takes two commands. ``record``
    keeps all steps.
    """

    def __init__(
        self,
        spec: PimSpec,
        program: Iterable[Op],
        *,
        refresh: bool,
        in_sets: bool = False,
        bus: set[int] | None = None,
        listens: bool = False,
        double_act: bool = False,
        run_length: int = NEVER,
        record: bool = False,
    ) -> None:
        dram = spec.dram
        # The last set has no banks: the buffer, which needs no row.
        self._timing = Timing(dram, (*spec.sets, ()))
        self._buffer = self._timing.set_bank(0, len(spec.sets))
        self._first_set = self._timing.set_bank(0, 0)
        command = self._timing.command
        self._act, self._pre = command[dram.standard.activate[0]], command[dram.standard.precharge]
        self._ref = command["REFab"]
        self._column = {"RD": command["RD"], "WR": command["WR"]}
        self._passes = {"RD": dram["CL"] + dram["BL"], "WR": dram["CWL"] + dram["BL"]}
        self._refresh_clocks = dram["RFCab"]
        self._spacing = spec.column_clocks
        self._lookahead = spec.lookahead
        self._refi = dram["REFI"] if refresh else NEVER
        self._due = self._refi
        self._program = self._split(program, run_length)
        self._ahead: list[tuple[int, Op]] = []
        """Operations not yet done that have been looked at, each with the number of its first command."""
        self._commands_seen = 0
        self._issued: list[tuple[int, range | list[int]]] = []
        """Number of the first command and clocks of recent runs."""
        self._in_sets = in_sets
        self._open: dict[int, int] = {}
        self._closing: set[int] = set()
        self._floor = 1
        self._next_column = 1
        self._head_from = 1
        """Clock after the last column command."""
        self._bus = set() if bus is None else bus
        self._listens = listens
        self._double_act = double_act
        self.commands: Counter[str] = Counter()
        self.steps: list[Step] | None = [] if record else None
        self.busy = 0
        """Clock of the last command; ``passed``: when the data of all columns have passed."""
        self.passed = 0
        self.done = False
        self.mark = 0
        """``passed`` as it was at the first barrier."""

    @staticmethod
    def _split(program: Iterable[Op], run_length: int) -> Iterator[Op]:
        for op in program:
            if op.kind in ("RD", "WR") and op.number > run_length:
                for first in range(0, op.number, run_length):
                    part = min(run_length, op.number - first)
                    last = first + part == op.number
                    yield op._replace(number=part, column=op.column + first, close=op.close and last)
            else:
                yield op

    def extend(self, program: Iterable[Op], not_before: int) -> None:
        """Go on with ``program`` from clock ``not_before`` on."""
        self._program = self._split(program, NEVER)
        self._floor = max(self._floor, not_before)
        self.done = False

    # -- one step ------------------------------------------------------------------------------------------

    def next(self) -> tuple[int, int, int]:
        """Clock, command and bank of the next step; the command is -1 for columns and -2 for a fence."""
        head = self._look(0)
        best = (NEVER, 0, 0)
        for bank in self._closing:
            best = min(best, (self._free(self._timing.ready(self._pre, bank)), self._pre, bank))
        if head is None or head.kind in (SETS, LEAVE):
            return min(best, self._close_step()) if self._open else (self._floor, -2, 0)
        if head.kind in (BARRIER, WAIT):
            return min(best, (max(self._floor, self.passed), -2, 0))
        bank = self._bank_of(head)
        if bank == self._buffer or (self._open.get(bank) == head.row and bank not in self._closing):
            at = max(self._timing.ready(self._column[head.kind], bank), self._next_column, self._floor)
            if bank != self._buffer or not self._listens:
                at = self._free(at)
            if bank != self._buffer or at < self._due:
                best = min(best, (at, -1, bank))
            else:
                return min(best, self._refresh_step())
        elif self._row_at(0, bank)[0] >= self._due:
            # The commands before the head, still on their way, may have rows opened for what follows it.
            early = self._row_step()
            return min(best, early if early[0] < self._head_from else self._refresh_step())
        return min(best, self._row_step())

    def step(self) -> None:
        """Do what ``next`` says."""
        at, command, bank = self.next()
        if command == -2:
            self._fence()
        elif command == -1:
            self._run(at, bank)
        elif command == self._pre:
            self._row(at, "PRE", command, bank, -1)
            del self._open[bank]
            self._closing.discard(bank)
        elif command == self._act:
            row = next(op.row for _, op in self._ahead if self._bank_of(op) == bank)
            self._row(at, "ACT", command, bank, row)
            if self._double_act:
                self._bus.add(self._free(at + 1))
            self._open[bank] = row
        else:
            self._row(at, "REF", command, bank, -1)
            self._due += self._refi
            self._next_column = max(self._next_column, at + self._refresh_clocks)

    def _fence(self) -> None:
        head = self._look(0)
        if head is None:
            self.done = True
            return
        self._ahead.pop(0)
        if head.kind == BARRIER:
            self._floor = max(self._floor, self.passed)
            self.mark = self.mark or self.passed
        elif head.kind == WAIT:
            self._floor = max(self._floor, self.passed, self.busy) + head.number
        elif head.kind == SETS:
            self._timing.enter_sets(0)
            self._in_sets = True
        else:
            self._timing.leave_sets(0)
            self._in_sets = False

    def _run(self, at: int, bank: int) -> None:
        number, op = self._ahead.pop(0)
        interval = op.interval or self._spacing
        clocks: range | list[int] = range(at, at + op.number * interval, interval)
        if bank == self._buffer and self._listens:
            pass
        elif not self._bus.isdisjoint(clocks):
            slots, clock = [], at
            for _ in range(op.number):
                clock = self._free(clock)
                slots.append(clock)
                clock += interval
            clocks = slots
            self._bus.update(slots)
        else:
            self._bus.update(clocks)
        last = clocks[-1]
        self._timing.issue(self._column[op.kind], bank, last)
        self._next_column = last + interval
        self._head_from = last + 1
        self.passed = max(self.passed, last + self._passes[op.kind])
        self.busy = max(self.busy, last)
        self.commands[op.kind] += op.number
        self._issued.append((number, clocks))
        if op.close:
            self._closing.add(bank)
        if self.steps is not None:
            self.steps.append((op.kind, bank, op.row, op.column, clocks))
        if len(self._bus) > 4096:
            self._bus.difference_update([clock for clock in self._bus if clock < at])

    def _row(self, at: int, name: str, command: int, bank: int, row: int) -> None:
        self._timing.issue(command, bank, at)
        self._bus.add(at)
        self.busy = max(self.busy, at)
        self.commands[name] += 1
        if self.steps is not None:
            self.steps.append((name, bank, row, -1, [at]))

    # -- rows ----------------------------------------------------------------------------------------------

    def _row_step(self) -> tuple[int, int, int]:
        """The first activation, or precharge for one, that the next commands need."""
        best, seen = (NEVER, 0, 0), set()
        for index in count_from():
            op = self._look(index)
            if op is None or op.kind not in self._column:
                break
            if self._visible(index) == NEVER:
                break
            bank = self._bank_of(op)
            if bank in seen or bank == self._buffer:
                continue
            seen.add(bank)
            if bank in self._closing or self._open.get(bank) == op.row:
                continue
            at, command = self._row_at(index, bank)
            if command != self._act or at < self._due:
                best = min(best, (at, command, bank))
        return best

    def _row_at(self, index: int, bank: int) -> tuple[int, int]:
        """When the row command that an operation needs next may issue, and which it is."""
        command = self._pre if bank in self._open else self._act
        at = max(self._timing.ready(command, bank), self._visible(index), self._floor)
        return (self._free(at) if at < NEVER else NEVER), command

    def _close_step(self) -> tuple[int, int, int]:
        """The first precharge that ends all rows; the commands before the head have gone out."""
        ready, pre = self._timing.ready, self._pre
        return min((self._free(max(ready(pre, bank), self._head_from)), pre, bank) for bank in self._open)

    def _refresh_step(self) -> tuple[int, int, int]:
        if self._open:
            return self._close_step()
        at = max(self._timing.ready(self._ref, self._first_set), self._due)
        return self._free(at), self._ref, self._first_set

    def _visible(self, index: int) -> int:
        """When the sequencer gets to see an operation: as ``lookahead`` minus one others are ahead of it."""
        wanted = self._ahead[index][0] - self._lookahead
        if wanted < 0:
            return 0
        issued = self._issued
        if index == 0:
            while len(issued) > 1 and issued[1][0] <= wanted:
                issued.pop(0)
        place = bisect_right(issued, wanted, key=itemgetter(0)) - 1
        if place < 0:
            return NEVER
        number, clocks = issued[place]
        return clocks[wanted - number] + 1 if wanted - number < len(clocks) else NEVER

    def _look(self, index: int) -> Op | None:
        while len(self._ahead) <= index:
            op = next(self._program, None)
            if op is None:
                return None
            self._ahead.append((self._commands_seen, op))
            if op.kind in self._column:
                self._commands_seen += op.number
        return self._ahead[index][1]

    def _bank_of(self, op: Op) -> int:
        if op.place == BUFFER:
            return self._buffer
        return self._first_set + op.place if self._in_sets else op.place

    def _free(self, clock: int) -> int:
        while clock in self._bus:
            clock += 1
        return clock

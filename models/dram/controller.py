"""Memory controller: first-ready first-come over a window, open rows, one command a clock.

Each clock issues the first of these that the constraints allow; if none, the simulation jumps to the clock at
which one becomes allowed:

1. the second activation command, if its deadline (AAD) has come;
2. accesses whose row was opened for them, oldest first;
3. the oldest due refresh: it closes its rows as soon as they may be and then refreshes; the window waits
   from when it is due;
4. requests of the window, oldest first: an access to the open row, a precharge of another row, or an
   activation;
5. the second activation command.

A request leaves the window when its access issues or its row is being opened; the window is filled before
each clock. No row is closed before the request that opened it has been served, and between the two activation
commands no other activation begins. Requests to the same row stay in order. In-order issue is the same
controller with a window of one request that is refilled when that request is served.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ahasd.models.dram.spec import DramSpec
from ahasd.models.dram.timing import NEVER, Timing

__all__ = ["Command", "Controller", "Request"]


class Request(NamedTuple):
    """One access. ``bank`` counts through the channel: rank by rank, bank group by bank group."""

    bank: int
    row: int
    column: int
    write: bool = False


class Command(NamedTuple):
    """A command as it went over the bus; -1 where it has no such part."""

    clock: int
    name: str
    bank: int
    """Of a command to all banks of rank r: -1 - r."""
    row: int
    column: int


_Entry = tuple[int, Request]
"""Arrival number and request."""


class Controller:
    """One channel.

    ``refresh``: ``none``, ``all`` (REFab of each rank every REFI) or ``bank`` (REFpb of one bank after the
    other every REFIpb).
    """

    def __init__(
        self, spec: DramSpec, *, refresh: str = "none", window: int = 32, in_order: bool = False
    ) -> None:
        standard, organisation = spec.standard, spec.organisation
        self._spec = spec
        self._timing = Timing(spec)
        command = self._timing.command
        self._names = standard.commands
        self._act = command[standard.activate[0]]
        self._act2 = command[standard.activate[1]] if len(standard.activate) > 1 else -1
        self._deadline = spec["AAD"] if self._act2 >= 0 else 0
        self._pre, self._pre_all = command[standard.precharge], command[standard.precharge_all]
        self._rd, self._wr = command["RD"], command["WR"]
        self._ref_all, self._ref_bank = command["REFab"], command["REFpb"]
        self._in_order = in_order
        self._room = 1 if in_order else window
        self._banks = organisation.banks
        count = organisation.ranks * organisation.banks
        self._open = [-1] * count
        """Row of each bank, -1: closed."""
        self._rows: dict[int, dict[int, deque[_Entry]]] = {}
        """The window: bank, row, requests by arrival."""
        self._waiting = 0
        self._active: list[_Entry] = []
        self._owned = [0] * count
        """Active requests of each bank."""
        self._half: tuple[int, _Entry] | None = None
        """Clock of a first activation command without its second, and its request."""
        self._due: deque[int] = deque()
        """Banks to refresh; with ``all`` the first of their rank."""
        self._refresh = refresh
        self._interval = {"none": NEVER, "all": spec["REFI"], "bank": spec["REFIpb"]}[refresh]
        self._next_due = self._interval
        self._turn = 0
        self.commands: Counter[str] = Counter()
        self.trace: list[Command] | None = None
        """Set it to a list to have every command appended."""
        self.last_read = 0
        """Clock of the last read command, 0 without any; ``last_write`` alike."""
        self.last_write = 0

    def run(self, requests: Iterable[Request]) -> int:
        """Serve all requests; clocks until the last read's data have come and the last write has issued."""
        arrivals: Iterator[_Entry] = iter(enumerate(requests))
        clock = 1
        while True:
            self._fill(arrivals)
            if not self._waiting and not self._active and self._half is None:
                break
            while self._next_due <= clock:
                self._queue_refresh()
            found = self._step(clock)
            clock = clock + 1 if found <= clock else min(found, self._next_due)
        data = self.last_read + self._spec["CL"] + self._spec["BL"] if self.last_read else 0
        return max(data, self.last_write)

    def _fill(self, arrivals: Iterator[_Entry]) -> None:
        while self._waiting < self._room:
            if self._in_order and (self._active or self._half):
                break
            entry = next(arrivals, None)
            if entry is None:
                break
            request = entry[1]
            self._rows.setdefault(request.bank, {}).setdefault(request.row, deque()).append(entry)
            self._waiting += 1

    def _queue_refresh(self) -> None:
        if self._refresh == "all":
            self._due.extend(range(0, len(self._open), self._banks))
        else:
            self._due.append(self._turn)
            self._turn = (self._turn + 1) % len(self._open)
        self._next_due += self._interval

    def _step(self, clock: int) -> int:
        """Issue a command at ``clock`` and return ``clock``, or return when one may be allowed."""
        half = self._half
        if half is not None and clock >= half[0] + self._deadline:
            return self._second(clock, half[1])
        soonest = self._serve_active(clock)
        if soonest > clock and self._due:
            soonest = min(soonest, self._serve_refresh(clock))
        elif soonest > clock:
            soonest = min(soonest, self._serve_window(clock))
        if soonest > clock and half is not None:
            return self._second(clock, half[1])
        return soonest

    def _second(self, clock: int, entry: _Entry) -> int:
        self._issue(clock, self._act2, entry[1])
        self._half = None
        self._open_for(entry)
        return clock

    def _open_for(self, entry: _Entry) -> None:
        request = entry[1]
        self._open[request.bank] = request.row
        self._active.append(entry)
        self._owned[request.bank] += 1

    def _serve_active(self, clock: int) -> int:
        soonest, best = NEVER, -1
        for index, (number, request) in enumerate(self._active):
            at = self._timing.ready(self._wr if request.write else self._rd, request.bank)
            if at > clock:
                soonest = min(soonest, at)
            elif best < 0 or number < self._active[best][0]:
                best = index
        if best < 0:
            return soonest
        request = self._active.pop(best)[1]
        self._owned[request.bank] -= 1
        self._access(clock, request)
        return clock

    def _serve_refresh(self, clock: int) -> int:
        bank = self._due[0]
        banks = range(bank, bank + (self._banks if self._refresh == "all" else 1))
        half = -1 if self._half is None else self._half[1][1].bank
        if half in banks or any(self._owned[b] for b in banks):
            return NEVER
        everywhere = self._refresh == "all"
        opened = any(self._open[b] >= 0 for b in banks)
        if opened:
            command = self._pre_all if everywhere else self._pre
        else:
            command = self._ref_all if everywhere else self._ref_bank
        at = self._timing.ready(command, bank)
        if at > clock:
            return at
        self._issue(clock, command, Request(bank, -1, -1))
        if opened:
            for b in banks:
                self._open[b] = -1
        else:
            self._due.popleft()
        return clock

    def _serve_window(self, clock: int) -> int:
        half = -1 if self._half is None else self._half[1][1].bank
        ready = self._timing.ready
        soonest, oldest, command, chosen = NEVER, NEVER, -1, None
        for bank, rows in self._rows.items():
            if bank == half:
                continue
            opened = self._open[bank]
            hits = rows.get(opened)
            if hits is not None and not self._owned[bank]:
                number, request = hits[0]
                if number < oldest:
                    wanted = self._wr if request.write else self._rd
                    at = ready(wanted, bank)
                    if at > clock:
                        soonest = min(soonest, at)
                    else:
                        oldest, command, chosen = number, wanted, request
                if len(rows) == 1:
                    continue
            if (opened < 0 and half >= 0) or (opened >= 0 and self._owned[bank]):
                continue
            number, request = min(queue[0] for row, queue in rows.items() if row != opened)
            if number < oldest:
                wanted = self._act if opened < 0 else self._pre
                at = ready(wanted, bank)
                if at > clock:
                    soonest = min(soonest, at)
                else:
                    oldest, command, chosen = number, wanted, request
        if chosen is None:
            return soonest
        self._serve(clock, command, oldest, chosen)
        return clock

    def _serve(self, clock: int, command: int, number: int, request: Request) -> None:
        if command == self._pre:
            self._issue(clock, command, request)
            self._open[request.bank] = -1
            return
        rows = self._rows[request.bank]
        rows[request.row].popleft()
        self._waiting -= 1
        if not rows[request.row]:
            del rows[request.row]
            if not rows:
                del self._rows[request.bank]
        if command != self._act:
            self._access(clock, request)
            return
        self._issue(clock, command, request)
        if self._act2 >= 0:
            self._half = (clock, (number, request))
        else:
            self._open_for((number, request))

    def _access(self, clock: int, request: Request) -> None:
        if request.write:
            self.last_write = clock
        else:
            self.last_read = clock
        self._issue(clock, self._wr if request.write else self._rd, request)

    def _issue(self, clock: int, command: int, request: Request) -> None:
        self._timing.issue(command, request.bank, clock)
        name = self._names[command]
        self.commands[name] += 1
        if self.trace is not None:
            column = request.column if command in (self._rd, self._wr) else -1
            row = -1 if command in (self._pre, self._pre_all) else request.row
            everywhere = command in (self._pre_all, self._ref_all)
            bank = -1 - request.bank // self._banks if everywhere else request.bank
            self.trace.append(Command(clock, name, bank, row, column))

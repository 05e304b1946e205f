"""When a command may issue: the constraints of a memory over what has issued so far.

Banks are numbered through the channel: rank by rank, bank group by bank group. Every node (channel, rank,
bank group, bank) keeps, per command, the first clock at which that command is allowed; issuing a command
raises it at the nodes that a constraint's scope names. A window (tFAW) looks back at the n-th last command
instead.

All-bank mode adds ``sets`` per rank, such as all even banks. A set is one more bank whose commands go to all
its members at once; column commands of any two sets share every bank group, so they are apart by the
same-group constraints; windows do not count them (peers.toml). ``enter_sets`` and ``leave_sets`` carry the
state over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from ahasd.models.dram.spec import DramSpec

__all__ = ["NEVER", "Timing"]

NEVER = 1 << 62
"""Later than any clock."""

Rules = list[tuple[int, int]]


class Timing:
    """State of one channel. Clocks begin at 1."""

    def __init__(self, spec: DramSpec, sets: Sequence[Sequence[int]] = ()) -> None:
        organisation = spec.organisation
        commands = spec.standard.commands
        self.command: Mapping[str, int] = {name: index for index, name in enumerate(commands)}
        self.sets = tuple(tuple(members) for members in sets)
        self._banks = organisation.banks
        self._ranks = organisation.ranks
        count = len(commands)
        self._channel = [0] * count
        self._rank = [[0] * count for _ in range(self._ranks)]
        # One group and the banks of a rank's sets follow the real ones.
        self._first_set = self._ranks * self._banks
        groups = self._ranks * organisation.bank_groups
        self._group = [[0] * count for _ in range(groups + self._ranks)]
        self._bank = [[0] * count for _ in range(self._first_set + self._ranks * len(self.sets))]
        self._rank_of = [bank // self._banks for bank in range(self._first_set)]
        self._group_of = [bank // organisation.banks_per_group for bank in range(self._first_set)]
        for rank in range(self._ranks):
            self._rank_of += [rank] * len(self.sets)
            self._group_of += [groups + rank] * len(self.sets)
        self._groups_per_rank = organisation.bank_groups
        self._of_channel: list[Rules] = [[] for _ in commands]
        self._of_rank: list[Rules] = [[] for _ in commands]
        self._of_others: list[Rules] = [[] for _ in commands]
        self._of_group: list[Rules] = [[] for _ in commands]
        self._of_bank: list[Rules] = [[] for _ in commands]
        self._windows: list[list[tuple[int, int, list[deque[int]]]]] = [[] for _ in commands]
        tables = {
            "channel": self._of_channel,
            "rank": self._of_rank,
            "other-ranks": self._of_others,
            "group": self._of_group,
            "bank": self._of_bank,
        }
        for constraint in spec.standard.constraints:
            earlier, later = self.command[constraint.earlier], self.command[constraint.later]
            clocks = spec.clocks(constraint)
            if constraint.window > 1:
                seen: list[deque[int]] = [deque(maxlen=constraint.window) for _ in range(self._ranks)]
                self._windows[earlier].append((later, clocks, seen))
            else:
                tables[constraint.scope][earlier].append((later, clocks))

    def set_bank(self, rank: int, index: int) -> int:
        """Number of set ``index`` of ``rank``."""
        return self._first_set + rank * len(self.sets) + index

    def rank_of(self, bank: int) -> int:
        return self._rank_of[bank]

    def ready(self, command: int, bank: int) -> int:
        """The first clock at which ``command`` may issue to ``bank``, or to its rank."""
        return max(
            self._channel[command],
            self._rank[self._rank_of[bank]][command],
            self._group[self._group_of[bank]][command],
            self._bank[bank][command],
        )

    def issue(self, command: int, bank: int, at: int) -> None:
        """``command`` issues at clock ``at``."""
        rank = self._rank_of[bank]
        for nodes, rules in (
            (self._channel, self._of_channel[command]),
            (self._rank[rank], self._of_rank[command]),
            (self._group[self._group_of[bank]], self._of_group[command]),
            (self._bank[bank], self._of_bank[command]),
        ):
            for later, clocks in rules:
                if nodes[later] < at + clocks:
                    nodes[later] = at + clocks
        if self._of_others[command]:
            for other in range(self._ranks):
                if other != rank:
                    self._raise(self._rank[other], self._of_others[command], at)
        if bank < self._first_set:
            for later, clocks, seen in self._windows[command]:
                seen[rank].append(at)
                if len(seen[rank]) == seen[rank].maxlen:
                    self._raise(self._rank[rank], [(later, clocks)], seen[rank][0])

    @staticmethod
    def _raise(nodes: list[int], rules: Rules, at: int) -> None:
        for later, clocks in rules:
            nodes[later] = max(nodes[later], at + clocks)

    def enter_sets(self, rank: int) -> None:
        """All-bank mode: a set may do what all its members may."""
        groups = range(rank * self._groups_per_rank, (rank + 1) * self._groups_per_rank)
        shared = self._group[self._group_of[self.set_bank(rank, 0)]]
        shared[:] = [max(column) for column in zip(shared, *(self._group[g] for g in groups), strict=True)]
        for index, members in enumerate(self.sets):
            banks = [self._bank[rank * self._banks + member] for member in members]
            own = self._bank[self.set_bank(rank, index)]
            own[:] = [max(column) for column in zip(own, *banks, strict=True)]

    def leave_sets(self, rank: int) -> None:
        """Back to single banks: a bank may do what its set may."""
        shared = self._group[self._group_of[self.set_bank(rank, 0)]]
        for group in range(rank * self._groups_per_rank, (rank + 1) * self._groups_per_rank):
            self._group[group] = [max(pair) for pair in zip(self._group[group], shared, strict=True)]
        for index, members in enumerate(self.sets):
            own = self._bank[self.set_bank(rank, index)]
            for member in members:
                bank = rank * self._banks + member
                self._bank[bank] = [max(pair) for pair in zip(self._bank[bank], own, strict=True)]

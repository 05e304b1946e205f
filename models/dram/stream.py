"""A stream of accesses on one channel, and the result that every kernel has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ahasd.models.dram.controller import Command, Controller
from ahasd.models.dram.patterns import PATTERNS
from ahasd.models.dram.spec import DramSpec
from ahasd.models.errors import ConfigError
from ahasd.models.settings import near

__all__ = ["REFRESH", "KernelResult", "stream", "write_lines", "write_trace"]

REFRESH = ("none", "all", "bank")


@dataclass(frozen=True, kw_only=True)
class KernelResult:
    """What a kernel took."""

    cycles: int
    """Memory clocks from the first request to the last data."""
    ps: int
    commands: Mapping[str, int]
    """By kind, of one channel (a stream) or one rank (a PIM kernel)."""
    bytes: int
    """That the kernel is about: data of a stream, weights of a GEMV, all ranks together."""
    bandwidth_gbps: float
    """Bytes a nanosecond."""
    config: Mapping[str, Any]
    phases: Mapping[str, int] = field(default_factory=dict)
    """Cycles of the parts that follow each other, if the kernel has such."""

    def to_dict(self) -> dict[str, Any]:
        """As ``ahasd kernel --json`` prints it."""
        out: dict[str, Any] = {
            "cycles": self.cycles,
            "ps": self.ps,
            "commands": dict(self.commands),
            "bandwidth_gbps": self.bandwidth_gbps,
            "bytes": self.bytes,
            "config": dict(self.config),
        }
        if self.phases:
            out["phases"] = dict(self.phases)
        return out


def stream(
    spec: DramSpec,
    pattern: str,
    count: int,
    *,
    write: bool = False,
    refresh: str = "none",
    seed: int = 0,
    window: int = 32,
    in_order: bool = False,
    trace: list[Command] | None = None,
) -> KernelResult:
    """``count`` accesses of ``pattern``, pushed as fast as the controller takes them.

    Commands are appended to ``trace`` if it is given.

    Raises
    ------
    ConfigError
        If the pattern or kind of refresh is unknown, or ``count`` or ``window`` below 1.
    """
    if pattern not in PATTERNS:
        raise ConfigError(f"pattern: {pattern!r} is unknown; near: {near(pattern, PATTERNS)}")
    if refresh not in REFRESH:
        raise ConfigError(f"refresh: {refresh!r} must be one of {', '.join(REFRESH)}")
    for name, value in (("count", count), ("window", window)):
        if value < 1:
            raise ConfigError(f"{name}: {value} must be at least 1")
    controller = Controller(spec, refresh=refresh, window=window, in_order=in_order)
    controller.trace = trace
    cycles = controller.run(PATTERNS[pattern](spec.organisation, count, write, seed))
    size = count * spec.organisation.access_bytes
    ps = cycles * spec.tck_ps
    return KernelResult(
        cycles=cycles,
        ps=ps,
        commands=dict(sorted(controller.commands.items())),
        bytes=size,
        bandwidth_gbps=1000 * size / ps,
        config={
            "kernel": "stream",
            "preset": spec.name,
            "pattern": pattern,
            "count": count,
            "write": write,
            "refresh": refresh,
            "seed": seed,
            "scheduler": "in-order" if in_order else "fr-fcfs",
            "window": 1 if in_order else window,
            "tck_ps": spec.tck_ps,
        },
    )


def write_trace(path: Path, spec: DramSpec, commands: Iterable[Command]) -> None:
    """One command a line: clock, command, rank, bank group, bank of it, row, column; - for all or none.

    Raises
    ------
    ConfigError
        If the file cannot be written.
    """
    org = spec.organisation

    def line(command: Command) -> str:
        if command.bank < 0:
            place = [str(-1 - command.bank), "-", "-"]
        else:
            rank, bank = divmod(command.bank, org.banks)
            place = [str(rank), *map(str, divmod(bank, org.banks_per_group))]
        rest = ["-" if part < 0 else str(part) for part in (command.row, command.column)]
        return " ".join([str(command.clock), command.name, *place, *rest])

    write_lines(path, (line(command) for command in commands))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """A trace file: a heading and ``lines``.

    Raises
    ------
    ConfigError
        If the file cannot be written.
    """
    try:
        with path.open("w", encoding="ascii") as file:
            file.write("# clock command rank bank-group bank row column\n")
            file.writelines(line + "\n" for line in lines)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from None

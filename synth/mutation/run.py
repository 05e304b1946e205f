"""Which bench kills which mutant, and which of the others are proved equal to the unit."""

from __future__ import annotations

import ctypes
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ahasd.synth.mutation.equal import equal
from ahasd.synth.mutation.library import MutantLibrary
from ahasd.synth.mutation.scripts import Script, long_scripts, short_scripts
from ahasd.synth.mutation.stateless import stateless

__all__ = ["Mutant", "run"]

SHORT, LONG = 3_000, 20_000
"""Cycles of the random bench."""
SHORT_SEEDS, LONG_SEEDS = range(1, 9), range(9, 41)
MARATHON_SEEDS, MARATHON = (2,), 600_000


@dataclass(frozen=True)
class Mutant:
    """``bench`` and ``cycle`` of its death, none if it survives; why a survivor is proved ``equal``."""

    number: int
    mutation: str
    bench: str = ""
    cycle: int = -1
    equal: str = ""

    @property
    def text(self) -> str:
        """The mutation without what all have in common."""
        return self.mutation.removeprefix("mutate ").replace(" -module control_unit", "")


Play = Callable[[Sequence[int]], list[int]]
"""From the numbers of mutants to the cycle in which each dies, or -1."""


class _Code:
    """The benches of a library."""

    def __init__(self, path: Path) -> None:
        code = ctypes.CDLL(str(path))
        many, number = ctypes.c_void_p, ctypes.c_int64
        self._pins, self._script = code.ahasd_pins, code.ahasd_script
        self._pins.restype = self._script.restype = number
        self._pins.argtypes = [many, number, ctypes.c_uint64, ctypes.c_int32, number, many]
        self._script.argtypes = [many, number, many, number, ctypes.c_uint32, many]

    def pins(self, seed: int, marathon: bool, cycles: int, mutants: Sequence[int]) -> list[int]:
        """The random bench."""
        chosen, deaths = _arrays(mutants)
        self._pins(chosen, len(mutants), seed, marathon, cycles, deaths)
        return list(deaths)

    def script(self, script: Script, mutants: Sequence[int]) -> list[int]:
        """Recorded events."""
        chosen, deaths = _arrays(mutants)
        address, length = script.words.buffer_info()
        self._script(chosen, len(mutants), address, length, script.ready, deaths)
        return list(deaths)


def _arrays(mutants: Sequence[int]) -> tuple[ctypes.Array[ctypes.c_uint32], ctypes.Array[ctypes.c_int64]]:
    return (ctypes.c_uint32 * len(mutants))(*mutants), (ctypes.c_int64 * len(mutants))()


def _benches(code: _Code) -> Iterator[tuple[str, Play]]:
    """All of them, those that kill most in a second first."""
    for seeds, cycles in ((SHORT_SEEDS, SHORT), (LONG_SEEDS, LONG)):
        for seed in seeds:
            yield f"random pins, seed {seed}", partial(code.pins, seed, False, cycles)
    for script in short_scripts():
        yield script.name, partial(code.script, script)


def _long_benches(code: _Code) -> Iterator[tuple[str, Play]]:
    """Those that take long, for what is left."""
    for seed in MARATHON_SEEDS:
        yield f"random pins, long sequence, seed {seed}", partial(code.pins, seed, True, MARATHON)
    for script in long_scripts():
        yield script.name, partial(code.script, script)


def _kill(mutants: list[Mutant], benches: Iterator[tuple[str, Play]]) -> list[Mutant]:
    """The same mutants, some of them dead."""
    result = {mutant.number: mutant for mutant in mutants}
    alive = list(result)
    for name, play in benches:
        if not alive:
            break
        for number, cycle in zip(alive, play(alive), strict=True):
            if cycle >= 0:
                result[number] = replace(result[number], bench=name, cycle=cycle)
        alive = [number for number in alive if not result[number].bench]
    return list(result.values())


def _share(library: MutantLibrary, first: int, step: int) -> list[Mutant]:
    """The mutants of one process."""
    code = _Code(library.code)
    if code.pins(1, False, SHORT, [0]) != [-1]:
        raise RuntimeError("the unit differs from itself")
    mutants = [Mutant(n, mutation) for n, mutation in enumerate(library.mutations, 1)][first::step]
    mutants = _kill(mutants, _benches(code))
    unit = stateless(library)
    proved = [
        mutant if mutant.bench else replace(mutant, equal=equal(unit, mutant.number)) for mutant in mutants
    ]
    left = [mutant for mutant in proved if not mutant.bench and not mutant.equal]
    return [mutant for mutant in proved if mutant not in left] + _kill(left, _long_benches(code))


def run(library: MutantLibrary, jobs: int = 1) -> list[Mutant]:
    """Every mutant's fate, by number; the same for any number of processes."""
    if jobs == 1:
        found = _share(library, 0, 1)
    else:
        work = [(library, first, jobs) for first in range(jobs)]
        with multiprocessing.get_context("spawn").Pool(jobs) as pool:
            found = [mutant for share in pool.starmap(_share, work) for mutant in share]
    return sorted(found, key=lambda mutant: mutant.number)

"""Run the cells that have no result yet, on several processes."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed

from ahasd.sim.reproduce.cells import Cell, Outcome, run_cell
from ahasd.sim.reproduce.store import Store

__all__ = ["Progress", "run_cells"]

Progress = Callable[[int, int], None]
"""Called with cells done and cells wanted."""


def run_cells(
    cells: Iterable[Cell], store: Store, *, jobs: int = 1, progress: Progress | None = None
) -> dict[Cell, Outcome]:
    """Outcomes of all ``cells``; each is stored as soon as it is there, and found there by the next run."""
    wanted = sorted(set(cells))
    found = {cell: outcome for cell in wanted if (outcome := store.get(cell)) is not None}
    missing = [cell for cell in wanted if cell not in found]

    def done(cell: Cell, outcome: Outcome) -> None:
        found[cell] = outcome
        if progress is not None:
            progress(len(found), len(wanted))

    if jobs == 1 or len(missing) < 2:
        for cell in missing:
            done(cell, _run(cell, store))
        return found
    # Spawned, not forked: nothing of this process (threads, open files) leaks into the workers.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(missing)), mp_context=context, initializer=_end_with_parent)
    try:
        futures = {pool.submit(_run, cell, store): cell for cell in missing}
        for future in as_completed(futures):
            done(futures[future], future.result())
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return found


def _run(cell: Cell, store: Store) -> Outcome:
    outcome = run_cell(cell)
    store.put(cell, outcome)
    return outcome


def _end_with_parent() -> None:
    """A killed parent must not leave workers that wait for work for ever."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

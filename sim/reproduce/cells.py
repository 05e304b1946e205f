"""A cell: one system on one pair, policy, trace and set of settings; and what is kept of its run."""

from __future__ import annotations

import ast
import bisect
import dataclasses
import functools
import hashlib
import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ahasd.models import model_version
from ahasd.models.errors import ConfigError
from ahasd.models.platform import DEFAULT_PLATFORM
from ahasd.sim.config import RunConfig
from ahasd.sim.ports import ModelError
from ahasd.sim.run import simulate
from ahasd.sim.spans import Span, overlap
from ahasd.sim.systems import find_system

__all__ = ["Cell", "Outcome", "code_digest", "run_cell"]

_NO_RESULT = ("reproduce", "benches")
"""Folders of ``ahasd.sim`` on which no cell depends."""


@dataclass(frozen=True, order=True, kw_only=True)
class Cell:
    """One run with the golden engine (see :class:`ahasd.sim.config.RunConfig`)."""

    system: str
    pair: str
    policy: str
    trace: str
    tokens: int
    seed: int = 0
    platform: str = DEFAULT_PLATFORM
    settings: tuple[tuple[str, Any], ...] = ()
    """``--set`` keys with their values, sorted."""

    def config(self, engine: str | None = "golden") -> RunConfig:
        """The run. ``engine`` counts only where there is a control unit.

        Raises
        ------
        ConfigError
            If there is no such system.
        """
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "settings"}
        chosen = engine if find_system(self.system).control_unit else None
        return RunConfig(**values, engine=chosen, set=dict(self.settings))

    def key(self) -> str:
        """Name of the result in the cache: all that it depends on, the code included."""
        scope = [dataclasses.asdict(self), model_version.MODEL_VERSION, code_digest()]
        return hashlib.sha256(json.dumps(scope, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a cell: the document of its run, or why there is none."""

    figures: dict[str, Any] | None = None
    """As ``ahasd run --json``, without what differs between runs, and with ``rounds``."""
    reason: str = ""
    """Such as a model that does not fit."""
    defect: bool = False
    """The simulator contradicts itself: no result, and a failed check."""


@functools.cache
def code_digest() -> str:
    """Of package version, models and simulator: code without comments, tables, check sums of traces."""
    models = Path(model_version.__file__).parent
    sim = Path(__file__).parents[1]
    digest = hashlib.sha256(version("ahasd").encode())
    for root in (models, sim):
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if root == sim and name.split("/")[0] in _NO_RESULT:
                continue
            if path.suffix == ".py":
                tree = ast.parse(path.read_text(encoding="utf-8"))
                digest.update(f"{name}\0{ast.dump(tree)}\0".encode())
            elif path.suffix == ".toml" or path.name == "provenance.json":
                digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def run_cell(cell: Cell) -> Outcome:
    """Simulate; what cannot be run is an outcome too.

    Raises
    ------
    AhasdError
        If it could be run another time: a trace that cannot be read, a file that cannot be written.
    """
    try:
        result = simulate(cell.config(), details=True)
    except ConfigError as error:
        return Outcome(reason=str(error))
    except ModelError as error:
        return Outcome(reason=f"defect: {error}", defect=True)
    figures = result.to_dict()
    del figures["wall"], figures["config"]["settings"]
    run = result.runs[0]
    figures["rounds"] = _shares(run.pim_spans, run.npu_spans, run.tally.time_ps)
    return Outcome(figures=figures)


def _shares(pim: list[Span], npu: list[Span], now: int) -> dict[str, float] | None:
    """Least and largest share of PIM time in one round: draft tasks and the verification after them.

    None where PIM and NPU ever work at the same time.
    """
    if overlap(pim, npu, now):
        return None
    begins = [span.begin for span in npu]
    drafting = [0] * len(npu)
    for span in pim:
        following = bisect.bisect_left(begins, span.begin)
        if following < len(npu):
            drafting[following] += span.length(now)
    shares = [draft / (draft + verify.length(now)) for draft, verify in zip(drafting, npu, strict=True)]
    return {"pim_share_least": min(shares), "pim_share_most": max(shares)} if shares else None

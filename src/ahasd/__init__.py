"""AHASD: hardware model of asynchronous NPU + PIM speculative decoding.

What the command line does, for notebooks::

    import ahasd

    result = ahasd.simulate(ahasd.RunConfig(system="ahasd", tokens=256))
    print(result.tokens_per_s, result.to_dict()["npu"])
    trace = ahasd.load_trace("smollm2-sampled/00")
    platform = ahasd.platform("ahasd")

Mistakes in what is given raise :class:`AhasdError` with one line that says what was expected. Heavy modules
are imported when they are first used.
"""

from __future__ import annotations

import importlib
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ahasd.models.errors import AhasdError
    from ahasd.models.platform import load_platform as platform
    from ahasd.models.traces import load_trace
    from ahasd.sim.config import RunConfig
    from ahasd.sim.result import Result
    from ahasd.sim.run import simulate

__all__ = ["AhasdError", "Result", "RunConfig", "__version__", "load_trace", "platform", "simulate"]

__version__ = _version("ahasd")

_WHERE = {
    "AhasdError": ("ahasd.models.errors", "AhasdError"),
    "Result": ("ahasd.sim.result", "Result"),
    "RunConfig": ("ahasd.sim.config", "RunConfig"),
    "load_trace": ("ahasd.models.traces", "load_trace"),
    "platform": ("ahasd.models.platform", "load_platform"),
    "simulate": ("ahasd.sim.run", "simulate"),
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _WHERE[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})

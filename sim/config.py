"""What a run is: everything that a user can choose, checked before anything is simulated."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ahasd.models.control.params import ControlConfig, UnitParams
from ahasd.models.errors import ConfigError
from ahasd.models.language_files import DEFAULT_PAIR
from ahasd.models.platform import DEFAULT_PLATFORM
from ahasd.models.policies import DEFAULT_POLICY
from ahasd.models.settings import check, param
from ahasd.models.split.settings import SearchSettings
from ahasd.models.traces import DEFAULT_TRACE
from ahasd.sim.systems import DEFAULT_SYSTEM

__all__ = ["ControlSettings", "RunConfig", "SystemSettings", "UnitSettings"]

_R = ControlConfig.RANGES


_SIZES = UnitParams.RANGES


def _size(key: str, **more: Any) -> Any:
    low, high = _SIZES[key]
    return param(getattr(UnitParams(), key), low=low, high=high, **more)


def _ranged(default: Any, key: str, **more: Any) -> Any:
    low, high = _R[key]
    return param(default, low=low, high=high, **more)


@dataclass(frozen=True, kw_only=True)
class UnitSettings:
    """``control.unit.*``: sizes of the control unit, the same in every engine."""

    bucket_bits: int = _size("bucket_bits", unit="bits", note="PHT entries: 2^(2 bucket_bits + llr_bits)")
    history: int = _size("history", unit="batches", note="a power of two")
    llr_bits: int = _size("llr_bits", unit="bits", note="closed batches at most: 2^llr_bits - 1")
    cycle_entries: int = _size("cycle_entries", note="of each cycle table, a power of two")
    queue_depth: int = _size("queue_depth", unit="tokens", note="a power of two of at least 2^llr_bits x 16")
    token_bits: int = _size("token_bits", unit="bits")

    def __post_init__(self) -> None:
        check(self)
        _ = self.params

    @property
    def params(self) -> UnitParams:
        """As golden model and RTL take them."""
        return UnitParams(**{field.name: getattr(self, field.name) for field in dataclasses.fields(self)})

    def check_ids(self, largest: int, where: str) -> None:
        """Token ids up to ``largest`` fit.

        Raises
        ------
        ConfigError
            If they do not.
        """
        if largest >> self.token_bits:
            raise ConfigError(
                f"control.unit.token_bits: {self.token_bits} must be at least {largest.bit_length()} for the "
                f"token ids of {where}, up to {largest}"
            )


@dataclass(frozen=True, kw_only=True)
class ControlSettings:
    """``control.*``: the control unit's configuration, its timebase and its predictor. None: derived."""

    edc: bool | None = param(None, note="None: as the system says")
    tvc: bool | None = param(None, note="None: as the system says")
    suppress: str = param("wait", choices=("wait", "preverify"), note="used when tvc is off")
    verify_all: bool = True
    max_draft: int = _ranged(16, "max_draft", unit="tokens")
    verify_max: int = _ranged(32, "verify_max", unit="tokens")
    preverify_max: int = _ranged(8, "preverify_max", unit="tokens")
    context: int | None = _ranged(None, "context", unit="tokens", note="None: the trace's prompt")
    prompt_token: int | None = _ranged(None, "prompt_token", note="None: the trace's")
    npu_preset: int | None = _ranged(
        None, "npu_preset", unit="UQ24.8 ticks a KV entry", note="None: cost model"
    )
    draft_preset: int | None = _ranged(
        None, "draft_preset", unit="UQ24.8 ticks a token", note="None: cost model"
    )
    preverify_preset: int | None = _ranged(
        None, "preverify_preset", unit="UQ24.8 ticks a token", note="None: cost model"
    )
    tick_cycles: int = param(256, unit="clock cycles", low=1, high=65536, note="a power of two")
    h_max: float | None = param(
        None, unit="nats", low=0.01, high=12.48, note="None: the trace set's provenance"
    )
    predictor: str = param("edc", choices=("edc", "always-go"), note="draft-control predictor behind EDC")
    unit: UnitSettings = field(default_factory=UnitSettings)

    def __post_init__(self) -> None:
        check(self)
        if self.prompt_token is not None:
            self.unit.check_ids(self.prompt_token, "control.prompt_token")
        if self.tick_cycles & (self.tick_cycles - 1):
            raise ConfigError(f"tick_cycles: {self.tick_cycles} must be a power of two from 1 to 65536")


@dataclass(frozen=True, kw_only=True)
class SystemSettings:
    """``system.*``: parts of the system that are not the control unit's."""

    aau: bool | None = param(None, note="attention unit in each rank; None: as the system says")
    search: SearchSettings = field(default_factory=SearchSettings)
    """Of the static split, where a system has one."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """One run. Names are looked up and ranges checked by :func:`ahasd.sim.run.prepare`."""

    system: str = DEFAULT_SYSTEM
    pair: str = DEFAULT_PAIR
    policy: str = DEFAULT_POLICY
    platform: str = DEFAULT_PLATFORM
    """Name of a preset, or a TOML file."""
    trace: str = DEFAULT_TRACE
    """``SET/NN``, ``SET`` (all of it, each trace a run of its own), a path, or ``synth:KEY=VALUE,...``."""
    tokens: int = 1024
    """Committed tokens after which a run ends, of each trace; at most the trace's rows."""
    engine: str | None = None
    """None: compiled (rtl without a C++ compiler), if the system has a control unit."""
    seed: int = 0
    """For policies that draw random numbers."""
    set: Mapping[str, Any] = field(default_factory=dict)
    """Settings by dotted key: ``platform.``, ``control.``, ``policy.``, ``system.``."""

    def to_dict(self) -> dict[str, Any]:
        """All of it but the engine, which changes no result."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "engine"}
        return {**values, "set": dict(self.set)}

"""Simulate: from a configuration to a result."""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ahasd.models.control.params import ControlConfig
from ahasd.models.cost import CostModel
from ahasd.models.energy import Machine
from ahasd.models.errors import ConfigError
from ahasd.models.language_files import pair
from ahasd.models.platform import Platform, load_platform, with_overrides
from ahasd.models.policies import Policy, make_policy
from ahasd.models.rollout import DraftRollout
from ahasd.models.settings import by_group, override, rows
from ahasd.models.traces import Trace, TraceSource, find_traces
from ahasd.sim.caches import TrueText
from ahasd.sim.config import ControlSettings, RunConfig, SystemSettings
from ahasd.sim.engine import ControlEngine, Finishing
from ahasd.sim.engines import check_engine, default_engine, golden_maker, make_engine
from ahasd.sim.presets import cycle_presets
from ahasd.sim.result import Result, TraceResult
from ahasd.sim.systems import Case, SystemSpec, find_system
from ahasd.sim.systems.assembly import Assembly, Setup
from ahasd.sim.tally import tally

__all__ = ["Plan", "Progress", "prepare", "simulate"]

Progress = Callable[[str, int, int], None]
"""Called with a trace's name, tokens committed and tokens wanted."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A configuration looked up and checked: all that the run needs."""

    config: RunConfig
    system: SystemSpec
    platform: Platform
    control: ControlSettings
    settings: SystemSettings
    case: Case
    traces: list[TraceSource]
    """All checked once; read again one at a time, so that memory does not grow with their number."""
    first: Trace
    """The first of them, still in memory."""
    costs: CostModel
    engine: str | None
    changes: dict[str, dict[str, Any]]
    """``config.set`` by group."""

    @property
    def tick_ps(self) -> int:
        """Period of the control unit's timebase."""
        return self.control.tick_cycles * self.platform.control_clock_ps

    @property
    def machine(self) -> Machine:
        """What the system is made of, for its energy."""
        return Machine(
            ranks=self.platform.dram.ranks,
            row_bits=8 * self.platform.dram.row_bytes,
            parts=self.system.parts,
            control_unit=self.system.control_unit,
            gpus=self.platform.hbm_pim.gpus if "hbm" in self.system.parts else 1,
            coefficients=self.platform.energy,
        )

    def make_policy(self) -> Policy:
        """A new drafting policy: the system's own rule, or the user's choice.

        Raises
        ------
        ConfigError
            If the user's choice does not exist, be it used or not.
        """
        own = None if self.system.policy is None else self.system.policy(self.case)
        if own is not None and own.name == self.config.policy:
            return own
        chosen = make_policy(self.config.policy, seed=self.config.seed, **self.changes["policy"])
        return chosen if own is None else own


def prepare(config: RunConfig) -> Plan:
    """Look up every name and check every value of ``config``.

    Raises
    ------
    AhasdError
        At the first mistake: a name or key that does not exist (near ones are listed), a value out of range,
        a trace that is missing or broken, a model that does not fit.
    """
    changes = by_group(config.set)
    system = find_system(config.system)
    if not system.control_unit and config.engine is not None:
        raise ConfigError(f"--engine: system {system.name} has no control unit, so no engine to choose")
    engine = check_engine(config.engine or default_engine()) if system.control_unit else None
    platform = with_overrides(load_platform(config.platform), changes["platform"])
    control = override(ControlSettings(), "control", changes["control"])
    settings = override(SystemSettings(), "system", changes["system"])
    draft, target = pair(config.pair)
    traces = find_traces(config.trace)
    first = traces[0].load()
    for source in dict.fromkeys(traces):
        trace = first if source == traces[0] else source.load()
        if not 1 <= config.tokens <= trace.rows:
            raise ConfigError(
                f"--tokens: {config.tokens} must be from 1 to {trace.rows}, what {trace.name} has"
            )
        if system.control_unit:
            control.unit.check_ids(trace.largest_id, trace.name)
        length = (control.context or trace.context) + config.tokens
        for model in (draft, target):
            if length > model.max_context:
                raise ConfigError(
                    f"--tokens: {length - config.tokens} of the prompt and {config.tokens} are more than "
                    f"{model.name} takes, {model.max_context}"
                )
    case = Case(
        platform=platform,
        draft=draft,
        target=target,
        aau=system.aau if settings.aau is None else settings.aau,
        search=settings.search,
        policy=_canonical(config, changes["policy"]),
    )
    plan = Plan(
        config=config,
        system=system,
        platform=platform,
        control=control,
        settings=settings,
        case=case,
        traces=traces,
        first=first,
        costs=system.costs(case),
        engine=engine,
        changes=changes,
    )
    plan.make_policy()
    return plan


def _canonical(config: RunConfig, changes: dict[str, Any]) -> str:
    """The policy asked for by its full name; as it stands if it is none that a user can choose."""
    try:
        return make_policy(config.policy, seed=config.seed, **changes).name
    except ConfigError:
        return config.policy


def simulate(
    config: RunConfig | None = None,
    *,
    vcd: Path | None = None,
    progress: Progress | None = None,
    details: bool | None = None,
) -> Result:
    """Run ``config`` (the default run without one).

    Parameters
    ----------
    config : RunConfig, optional
    vcd : Path, optional
        Write the RTL's waves; of one trace only.
    progress : callable, optional
        Is called with trace, tokens committed and tokens wanted, at the start and at each commit.
    details : bool, optional
        Keep text, spans and recording of each run (some 4 MB each). By default of a single trace only.

    Raises
    ------
    AhasdError
        If the configuration is wrong; see :func:`prepare`.
    ModelError
        If a model contradicts itself or the engine its golden model: a defect, not the user's mistake.
    """
    plan = prepare(config or RunConfig())
    if vcd is not None and (len(plan.traces) > 1 or plan.engine != "rtl"):
        raise ConfigError(f"--vcd: waves come from one trace and --engine rtl, not {plan.engine}")
    if details is None:
        details = len(plan.traces) == 1
    runs = []
    trace = plan.first
    for number, source in enumerate(plan.traces):
        if source != plan.traces[max(number - 1, 0)]:
            trace = source.load()
        runs.append(_run(plan, trace, vcd, progress, details))
    policy = plan.make_policy()
    return Result(
        config=plan.config,
        settings={
            row.path: row.value
            for settings, path in (
                (plan.platform, "platform"),
                (plan.control, "control"),
                (plan.settings, "system"),
                (policy.params, "policy"),
            )
            for row in rows(settings, path)
        },
        policy=policy.name,
        system=plan.system.name,
        machine=plan.machine,
        version=version("ahasd"),
        runs=runs,
    )


def control_config(plan: Plan, trace: Trace) -> ControlConfig:
    """The unit's configuration for one trace: settings given, else system, trace and cost model."""
    given = plan.control
    context = trace.context if given.context is None else given.context
    values: dict[str, Any] = {
        "edc": plan.system.edc,
        "tvc": plan.system.tvc,
        "context": context,
        "prompt_token": trace.prompt_token,
    }
    if plan.system.control_unit:
        values |= cycle_presets(plan.costs, context, plan.tick_ps)
    for key in ControlConfig().to_dict():
        if getattr(given, key) is not None:
            values[key] = getattr(given, key)
    return ControlConfig(**values)


def _run(plan: Plan, trace: Trace, vcd: Path | None, progress: Progress | None, details: bool) -> TraceResult:
    began = time.perf_counter()
    control = control_config(plan, trace)
    with _engine(plan, vcd) as engine:
        setup = Setup(
            rollout=DraftRollout(trace),
            text=TrueText(trace.y.tolist(), control.context, control.prompt_token),
            costs=plan.costs,
            policy=plan.make_policy(),
            control=control,
            h_max=plan.control.h_max or trace.h_max,
            contention=plan.platform.contention,
            tokens=plan.config.tokens,
            engine=engine,
            golden=golden_maker(plan.control.predictor, plan.control.unit.params),
            clock_ps=plan.platform.control_clock_ps,
        )
        system = plan.system.build(setup)
        if progress is not None:
            _announce(system, trace.name, plan.config.tokens, progress)
        system.run()
        observer = system.observer
        if isinstance(engine, Finishing) and observer is not None:
            engine.finish(copy.deepcopy(observer))
        report = None if engine is None else engine.report()
    result = TraceResult(
        name=trace.name,
        h_max=trace.h_max,
        context=control.context,
        tally=tally(
            system,
            plan.costs.prefill_ps(control.context),
            plan.costs.prefill_activity(control.context),
            plan.tick_ps,
        ),
        engine=report,
        seconds=time.perf_counter() - began,
    )
    if not details:
        return result
    return replace(
        result,
        trace=trace,
        committed=system.host.committed,
        npu_spans=system.npu.spans,
        pim_spans=system.pim.spans,
        dropped=[] if observer is None else observer.drops,
        recording=None if observer is None else observer.recording(),
        queued=[] if observer is None else observer.queued,
    )


def _announce(system: Assembly, name: str, wanted: int, progress: Progress) -> None:
    progress(name, 0, wanted)
    system.controller.commit.connect(lambda _: progress(name, len(system.host.committed), wanted))


@contextlib.contextmanager
def _engine(plan: Plan, vcd: Path | None) -> Iterator[ControlEngine | None]:
    """The run's engine, closed afterwards if it needs that (waves)."""
    if plan.engine is None:
        yield None
        return
    control = plan.control
    engine = make_engine(
        plan.engine,
        tick_cycles=control.tick_cycles,
        predictor=control.predictor,
        params=control.unit.params,
        vcd=vcd,
        clock_ps=plan.platform.control_clock_ps,
        npu_clock_ps=plan.platform.npu.clock_ps,
    )
    try:
        yield engine
    finally:
        close = getattr(engine, "close", None)
        if close is not None:
            close()

"""A pass whose operators are split between two devices, one after the other, a barrier behind each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ahasd.models.energy.activity import Activity
from ahasd.models.language import Gemv, LanguageModel
from ahasd.models.split.device import Device, Machine

__all__ = ["ATTENTION", "STEPS", "Devices", "Operator", "Split", "SplitPass", "Times", "kinds", "operator"]

ATTENTION = "attention"
STEPS = 64
"""A split is a number of 64ths on the second device."""

Split = Mapping[str, int]
"""Kind of operator to its 64ths on the second device."""


class Times(NamedTuple):
    """Of an operator or a pass, ps."""

    total: int
    first: int
    """In which the first device works."""
    second: int


Devices = tuple[Device | None, Device | None]
"""Both with one model; None for one that has no memory."""


def kinds(model: LanguageModel) -> list[str]:
    """Kinds of operators that can be split: a layer's GEMVs, its attention, the LM head."""
    return [*(gemv.name for gemv in model.gemvs), ATTENTION, model.head.name]


class Operator(NamedTuple):
    """One operator, ``steps`` of ``STEPS`` of its outputs or KV entries on the second device."""

    devices: Devices
    gemv: Gemv | None
    """None: attention."""
    steps: int

    def counts(self, kv_len: int) -> tuple[int, int]:
        """Outputs or KV entries of each device."""
        whole = kv_len if self.gemv is None else self.gemv.out
        second = max(whole * self.steps // STEPS, bool(self.steps))
        return whole - second, second

    def times(self, kv_len: int, tokens: int) -> Times:
        """With the exchange before and behind, in which neither device works."""
        exchange, work = 0, [0, 0]
        for index, (device, count) in enumerate(zip(self.devices, self.counts(kv_len), strict=True)):
            if count:
                if device is None:
                    raise ValueError("a part on a device that has no memory")
                if self.gemv is None:
                    part = device.attention(count, tokens)
                else:
                    part = device.gemv(self.gemv._replace(out=count), tokens)
                exchange += part.exchange_ps
                work[index] = part.work_ps
        return Times(max(work) + exchange, *work)

    def activity(self, kv_len: int, tokens: int) -> Activity:
        """Events of both parts."""
        total = Activity()
        for device, count in zip(self.devices, self.counts(kv_len), strict=True):
            if device is not None and count:
                if self.gemv is None:
                    total += device.attention_activity(count, tokens)
                else:
                    total += device.gemv_activity(self.gemv._replace(out=count), tokens)
        return total


def operator(model: LanguageModel, devices: Devices, kind: str, steps: int) -> Operator:
    """The operator of a kind."""
    found = next((gemv for gemv in (*model.gemvs, model.head) if gemv.name == kind), None)
    return Operator(devices, found, steps)


class SplitPass:
    """Passes of ``model`` on ``machine`` by a static ``split``. See :class:`ahasd.models.pass_costs.Pass`."""

    def __init__(self, machine: Machine, model: LanguageModel, split: Split) -> None:
        devices = machine.devices(model)
        self._machine = machine
        self._model = model
        self._layer = [operator(model, devices, gemv.name, split[gemv.name]) for gemv in model.gemvs]
        self._attention = operator(model, devices, ATTENTION, split[ATTENTION])
        self._head = operator(model, devices, model.head.name, split[model.head.name])
        self._gemv_times: dict[tuple[int, int], list[tuple[Times, int]]] = {}

    def pass_ps(self, kv_len: int, tokens: int, outputs: int) -> int:
        """Feed ``tokens`` up to ``kv_len`` KV entries; the LM head runs for the last ``outputs`` of them."""
        return self.times(kv_len, tokens, outputs).total

    def times(self, kv_len: int, tokens: int, outputs: int) -> Times:
        """As :meth:`pass_ps`, and how long each device works."""
        key, layers = (tokens, outputs), self._model.layers
        if key not in self._gemv_times:
            found = [(each.times(kv_len, tokens), layers) for each in self._layer]
            last = [(self._head.times(kv_len, outputs), 1)] if outputs else []
            self._gemv_times[key] = found + last
        rest, _ = self._machine.rest(self._model, kv_len, tokens, outputs)
        total, first, second = rest, rest, 0
        for times, count in (*self._gemv_times[key], (self._attention.times(kv_len, tokens), layers)):
            total, first = total + count * times.total, first + count * times.first
            second += count * times.second
        return Times(total, first, second)

    def activity(self, kv_len: int, tokens: int, outputs: int) -> Activity:
        """Events of that pass."""
        _, total = self._machine.rest(self._model, kv_len, tokens, outputs)
        for each in (*self._layer, self._attention):
            total += each.activity(kv_len, tokens).times(self._model.layers)
        return total + (self._head.activity(kv_len, outputs) if outputs else Activity())

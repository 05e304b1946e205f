"""Ratios of two systems over several traces: geometric mean and 95 % interval.

Each trace gives one ratio, both systems having run the same work, so what differs between traces cancels.
Ratios multiply, so they are averaged by their logarithms (Fleming and Wallace, CACM 29(3), 1986). The
interval is Student's t on the logarithms: with the six traces of a set the percentile bootstrap is too narrow
(Hesterberg, The American Statistician 69(4), 2015: less accurate than t-intervals for small samples).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Ratio", "geometric_mean", "paired_ratio"]

# Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


class Ratio(NamedTuple):
    """A mean ratio with the ends of its 95 % interval; None where one trace gives no interval."""

    mean: float
    low: float | None
    high: float | None
    traces: int


def geometric_mean(values: Iterable[float]) -> float:
    """Of positive values, at least one."""
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs))


def paired_ratio(ratios: Iterable[float]) -> Ratio:
    """Mean and interval of one positive ratio a trace; beyond 31 traces the interval is a little too wide."""
    logs = [math.log(ratio) for ratio in ratios]
    count = len(logs)
    mean = math.fsum(logs) / count
    if count == 1:
        return Ratio(math.exp(mean), None, None, 1)
    variance = math.fsum((log - mean) ** 2 for log in logs) / (count - 1)
    half = _T[min(count - 1, len(_T)) - 1] * math.sqrt(variance / count)
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half), count)

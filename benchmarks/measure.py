"""Measuring: the best of several repetitions, in CPU seconds of this process and its children."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

__all__ = ["best", "child", "machine"]


def best(work: Callable[[], object], repeat: int = 3) -> float:
    """CPU seconds of the quickest of ``repeat`` calls: what other processes do counts little."""
    times = []
    for _ in range(repeat):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def child(code: str, repeat: int = 1) -> tuple[float, float]:
    """(CPU seconds, peak MB) of a fresh Python that runs ``code``; the quickest of ``repeat``."""
    probe = """
import resource as _r
_u = _r.getrusage(_r.RUSAGE_SELF)
_peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print("\\n", _u.ru_utime + _u.ru_stime, int(_peak) / 1024)
"""  # not ru_maxrss: a child inherits its parent's
    results = []
    for _ in range(repeat):
        done = subprocess.run(
            [sys.executable, "-c", code + "\n" + probe], capture_output=True, text=True, check=True
        )
        seconds, memory = done.stdout.split()[-2:]
        results.append((float(seconds), float(memory)))
    return min(results)


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            model = next(
                (line.split(":")[1].strip() for line in info if line.startswith("model name")), model
            )
    except OSError:
        pass
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "system": platform.system(),
        "versions": {name: version(name) for name in ("ahasd", "amaranth", "numpy", "simpy")},
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }

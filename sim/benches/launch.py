"""Builds or runs a simulator through cocotb's runner, in a process of its own.

The runner takes settings from the environment before those that it is given, ends the process when something
fails and behaves otherwise under pytest; here it finds an environment made for it and a process to end.
Arguments: ``build`` or ``test``, and a JSON object with the arguments of the runner's method of that name.
"""

from __future__ import annotations

import json
import sys

from cocotb_tools.runner import get_runner

__all__ = ["main"]


def main() -> None:
    """Do what the command line says."""
    action, arguments = sys.argv[1], json.loads(sys.argv[2])
    runner = get_runner(arguments.pop("simulator"))
    if action == "build":
        runner.build(**arguments)
    else:
        runner.test(**arguments)


if __name__ == "__main__":
    main()

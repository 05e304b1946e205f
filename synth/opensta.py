"""Static timing by OpenSTA, its answers written as JSON by a Tcl script (its own reports are text)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from ahasd.models.errors import ToolError
from ahasd.synth.gates import Gates
from ahasd.synth.longest_path import EndPoint, Step, port_load

__all__ = ["find_sta", "opensta_paths"]

_TCL = """\
read_liberty {{{liberty}}}
read_verilog {{{netlist}}}
link_design {top}
create_clock -name clock -period {period} [get_ports {clock}]
foreach port [all_inputs] {{
  if {{[get_property $port full_name] ne "{clock}"}} {{
    set_input_delay {outside} -clock clock $port
    set_driving_cell -lib_cell {driver} $port
  }}
}}
set_output_delay {outside} -clock clock [all_outputs]
set_load {load} [all_outputs]
set file [open {{{result}}} w]
proc text {{value}} {{ return "\\"[string map {{\\\\ \\\\\\\\ \\" \\\\\\"}} $value]\\"" }}
set between "\\["
foreach end [find_timing_paths -path_delay max -group_count 1000000] {{
  puts -nonewline $file "$between\\n{{\\"slack\\": [get_property $end slack], \\"points\\": \\["
  set between ","
  set comma ""
  foreach point [get_property $end points] {{
    set pin [text [get_property [get_property $point pin] full_name]]
    puts -nonewline $file "$comma\\[$pin, [get_property $point arrival]\\]"
    set comma ", "
  }}
  puts -nonewline $file "\\]}}"
}}
puts $file "\\]"
close $file
"""


def find_sta() -> str | None:
    """OpenSTA's executable (Debian: ``opensta``), if it is installed."""
    return shutil.which("sta")


def opensta_paths(gates: Gates, period: float, share: float, clock: str = "clk") -> list[EndPoint]:
    """As :func:`ahasd.synth.longest_path.longest_paths`, by OpenSTA.

    Raises
    ------
    ToolError
        If OpenSTA is not installed or fails.
    """
    sta = find_sta()
    if sta is None:
        raise ToolError("sta: OpenSTA is not installed (Debian: opensta); leave the choice out")
    library = gates.netlist.library
    with tempfile.TemporaryDirectory() as name:
        result = Path(name) / "paths.json"
        script = Path(name) / "paths.tcl"
        script.write_text(
            _TCL.format(
                liberty=library.path,
                netlist=gates.verilog,
                top=gates.top,
                clock=clock,
                period=period,
                outside=period * share,
                driver=library.inverter.name,
                load=port_load(library),
                result=result,
            ),
            encoding="utf-8",
        )
        done = subprocess.run(
            [sta, "-no_splash", "-exit", str(script)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=os.environ | {"HOME": name},  # no ~/.sta
            check=False,
        )
        try:
            ends = json.loads(result.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            said = " ".join((done.stdout + done.stderr).split())[-300:]
            raise ToolError(f"OpenSTA on {gates.top}: {said}") from None
    return sorted((_end(gates, end) for end in ends), key=lambda end: (end.slack, end.cell))


def _end(gates: Gates, end: dict[str, object]) -> EndPoint:
    by_name = gates.by_name
    points: list[list[object]] = end["points"]  # type: ignore[assignment]
    steps = []
    for pin, at in points:
        cell, _, leaf = _plain(str(pin)).rpartition("/")
        gate = by_name.get(cell)
        if gate is None:
            steps.append(Step("", "", "", gates.port_net(leaf), float(str(at))))
        elif leaf not in gates.netlist.library.cells[gate.kind].inputs:
            steps.append(Step(cell, gate.kind, leaf, gate.pins[leaf], float(str(at))))
    last_cell, _, last_pin = _plain(str(points[-1][0])).rpartition("/")
    to_port = last_cell not in by_name
    slack = float(str(end["slack"]))
    name, pin = (last_pin, "") if to_port else (last_cell, last_pin)
    return EndPoint(name, pin, slack, steps[0].cell == "", to_port, tuple(steps))


def _plain(name: str) -> str:
    """OpenSTA escapes `/`, `[`, `.` and more inside names."""
    return re.sub(r"\\(.)", r"\1", name)

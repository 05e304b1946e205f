"""What is added to the flattened netlist so that mutants can be tested in one fast model.

Mutations are chosen before, on the netlist as it is; cells keep their names.
"""

from __future__ import annotations

import re

__all__ = ["with_back_door", "with_output_buffers"]

_REGISTER = re.compile(
    r"(  cell \$dff \S+\n    parameter \\WIDTH 32\n    parameter \\CLK_POLARITY 1\n    connect \\D )(.+)"
    r"(\n    connect \\CLK \\clk\n    connect \\Q \\event_counters\.\w+\n  end\n)"
)


def with_back_door(rtlil: str, counters: int) -> str:
    """Counters that inputs can set: 32-bit ones do not get far in a simulation.

    ``backdoor_load`` gives all ``counters`` the value ``backdoor_value`` at the next edge, as
    ``tests/rtl/test_counters.py`` sets them in Amaranth's simulator.
    """
    found = 0

    def load(match: re.Match[str]) -> str:
        nonlocal found
        found += 1
        wire = f"$backdoor${found}"
        return (
            f"  wire width 32 {wire}\n  cell $mux $backdoor$mux${found}\n    parameter \\WIDTH 32\n"
            f"    connect \\A {match[2]}\n    connect \\B \\backdoor_value\n"
            f"    connect \\S \\backdoor_load\n    connect \\Y {wire}\n  end\n{match[1]}{wire}{match[3]}"
        )

    changed = _REGISTER.sub(load, rtlil)
    if found != counters:
        raise RuntimeError(f"{found} counters found in the netlist, expected {counters}")
    return _declare(
        changed, "  wire input 1000 \\backdoor_load\n  wire width 32 input 1001 \\backdoor_value\n"
    )


def with_output_buffers(rtlil: str) -> str:
    """Outputs behind a buffer each: a mutated bit that depends on others of its output is no feedback."""
    declarations, cells = [], []
    for match in re.finditer(r"  wire( width (\d+))? output (\d+) \\(\w+)\n", rtlil):
        width, number, name = int(match[2] or 1), match[3], match[4]
        inner = f"\\{name}__inner"
        rtlil = re.sub(rf"\\{name}(?![\w.$])", rf"\\{name}__inner", rtlil)
        rtlil = re.sub(rf"  wire( width \d+)? output {number} \{inner}\n", rf"  wire\1 \{inner}\n", rtlil)
        declarations.append(f"  wire width {width} output {number} \\{name}\n")
        cells.append(
            f"  cell $pos $buffer${name}\n    parameter \\A_SIGNED 0\n    parameter \\A_WIDTH {width}\n"
            f"    parameter \\Y_WIDTH {width}\n    connect \\A {inner}\n    connect \\Y \\{name}\n  end\n"
        )
    return _declare(rtlil, "".join(declarations), "".join(cells))


def _declare(rtlil: str, wires: str, cells: str = "") -> str:
    """With ``wires`` at the start of the module, as they come before their use, and ``cells`` at its end."""
    head = re.search(r"^module \\control_unit\n", rtlil, re.M)
    if head is None:
        raise RuntimeError("no module control_unit in the netlist")
    end = rtlil.rindex("end\n")
    return rtlil[: head.end()] + wires + rtlil[head.end() : end] + cells + rtlil[end:]

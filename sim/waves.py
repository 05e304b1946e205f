"""The GTKWave save file beside a VCD."""

from __future__ import annotations

from pathlib import Path

__all__ = ["declared", "save_file", "settle_names"]


def save_file(vcd: Path) -> Path:
    """Where it is."""
    return vcd.with_suffix(".gtkw")


def declared(vcd: Path) -> dict[str, str]:
    """Identifier code of each variable that the VCD declares, by its name with all scopes."""
    found: dict[str, str] = {}
    scopes: list[str] = []
    with vcd.open(encoding="utf-8") as file:
        for line in file:
            words = line.split()
            match words[:1]:
                case ["$scope"]:
                    scopes.append(words[2])
                case ["$upscope"]:
                    scopes.pop()
                case ["$var"]:
                    found[".".join([*scopes, words[4]])] = words[3]
                case ["$enddefinitions"]:
                    break
    return found


def settle_names(vcd: Path) -> None:
    """Name each wave of the save file by its outermost name in the VCD.

    A signal has a name in each module that it reaches, and Amaranth takes any of them, another one each time.
    """
    codes = declared(vcd)
    outermost: dict[str, str] = {}
    for name in sorted(codes, key=lambda name: (name.count("."), name)):
        outermost.setdefault(codes[name], name)
    path = save_file(vcd)
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        name, bracket, width = line.partition("[") if not line.startswith("[") else (line, "", "")
        lines.append(outermost[codes[name]] + bracket + width if name in codes else line)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")

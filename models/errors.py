"""The errors that a user can cause. The command line prints one line for each and exits with 2."""

from __future__ import annotations


class AhasdError(Exception):
    """A mistake in what the user gave: a file, key, value or option."""


class ConfigError(AhasdError, ValueError):
    """A configuration key that does not exist or a value outside its range."""


class TraceError(AhasdError, ValueError):
    """A trace that is missing, truncated or contradicts itself."""


class VectorError(AhasdError, ValueError):
    """A replay file that cannot be read or whose events break the protocol."""


class ToolError(AhasdError, RuntimeError):
    """An external tool (Verilator, Yosys, a compiler) that is missing or failed."""

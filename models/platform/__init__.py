"""Platforms: parameters, presets, and what does not add up in them."""

from ahasd.models.platform.params import Aau, Dram, Link, Npu, Pim, Platform
from ahasd.models.platform.presets import (
    DEFAULT_PLATFORM,
    check_capacity,
    check_room,
    list_platforms,
    load_platform,
    platform_rows,
    with_overrides,
)

__all__ = [
    "DEFAULT_PLATFORM",
    "Aau",
    "Dram",
    "Link",
    "Npu",
    "Pim",
    "Platform",
    "check_capacity",
    "check_room",
    "list_platforms",
    "load_platform",
    "platform_rows",
    "with_overrides",
]

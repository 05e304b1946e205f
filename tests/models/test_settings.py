"""Settings: ranges, overrides by dotted keys, listing."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from ahasd.models.control.params import ControlConfig
from ahasd.models.errors import ConfigError
from ahasd.models.settings import Row, by_group, check, override, param, parse_assignments, rows


@dataclass(frozen=True, kw_only=True)
class Inner:
    banks: int = param(16, unit="banks", low=1, high=64, source="a table")
    mode: str = param("block", choices=("block", "yield"))

    def __post_init__(self) -> None:
        check(self)
        if self.banks == 13:
            raise ConfigError("banks: 13 is unlucky")


@dataclass(frozen=True, kw_only=True)
class Outer:
    inner: Inner = field(default_factory=Inner)
    rate: float = param(1.5, low=0)
    on: bool = param(True)
    cap: int | None = param(None, low=1)

    def __post_init__(self) -> None:
        check(self)


def test_overrides_reach_nested_settings_from_text_and_values() -> None:
    changes = {"x.inner.banks": "0x20", "x.rate": "2", "x.on": "off", "x.cap": "7"}
    new = override(Outer(), "x", changes)
    assert (new.inner.banks, new.rate, new.on, new.cap) == (32, 2.0, False, 7)
    assert isinstance(new.rate, float)
    assert override(new, "x", {"x.cap": "none", "x.rate": 3}).cap is None
    assert override(new, "x", {}) == new


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("x.inner.bank", "1", r"x\.inner\.bank: unknown key; near: x\.inner\.banks"),
        ("x.inner", "1", r"x\.inner: unknown key"),
        ("nothing", "1", r"unknown key; near: x\.cap, x\.inner\.banks, x\.inner\.mode, x\.on, x\.rate"),
        ("x.inner.banks", "65", r"x\.inner\.banks: '65' must be an integer in 1\.\.64 \(banks\)"),
        ("x.inner.banks", "4.5", "must be an integer"),
        ("x.inner.banks", True, "must be an integer"),
        ("x.inner.banks", 13, r"x\.inner\.banks: 13 is unlucky"),
        ("x.inner.mode", "blok", "must be one of block, yield"),
        ("x.rate", "-1", r"x\.rate: '-1' must be a number in 0\.\."),
        ("x.rate", "nan", "must be a number"),
        ("x.rate", "1e999", "must be a number"),
        ("x.on", "maybe", "must be true or false"),
        ("x.cap", "0", r"must be an integer in 1\.\."),
    ],
)
def test_bad_overrides(key: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        override(Outer(), "x", {key: value})
    assert "\n" not in str(caught.value)


def test_a_dataclass_that_checks_itself_can_be_overridden() -> None:
    assert override(ControlConfig(), "control", {"control.edc": "false"}).edc is False
    with pytest.raises(ConfigError, match=r"control\.max_draft: 17 must be an integer from 1 to 16"):
        override(ControlConfig(), "control", {"control.max_draft": "17"})
    allowed = {row.path: row.allowed for row in rows(ControlConfig(), "control")}
    assert allowed["control.verify_max"] == "1..32"


def test_rows_carry_everything_that_is_printed() -> None:
    assert rows(Inner(), "p") == [
        Row("p.banks", 16, "banks", "1..64", "a table"),
        Row("p.mode", "block", "", "block | yield", ""),
    ]
    assert [row.allowed for row in rows(Outer(), "x")[2:]] == ["0..", "true | false", "1.."]


def test_assignments() -> None:
    assert parse_assignments(["a.b=1", "a.b = 2", "c.d=x=y"]) == {"a.b": "2", "c.d": "x=y"}
    for text in ("a.b", "=1", ""):
        with pytest.raises(ConfigError, match="expected key=value"):
            parse_assignments([text])


def test_groups() -> None:
    groups = by_group({"platform.a": 1, "policy.k": 2})
    assert groups == {"platform": {"platform.a": 1}, "control": {}, "policy": {"policy.k": 2}, "system": {}}
    for key in ("plat.a", "platform"):
        with pytest.raises(ConfigError, match=r"keys begin with platform\., control\., policy\., system\."):
            by_group({key: 1})

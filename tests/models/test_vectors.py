"""The golden control unit decides as the conformance vectors say."""

from pathlib import Path

import pytest

from ahasd.models.replay import GoldenUnit, first_difference, lines, read_replay, replay, vectors


@pytest.mark.parametrize("path", vectors(), ids=lambda path: path.stem)
def test_golden_conforms(path: Path) -> None:
    expected = read_replay(path)
    assert first_difference(expected, replay(expected, GoldenUnit(), str(path))) is None


def test_format_is_written_as_read() -> None:
    path = vectors()[0]
    assert list(lines(read_replay(path))) == path.read_text().splitlines()


def test_all_vectors_are_there() -> None:
    assert len(vectors()) == 40

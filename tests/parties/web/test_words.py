"""Moments and durations in words."""

from __future__ import annotations

import pytest

from parties.web import words


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-1, "0.0 s"), (3.21, "3.2 s"), (12.3, "12 s"), (150, "2 min"), (7300, "2 h"), (400_000, "5 days")],
)
def test_time_spans(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said


def test_moments() -> None:
    assert words.when("2026-03-01T12:00:09+02:00") == "1 Mar 2026, 10:00:09 UTC"
    assert words.when("2026-03-01T12:00:09") == "1 Mar 2026, 12:00:09 UTC"
    assert words.when("some day") == "some day"
    assert words.ago("some day") == ""

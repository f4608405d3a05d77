"""The measurement of private medians: the ways in their order, and a picture of all."""

from __future__ import annotations

from benchmarks import sensitivity


def test_choice_is_the_nearest_and_the_picture_shows_all() -> None:
    """At 501 rows the errors are ten times apart."""
    found = sensitivity.errors(501, 60)
    assert list(found) == list(sensitivity.NAMES)
    assert found["choice"] < 2 < found["global"] < found["bound"] * 1.5
    assert found["smooth"] < found["global"] / 3
    drawn = sensitivity.draw({way: {501: error} for way, error in found.items()})
    assert drawn.startswith("<?xml")
    assert all(name in drawn for name in sensitivity.NAMES.values())

"""What epsilon and delta may be: the bounds themselves are inside or outside as is said."""

from __future__ import annotations

import pytest

from protocols.release.promise import LEAST_EPSILON, MOST_EPSILON, check_delta, epsilon_warnings
from smc.errors import InputError


def test_the_bounds_of_epsilon() -> None:
    assert (LEAST_EPSILON * 2**20, MOST_EPSILON) == (1, 16)
    assert epsilon_warnings(None) == epsilon_warnings(0.1) == epsilon_warnings(10) == []
    assert [len(epsilon_warnings(epsilon)) for epsilon in (10.5, MOST_EPSILON)] == [1, 1]


def test_a_delta_that_gives_a_row_away_is_refused() -> None:
    """0.1 is more than 1 / 10 as a double, and 1 / 10 as it is written."""
    for delta, rows in ((0.0999, 10), (1e-9, 10**6)):
        check_delta(delta, rows)
    for delta, rows in ((0.1, 10), (1e-6, 10**6), (0.5, 1000)):
        with pytest.raises(InputError, match=f"1 / {rows}"):
            check_delta(delta, rows)

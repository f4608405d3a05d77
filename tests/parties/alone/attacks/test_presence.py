"""The bounds of presence: the numbers of lesson 8, and belief counted in a population."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.alone.attacks.presence import bounds
from smc.errors import InputError


def test_the_diabetics_of_lesson_8() -> None:
    least, most = bounds(rate=0.07, share=0.04, gain=100 / 10_000, exclusion=200 / 10_000)
    assert round(most, 2) == 0.05
    assert round(least, 2) == 0.02


@given(
    people=st.integers(100, 1000),
    sick=st.integers(1, 99),
    there=st.integers(1, 99),
    gain=st.integers(1, 5),
    exclusion=st.integers(1, 5),
)
def test_at_the_bounds_the_belief_is_as_much_off_as_it_may(
    people: int, sick: int, there: int, gain: int, exclusion: int
) -> None:
    there = min(there, sick)
    least, most = bounds(sick / people, there / people, gain / 100, exclusion / 100)
    outside = Fraction(sick - there, people - there)  # of those who are not in the table so many are sick
    for bound, off in ((least, -exclusion), (most, gain)):
        belief = bound + (1 - bound) * float(outside)
        if 0 < bound < 1:
            assert belief - sick / people == pytest.approx(off / 100)
    assert 0 <= least <= most <= 1


def test_more_in_the_table_than_have_it() -> None:
    with pytest.raises(InputError, match="is more than the rate"):
        bounds(0.07, 0.1, 0.01, 0.01)

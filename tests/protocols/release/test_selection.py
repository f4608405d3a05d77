"""What measuring and choosing marginals spends, and how it is rounded: never more than is said."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protocols.release.selection import Workload, _rounded

WORK = Workload((2, 3), ((0,), (1,), (0, 1)), 10, Fraction(1))


def by_decimals(square: Fraction, up: bool) -> Fraction:
    """The root, to six places after the point or seven digits, whichever is finer."""
    with localcontext() as context:
        context.prec = 60
        root = (Decimal(square.numerator) / square.denominator).sqrt()
        places = max(6, 5 - root.adjusted() + 1)
        return Fraction(root.quantize(Decimal(1).scaleb(-places), ROUND_CEILING if up else ROUND_FLOOR))


@given(st.fractions(Fraction(1, 10**9), 10**6, max_denominator=10**9), st.booleans())
@example(Fraction(1, 4), True)
@example(Fraction(1, 4), False)
@example(Fraction(99, 10**6), True)  # just less, and just more, than a power of ten
@example(Fraction(103, 10**6), True)
def test_roots_are_rounded_to_the_safe_side(square: Fraction, up: bool) -> None:
    assert _rounded(square, up) == by_decimals(square, up)


@pytest.mark.parametrize(("rows", "replaced"), [(1, False), (1, True), (3, False), (3, True)])
def test_a_measurement_and_a_choice_spend_at_most_what_is_said(rows: int, replaced: bool) -> None:
    """1 / (2 sigma^2) for one row more or less, twice that for one replaced, m^2 times that for m rows together; and
    epsilon^2 / 8 for a choice (Bun, Steinke 2016)."""
    work = Workload(WORK.domains, WORK.sets, 10, Fraction(1), replaced=replaced, rows=rows)
    for rho in (Fraction(1, 8), Fraction(1, 1000), Fraction(3)):
        sigma, epsilon, least = work.sigma(rho), work.choice_epsilon(rho), Fraction(1, 10**6)
        assert work.price(sigma) == rows**2 * (2 if replaced else 1) / (2 * sigma**2) <= rho < work.price(sigma - least)
        assert work.choice_price(epsilon) == epsilon * epsilon / 8 <= rho < work.choice_price(epsilon + least)
    assert (WORK.sigma(Fraction(1, 8)), WORK.choice_epsilon(Fraction(1, 8))) == (2, 1)
    assert (WORK.rows, WORK.epsilon, WORK.singles, WORK.sizes) == (1, 1, (0, 1), (2, 3, 6))
    assert (work.change, work.moved) == (1 + replaced, rows * (1 + replaced))

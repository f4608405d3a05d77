"""Squares over their root against fractions, and the bound on a reciprocal against its proof and every count."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from protocols.reciprocal import Parameters, coefficients, derive, squares
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.primitives import bits as bitpack
from smc.recipes import GARBLED, SHARED
from smc.session import Session

FOUND = [
    derive(error, bound, prices)
    for error in (Fraction(1, 4000), Fraction(1, 10**6))
    for bound in (3, 200, 65534)
    for prices in (GARBLED, SHARED)
]
MADE = [Parameters(200, 1, (7, 5, 3), 2, 12), Parameters(1000, 0, (4, 9), 0, 13), Parameters(200, 2, (6,), 4, 10)]


def proven(made: Parameters) -> Fraction:
    """The bound of the module's text: stage after stage, the cut of the series, and that of the quotient."""
    radius, terms = Fraction(1, 2) ** (made.cells + 1), len(made.digits)
    scales = [made.scale + sum(made.digits[j:]) for j in range(terms + 1)]
    bound = Fraction(1, 2) ** (scales[terms] + 1)
    for j in range(terms, 0, -1):
        left_out = Fraction(1, 2) ** made.digits[j - 1] if made.digits[j - 1] < made.count_width - 1 else 0
        bound = Fraction(1, 2) ** (scales[j - 1] + 1) + radius * bound + left_out / (1 - radius)
    return bound + radius ** (terms + 1) / (1 - radius) + Fraction(1, 2) ** made.fraction_bits


def quotient(made: Parameters, n: int) -> tuple[Fraction, Fraction]:
    """1 / u of a count, by Horner's rule on integers, cut; and exactly."""
    width, rows = made.count_width, coefficients(made)
    mantissa = (n << (width - n.bit_length())) - (1 << (width - 1))  # u less 1, in units of 2^-(N-1)
    cell = mantissa >> (width - 1 - made.cells)
    result = rows[-1][cell]
    for j in range(len(made.digits), 0, -1):
        q = made.digits[j - 1]
        off = (mantissa >> (width - 1 - q)) - (cell << (q - made.cells)) - (1 << (q - made.cells - 1))
        result = rows[j - 1][cell] + off * result
    cut = result >> (made.scales[0] - made.fraction_bits)
    return Fraction(cut, 1 << made.fraction_bits), Fraction(1 << (n.bit_length() - 1), n)


@pytest.mark.parametrize("made", FOUND + MADE, ids=str)
def test_no_count_is_off_by_more_than_is_proven(made: Parameters) -> None:
    assert made.error == proven(made)
    step = 1 + made.bound // 400
    for n in (*range(1, made.bound + 1, step), made.bound):
        found, exact = quotient(made, n)
        assert abs(found - exact) <= made.error


@pytest.mark.parametrize("profile", [Profile("clear"), Profile("yao"), Profile("mixed")], ids=str)
@pytest.mark.parametrize("bound", [3, 200])
def test_squares_over_their_root(profile: Profile, bound: int) -> None:
    """Classes of both parties together; an empty table gives 0."""
    rng = np.random.default_rng(bound)
    tables = np.array([rng.multinomial(n, [0.2, 0.5, 0.3]) for n in (0, 1, 2, bound, bound, bound // 2)])
    left = rng.integers(0, tables + 1)
    made = derive(Fraction(1, 4000), bound, GARBLED)

    def both(session: Session) -> Any:
        engine = engine_of(session, profile)
        word = squares(engine, made, left if session.party == 0 else tables - left)
        return bitpack.to_integers(engine.reveal(engine.words.bits(word))[0], signed=True)

    found = np.array(run_local(both)[0]).reshape(3, -1).sum(axis=0)
    for row, sums in zip(tables.tolist(), found.tolist(), strict=True):
        exact = Fraction(sum(x * x for x in row), max(1, sum(row)))
        assert abs(Fraction(sums, 1 << made.fraction) - exact) <= 2 * sum(row) * made.error

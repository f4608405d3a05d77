"""The law of each circuit: exactly, by all its random bits, and by chi-square on a million samples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.release.coins import coin, random_bits
from protocols.release.geometric import OneSidedGeometric
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law, netlist
from smc.circuit import Builder, Form, evaluate
from smc.errors import InputError
from smc.primitives import bits as bitpack

FORMS: list[Form] = ["size", "depth"]
MOST_BITS = 18  # of randomness that is enumerated


def values(law: Law, random: np.ndarray, form: Form) -> Iterable[int]:
    """Samples from uniform bits uint8[law.bits, batch]."""
    (drawn,) = evaluate(netlist(law, form), [random])
    return bitpack.to_integers(drawn, signed=law.least < 0)


def enumerated(law: Law, form: Form) -> dict[int, Fraction]:
    """The law of the circuit, by all its random bits."""
    assert law.bits <= MOST_BITS
    everything = bitpack.from_integers(np.arange(1 << law.bits, dtype=np.uint64), law.bits)
    found = Counter(values(law, everything, form))
    return {value: Fraction(count, 1 << law.bits) for value, count in found.items()}


def of_positive_mass(law: Law) -> dict[int, Fraction]:
    return {value: mass for value, mass in law.probabilities().items() if mass}


@pytest.mark.parametrize("form", FORMS)
@given(width=st.integers(1, 12), data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_coin_has_exactly_its_bias(form: Form, width: int, data: st.DataObject) -> None:
    threshold = data.draw(st.integers(0, 1 << width))
    bits = random_bits(threshold, width)
    builder = Builder(form)
    builder.output(coin(builder.input(bits), threshold, width))
    made = builder.build()
    everything = bitpack.from_integers(np.arange(1 << bits, dtype=np.uint64), bits)
    (fallen,) = evaluate(made, [everything])
    assert Fraction(int(fallen.sum()), 1 << bits) == Fraction(threshold, 1 << width)
    assert made.and_count <= max(0, bits - 1)


SMALL: list[Law] = [
    *(OneSidedGeometric(scale, security) for scale in (Fraction(1), Fraction(5, 2)) for security in (1, 2)),
    *(DiscreteLaplace(scale, security) for scale in (Fraction(1), Fraction(5, 2)) for security in (1, 2)),
    OneSidedGeometric(Fraction(1, 1000)),
    DiscreteLaplace(Fraction(1, 1000)),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("law", SMALL, ids=str)
def test_the_circuit_has_the_law_that_is_stated(law: Law, form: Form) -> None:
    found = enumerated(law, form)
    assert found == of_positive_mass(law)
    assert all(law.least <= value <= law.greatest for value in found)


def ideal(scale: Fraction, two_sided: bool) -> dict[int, Decimal]:
    """Geometric or discrete Laplace probabilities by the textbook's formula, to a hundred digits."""
    alpha = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
    reach = range(math.ceil(120 * scale) + 2)
    if not two_sided:
        return {g: (1 - alpha) * alpha**g for g in reach}
    return {sign * x: (1 - alpha) / (1 + alpha) * alpha**x for x in reach for sign in (-1, 1)}


@pytest.mark.parametrize("security", [1, 10, 40, 64])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(10), Fraction(37, 5)], ids=str)
@pytest.mark.parametrize("kind", [OneSidedGeometric, DiscreteLaplace])
def test_the_law_is_as_near_to_the_ideal_one_as_it_says(
    kind: type[OneSidedGeometric] | type[DiscreteLaplace], scale: Fraction, security: int
) -> None:
    law = kind(scale, security)
    assert law.distance <= Fraction(1, 1 << security)
    with localcontext() as context:
        context.prec = 100
        wanted = ideal(scale, kind is DiscreteLaplace)
        own = {
            value: Decimal(mass.numerator) / Decimal(mass.denominator) for value, mass in law.probabilities().items()
        }
        apart = sum(abs(own.get(v, Decimal(0)) - wanted.get(v, Decimal(0))) for v in own.keys() | wanted.keys()) / 2
    assert apart <= Decimal(law.distance.numerator) / Decimal(law.distance.denominator)
    assert sum(law.probabilities().values()) == 1


def test_what_no_law_has_is_refused() -> None:
    for scale in (Fraction(0), Fraction(-1)):
        with pytest.raises(InputError, match="must be positive"):
            DiscreteLaplace(scale)
    with pytest.raises(InputError, match="must be from 1 to 128"):
        OneSidedGeometric(Fraction(1), 0)
    with pytest.raises(InputError, match="binary digits"):
        OneSidedGeometric(Fraction(1 << 60))
    with pytest.raises(InputError, match="are not listed"):
        OneSidedGeometric(Fraction(1 << 20)).probabilities()

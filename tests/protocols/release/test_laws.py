"""The law of each circuit: exactly, by all its random bits, and by chi-square on a million samples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.release import gaussian
from protocols.release.choice import MANY, choice_law
from protocols.release.coins import Coins
from protocols.release.geometric import OneSidedGeometric
from protocols.release.inversion import MOST_SCALE, InvertedGeometric
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


def tossed(coins: Coins, form: Form) -> tuple[np.ndarray, int]:
    """What all random bits make of the coins, uint8[coins, 2^bits], and how many ANDs that takes."""
    builder = Builder(form)
    builder.output(coins.toss(builder.input(coins.bits)))
    made = builder.build()
    everything = bitpack.from_integers(np.arange(1 << coins.bits, dtype=np.uint64), coins.bits)
    return evaluate(made, [everything])[0], made.and_count


@pytest.mark.parametrize("form", FORMS)
@given(width=st.integers(1, 12), data=st.data())
@settings(max_examples=40)
def test_a_coin_has_exactly_its_bias(form: Form, width: int, data: st.DataObject) -> None:
    threshold = data.draw(st.integers(0, (1 << width) - 1))
    fallen, ands = tossed(Coins((threshold,), width, width), form)
    assert Fraction(int(fallen.sum()), fallen.size) == Fraction(threshold, 1 << width)
    zeros = (threshold & -threshold).bit_length() - 1
    assert ands == max(0, width - 1 - zeros if threshold else 0)


@pytest.mark.parametrize("form", FORMS)
@given(own=st.integers(1, 4), common=st.integers(0, 4), data=st.data())
@settings(max_examples=40)
def test_coins_with_common_bits_have_the_law_that_is_stated(
    form: Form, own: int, common: int, data: st.DataObject
) -> None:
    limits = data.draw(st.lists(st.integers(0, (1 << own + common) - 1), min_size=0, max_size=3))
    coins = Coins(tuple(limits), own + common, own)
    fallen, ands = tossed(coins, form)
    places = bitpack.to_words(fallen).astype(np.int64) if limits else np.zeros(1, dtype=np.int64)
    found = np.bincount(places, minlength=1 << len(limits))
    assert [Fraction(int(count), len(places)) for count in found] == coins.law()
    for wires, limit in zip(fallen, limits, strict=True):
        assert Fraction(int(wires.sum()), wires.size) == Fraction(limit, 1 << own + common)
    independent = [Fraction(1)]
    for limit in limits:
        one = Fraction(limit, 1 << own + common)
        independent = [mass * (1 - one) for mass in independent] + [mass * one for mass in independent]
    apart = sum(abs(x - y) for x, y in zip(coins.law(), independent, strict=True)) / 2
    assert apart <= coins.dependence
    if form == "size":
        assert ands <= len(limits) * own + max(0, common - 1)


def test_coins_that_cannot_be_are_refused() -> None:
    for thresholds, width, own in [((4,), 2, 2), ((-1,), 2, 2), ((1,), 2, 3), ((1,), 2, 0)]:
        with pytest.raises(ValueError, match="coin"):
            Coins(thresholds, width, own)
    with pytest.raises(ValueError, match="take 2 uniform bits, got 3"):
        Coins((1,), 2, 2).toss(Builder().input(3))


SMALL: list[Law] = [
    *(OneSidedGeometric(scale, security) for scale in (Fraction(1), Fraction(5, 2)) for security in (1, 2)),
    *(DiscreteLaplace(scale, security) for scale in (Fraction(1), Fraction(5, 2)) for security in (1, 2)),
    *(InvertedGeometric(scale, security) for scale in (Fraction(1, 3), Fraction(1)) for security in (1, 2)),
    OneSidedGeometric(Fraction(1), 5),
    InvertedGeometric(Fraction(1), 8),
    InvertedGeometric(Fraction(7, 5), 8),
    DiscreteLaplace(Fraction(1), 4),
    DiscreteLaplace(Fraction(5, 2), 3),
    OneSidedGeometric(Fraction(1, 1000)),
    InvertedGeometric(Fraction(1, 1000), 8),
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


SCALES = [Fraction(1, 3), Fraction(1), Fraction(10), Fraction(37, 5)]
LAWS = [(kind, scale) for kind in (OneSidedGeometric, DiscreteLaplace) for scale in SCALES]
LAWS += [(InvertedGeometric, scale) for scale in (*SCALES[:2], Fraction(1, 50), MOST_SCALE)]


@pytest.mark.parametrize("security", [1, 10, 40, 64])
@pytest.mark.parametrize(("kind", "scale"), LAWS, ids=str)
def test_the_law_is_as_near_to_the_ideal_one_as_it_says(kind: Any, scale: Fraction, security: int) -> None:
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


@pytest.mark.parametrize("epsilon", [Fraction(7, 10), Fraction(1)], ids=str)
def test_many_candidates_send_less_in_both_forms(epsilon: Fraction) -> None:
    """A star takes a triple, of 8 bytes or by Ferret a third of one, and opens a bit; so does each of its gates."""
    law = choice_law(epsilon, 1, True, MANY)
    assert isinstance(law, InvertedGeometric)
    assert not isinstance(choice_law(epsilon, 1, True, MANY - 1), InvertedGeometric)
    for form in FORMS:
        coins, inverted = netlist(OneSidedGeometric(law.scale, law.security), form), netlist(law, form)
        for triple in (8, 1 / 3):
            new, old = (
                triple * len(m.stars.centres) + (len(m.stars.centres) + m.and_count) / 4 for m in (inverted, coins)
            )
            assert new < old
        assert inverted.and_count < coins.and_count * (0.6 if form == "size" else 1.3)


def test_what_no_law_has_is_refused() -> None:
    for scale in (Fraction(0), Fraction(-1)):
        with pytest.raises(InputError, match="must be positive"):
            DiscreteLaplace(scale)
    with pytest.raises(InputError, match="must be from 1 to 2048"):
        OneSidedGeometric(Fraction(1), 0)
    with pytest.raises(InputError, match="binary digits"):
        OneSidedGeometric(Fraction(1 << 60))
    with pytest.raises(ValueError, match="takes a scale of at most"):
        InvertedGeometric(Fraction(3, 2)).probabilities()
    with pytest.raises(InputError, match="can be listed"):
        OneSidedGeometric(Fraction(1 << 20)).probabilities()


@pytest.mark.parametrize("variance", [Fraction(1, 10), Fraction(1, 5), Fraction(1, 2), Fraction(1)])
def test_what_a_sum_of_two_gaussians_lacks_is_bounded(variance: Fraction) -> None:
    """A Gaussian summed over a lattice depends on where the lattice lies: least halfway, by this part of its mean."""
    tau = float(variance)
    sums = [math.fsum(math.exp(-((k + start) ** 2) / (2 * tau)) for k in range(-60, 61)) for start in (0.0, 0.25, 0.5)]
    worst = math.sqrt(2 * math.pi * tau) / min(sums) - 1
    assert min(sums) == sums[-1]
    assert worst <= float(gaussian._ripple(variance)) + 1e-14 <= 1.5 * worst + 2e-14

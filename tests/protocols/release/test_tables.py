"""Laws from public tables: discrete Gaussian noise, randomized response, any other."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.release.gaussian import discrete_gaussian
from protocols.release.laws import Law, netlist
from protocols.release.response import offset_law, respond
from protocols.release.table import PublicTable
from smc.circuit import Form, evaluate
from smc.engines import Engine
from smc.errors import InputError
from smc.primitives import bits as bitpack

FORMS: list[Form] = ["size", "depth"]


def enumerated(law: Law, form: Form) -> dict[int, Fraction]:
    """The law of the circuit, by all its random bits."""
    everything = bitpack.from_integers(np.arange(1 << law.bits, dtype=np.uint64), law.bits)
    (drawn,) = evaluate(netlist(law, form), [everything])
    found = Counter(bitpack.to_integers(drawn, signed=law.least < 0))
    return {value: Fraction(count, 1 << law.bits) for value, count in found.items()}


def decimal(fraction: Fraction) -> Decimal:
    return Decimal(fraction.numerator) / Decimal(fraction.denominator)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40)
@given(
    weights=st.lists(st.integers(0, 9), min_size=1, max_size=9).filter(any),
    symmetric=st.booleans(),
    security=st.integers(1, 2),
)
def test_a_table_has_the_law_that_is_stated(form: Form, weights: list[int], symmetric: bool, security: int) -> None:
    law = PublicTable(tuple(weights), symmetric, security)
    stated = law.probabilities()
    assert enumerated(law, form) == stated
    assert sum(stated.values()) == 1
    total = sum(weights)
    wanted = {value: Fraction(weight, total) for value, weight in enumerate(weights)}
    if symmetric:
        wanted = {sign * v: mass / (2 if v else 1) for v, mass in wanted.items() for sign in (-1, 1)}
    apart = sum(abs(stated.get(v, Fraction(0)) - wanted.get(v, Fraction(0))) for v in stated | wanted) / 2
    assert apart <= law.distance <= Fraction(1, 2 << security)


@pytest.mark.parametrize("variance", ["0.01", "0.25", "1", "30.5", "400", "1024", "1025", "2500", "40000"])
@pytest.mark.parametrize("security", [10, 40, 64])
def test_gaussian_noise_is_as_near_to_the_ideal_law_as_it_says(variance: str, security: int) -> None:
    law = discrete_gaussian(Fraction(variance), security)
    assert law.distance <= Fraction(1, 1 << security)
    with localcontext() as context:
        context.prec = 50
        own = {value: decimal(mass) for value, mass in law.probabilities().items()}
        spread = 2 * Decimal(variance)
        reach = int((spread * 110).sqrt()) + 2
        weights = {x: (-Decimal(x * x) / spread).exp() for x in range(-reach, reach + 1)}
        whole = sum(weights.values())
        apart = sum(abs(own.get(v, Decimal(0)) - weights.get(v, Decimal(0)) / whole) for v in own | weights) / 2
        assert apart <= decimal(law.distance) + Decimal(10) ** -45
    assert min(own) >= law.least
    assert max(own) <= law.greatest


@pytest.mark.parametrize("variance", [400, 10**6, 10**14, 1 << 60])
@pytest.mark.parametrize("security", [40, 128])
def test_any_width_of_gaussian_noise(variance: int, security: int) -> None:
    law = discrete_gaussian(variance, security)
    assert law.distance <= Fraction(1, 1 << security)
    random = np.random.default_rng(1).integers(0, 2, (law.bits, 4000), dtype=np.uint8)
    (drawn,) = evaluate(netlist(law), [random])
    values = np.array(bitpack.to_integers(drawn, signed=True), dtype=float) / variance**0.5
    assert abs(values.mean()) < 6 / 4000**0.5  # exceeded with probability 2 10^-9; the seed is fixed
    assert abs(values.std() - 1) < 6 / 8000**0.5


def test_gaussian_noise_of_sigma_20_takes_less_than_500_ands() -> None:
    assert netlist(discrete_gaussian(400)).and_count == 486


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("answers", [2, 3, 4, 5])
def test_responses_have_the_law_of_randomized_response(form: Form, answers: int) -> None:
    epsilon = Fraction(7, 5)
    law = offset_law(epsilon, answers, 40)
    with localcontext() as context:
        context.prec = 50
        power = decimal(epsilon).exp()
        wanted = [(power if i == 0 else 1) / (power + answers - 1) for i in range(answers)]
        own = law.probabilities()
        apart = sum(abs(decimal(own[i]) - wanted[i]) for i in range(answers)) / 2
        assert apart <= decimal(law.distance) <= Decimal(2) ** -40
    assert set(enumerated(offset_law(epsilon, answers, 2), form)) <= set(range(answers))


@pytest.mark.parametrize("name", ["clear", "yao", "gmw"])
@pytest.mark.parametrize("answers", [2, 3, 5, 8])
def test_a_response_is_the_answer_or_another(play, name: str, answers: int) -> None:
    secrets = np.arange(600) % answers
    width = (answers - 1).bit_length()

    def program(engine: Engine) -> Any:
        own = bitpack.from_integers(secrets, width) if engine.party == 0 else None
        secret = engine.input(0, own, width, len(secrets))
        sure = respond(engine, secret, answers, offset_law(Fraction(60), answers))
        return np.stack([sure, respond(engine, secret, answers, offset_law(Fraction(1), answers))])

    sure, noisy = play(program, name, seed=b"responses").agreed_array
    assert sure.tolist() == secrets.tolist()
    assert noisy.max() < answers
    for offset in range(answers):  # six deviations: 2 10^-9, and the seed is fixed
        expected = len(secrets) * (np.e if offset == 0 else 1) / (np.e + answers - 1)
        assert abs(((noisy - secrets) % answers == offset).sum() - expected) < 6 * expected**0.5


def test_fair_coins_are_randomized_response_at_ln_3() -> None:
    """Heads: the truth; tails: a second coin answers. Three of four answers are true, one of four is not."""
    law = offset_law(Fraction(str(np.log(3))), 2).probabilities()
    assert abs(float(law[0]) - 3 / 4) < 1e-12
    assert abs(float(law[1]) - 1 / 4) < 1e-12


def test_what_no_table_has_is_refused() -> None:
    for weights in ((), (0, 0), (1, -1), (1,) * 5000):
        with pytest.raises(InputError, match="law"):
            PublicTable(weights)
    with pytest.raises(InputError, match="must be positive"):
        discrete_gaussian(0)
    with pytest.raises(InputError, match="must be positive"):
        offset_law(Fraction(0), 2)
    with pytest.raises(InputError, match="2 to 4096 answers"):
        offset_law(Fraction(1), 1)

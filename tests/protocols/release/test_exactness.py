"""The delta that a mechanism really has, from the exact laws of its circuits in fractions, at large epsilons, too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import gmpy2
import pytest

from protocols.release import mst, selection
from protocols.release.choice import choice_law
from protocols.release.exponential import Powers, powers_for
from protocols.release.gaussian import discrete_gaussian
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law, security_for
from protocols.release.response import offset_law
from protocols.release.selection import Workload
from protocols.release.top import top_law
from protocols.release.tree_problem import Problem
from protocols.release.triangles import answer_law, bound_law
from smc.counting import forecast
from smc.engines import Profile
from tests.support.exact_laws import MOST, Chances, delta, power

EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(8), Fraction(16))


def moved(law: Law, change: int) -> Chances:
    return {value + change: mass for value, mass in law.probabilities().items()}


def winners(law: Law, scores: Sequence[int], places: int = 1) -> Chances:
    """The first places by score and noise; the lower index first among equals."""
    found: dict[object, Fraction] = {}
    for noise in product(law.probabilities().items(), repeat=len(scores)):
        order = sorted(range(len(scores)), key=lambda i: (-scores[i] - noise[i][0], i))
        key = tuple(order[:places])
        found[key] = found.get(key, Fraction(0)) + math.prod(mass for _, mass in noise)
    return found


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("change", [1, 3])
def test_a_number_with_noise_keeps_epsilon_but_for_2_to_the_minus_38(epsilon: Fraction, change: int) -> None:
    law = DiscreteLaplace(change / epsilon, security_for(epsilon))
    assert law.security == {Fraction(1, 10): 40, Fraction(1): 40, Fraction(8): 50, Fraction(16): 62}[epsilon]
    assert delta(moved(law, 0), moved(law, change), epsilon) <= MOST


def test_a_fixed_distance_would_not_do() -> None:
    law = DiscreteLaplace(Fraction(1, 16), 40)
    assert delta(moved(law, 0), moved(law, 1), Fraction(16)) > Fraction(1, 10**6)


@pytest.mark.parametrize("epsilon", EPSILONS[1:], ids=str)
def test_a_number_with_gaussian_noise_has_the_delta_of_the_ideal_law(epsilon: Fraction) -> None:
    """At the standard deviation that epsilon takes at a delta of 10^-6, for one number."""
    log = math.log(10**6)
    sigma = Fraction(1 / math.sqrt(2 * (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2)).limit_denominator(10**6)
    law, far = discrete_gaussian(sigma**2, security_for(epsilon)), math.ceil(25 * sigma)
    with gmpy2.context(precision=400):
        weights = {x: gmpy2.exp(-gmpy2.mpfr(gmpy2.mpq(x * x / (2 * sigma**2)))) for x in range(-far, far + 1)}
        whole = sum(weights.values())
        ideal = {x: Fraction(*map(int, (weight / whole).as_integer_ratio())) for x, weight in weights.items()}
    expected = delta(ideal, {x + 1: mass for x, mass in ideal.items()}, epsilon)
    assert abs(delta(moved(law, 0), moved(law, 1), epsilon) - expected) <= MOST


@pytest.mark.parametrize("epsilon", [*EPSILONS[1:], Fraction(1000)], ids=str)  # a tree may have as much
def test_a_choice_keeps_epsilon_but_for_2_to_the_minus_38(epsilon: Fraction) -> None:
    monotone, other = choice_law(epsilon, 1, True, 2), choice_law(epsilon, 1, False, 2)
    for gap in range(-2, 3):
        assert delta(winners(monotone, (gap, 0)), winners(monotone, (gap + 1, 0)), epsilon) <= MOST
        assert delta(winners(other, (gap, 0)), winners(other, (gap + 1, -1)), epsilon) <= MOST
    replaced = Problem((2,), 2, 9, 1, 2 * epsilon, epsilon, replace=True)
    for law in (replaced.class_law(), replaced.attribute_law(1)):
        assert delta(winners(law, (1, 0)), winners(law, (0, 1)), epsilon) <= MOST


@pytest.mark.parametrize("epsilon", EPSILONS[2:], ids=str)
def test_the_first_places_keep_epsilon_but_for_2_to_the_minus_38(epsilon: Fraction) -> None:
    law = top_law(epsilon, 2, 3)
    for scores in ((0, 0, 0), (1, 0, 2)):
        more = (scores[0] + 1, *scores[1:])
        assert delta(winners(law, scores, 2), winners(law, more, 2), epsilon) <= MOST


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("answers", [2, 3, 5])
def test_a_randomised_response_keeps_epsilon_but_for_2_to_the_minus_38(epsilon: Fraction, answers: int) -> None:
    table = offset_law(epsilon, answers).probabilities()
    chances = [{(secret + offset) % answers: mass for offset, mass in table.items()} for secret in range(answers)]
    assert max(delta(chances[0], other, epsilon) for other in chances[1:]) <= MOST


@pytest.mark.parametrize("epsilon", EPSILONS[1:], ids=str)
@pytest.mark.parametrize("replaced", [False, True])
def test_both_numbers_of_triangles_add_2_to_the_minus_38(epsilon: Fraction, replaced: bool) -> None:
    first, second = bound_law(epsilon), answer_law(2, epsilon, replaced)
    change = 4 if replaced else 2
    found = [delta(moved(law, 0), moved(law, by), epsilon / 2) for law, by in ((first, 1), (second, change))]
    assert sum(found) <= MOST


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_all_samples_of_a_synthesis_add_2_to_the_minus_38(epsilon: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    distances: list[Fraction] = []  # of all samples of each law to the ideal ones

    def gaussian(*given: Any) -> Law:
        law = discrete_gaussian(*given)
        distances.append(sum(work.sizes) * law.distance)
        return law

    def powers(*given: Any) -> tuple[Powers, int]:
        law, factor = powers_for(*given)
        distances.append(Fraction(2 * 2 * 3, 1 << law.last(3)))  # of two choices of three: cut weights, and bounds
        return law, factor

    work = Workload((2, 3, 2), ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2)), 9, Fraction(1, 9), epsilon=epsilon)
    monkeypatch.setattr(selection, "discrete_gaussian", gaussian)
    monkeypatch.setattr(selection, "powers_for", powers)
    forecast(lambda engine: mst.count(engine, work), Profile("yao"))
    assert len(distances) >= 2
    for distance in distances:
        assert (1 + power(epsilon)) * distance <= MOST

"""The ladder of triangles: its law against the definition by rungs, the proof on all small graphs, and the circuit."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.release import ladder as module
from protocols.release.ladder import Ladder, is_worth_it, ladder, plain
from protocols.release.laws import Law
from protocols.release.triangles import ladder_triangles
from smc.circuit import Builder, Integer
from smc.circuit.netlist import evaluate
from smc.engines import Profile
from smc.primitives import bits as bitpack
from tests.support.exact_laws import MOST, delta
from tests.support.graphs import drawn, expected, played

FAR = 60  # rungs that are looked at


def rung(distance: int, common: int) -> int:
    """Which rung a number at this distance is on, by walking up."""
    up, reached = 0, 0
    while reached < distance:
        reached += common + up
        up += 1
    return up


def ideal(common: int, epsilon: Fraction, rungs: int = FAR) -> dict[int, Fraction]:
    """The law by its definition: all numbers of the lowest rungs in proportion to e^(-epsilon rung / 2)."""
    with gmpy2.context(precision=300):
        weights = [
            Fraction(*map(int, gmpy2.exp(-gmpy2.mpq(epsilon) * u / 2).as_integer_ratio())) for u in range(rungs + 1)
        ]
    reached, mass = 0, {0: weights[0]}
    for up in range(1, rungs + 1):
        for distance in range(reached + 1, reached + common + up):
            mass[distance] = mass[-distance] = weights[up]
        reached += common + up - 1
    whole = sum(mass.values())
    return {number: one / whole for number, one in mass.items()}


@pytest.mark.parametrize("common", [0, 1, 2, 5])
@pytest.mark.parametrize("epsilon", [Fraction(2), Fraction(5)])
def test_the_law_of_the_circuit_is_as_near_as_it_says(common: int, epsilon: Fraction) -> None:
    law = Ladder(7, epsilon, 24)
    found, meant = law.law(common), ideal(common, epsilon)
    assert sum(found.values()) == 1
    apart = sum(abs(found.get(number, 0) - meant.get(number, 0)) for number in {*found, *meant}) / 2
    assert apart <= Fraction(4, 1 << 24)
    assert sum(abs(number) * float(chance) for number, chance in meant.items()) == pytest.approx(
        law.error(common), 1e-4
    )


@pytest.mark.parametrize("common", [0, 1, 4])
def test_nineteen_of_twenty_are_within_the_reach(common: int) -> None:
    law, epsilon = Ladder(7, Fraction(1), 40), Fraction(1)
    reach, meant = law.reach(common, 0.95), ideal(common, epsilon, 120)
    assert sum(chance for number, chance in meant.items() if abs(number) <= reach) >= Fraction(95, 100) - Fraction(
        1, 10**9
    )
    below = max(distance for distance in range(reach) if rung(distance, common) < rung(reach, common))
    assert sum(chance for number, chance in meant.items() if abs(number) <= below) < Fraction(95, 100)


@cache
def neighbours(vertices: int) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    """Triangles and most common neighbours of all graphs with so many vertices, and of each with an edge more."""
    pairs = list(combinations(range(vertices), 2))
    place = {pair: i for i, pair in enumerate(pairs)}
    corners = [[place[side] for side in combinations(three, 2)] for three in combinations(range(vertices), 3)]
    about = []
    for graph in range(1 << len(pairs)):
        number = sum(all(graph >> side & 1 for side in sides) for sides in corners)
        rows = [
            sum(1 << b for b in range(vertices) if a != b and graph >> place[tuple(sorted((a, b)))] & 1)
            for a in range(vertices)
        ]
        about.append((number, max((rows[a] & rows[b]).bit_count() for a, b in pairs)))
    return {(about[graph], about[graph | 1 << edge]) for graph in range(len(about)) for edge in range(len(pairs))}


@pytest.mark.parametrize("vertices", [3, 4, 5])
def test_an_edge_changes_no_chance_by_more_than_epsilon(vertices: int) -> None:
    """All graphs of so many vertices: e^(epsilon / 2) for a rung that a number moves by, and for the whole."""
    epsilon, worst = Fraction(1), 0.0
    laws = {common: ideal(common, epsilon, 30) for common in range(vertices - 1)}
    least = min(rung(12 * vertices, common) for common in laws)
    assert least < 30
    for pair in neighbours(vertices):
        for (number, common), (other, of_other) in (pair, pair[::-1]):
            for answer in range(-12 * vertices // 2, 12 * vertices // 2):
                worst = max(worst, float(laws[common][answer - number] / laws[of_other][answer - other]))
                assert abs(rung(abs(answer - number), common) - rung(abs(answer - other), of_other)) <= 1
    assert 1.64 < worst <= np.exp(1)


@pytest.mark.parametrize(("vertices", "epsilon"), [(4, Fraction(4)), (5, Fraction(8))], ids=str)
def test_the_circuit_adds_2_to_the_minus_38(vertices: int, epsilon: Fraction) -> None:
    """Of all neighbours of so many vertices: its exact law, with a sample of each of its parts."""
    law = ladder(vertices, epsilon)
    laws = {common: law.law(common) for common in range(vertices - 1)}
    for (number, common), (other, of_other) in neighbours(vertices):
        one, two = (
            {number + noise: chance for noise, chance in laws[of].items()}
            for number, of in ((number, common), (other, of_other))
        )
        assert delta(one, two, epsilon) <= MOST


class Uniform(Law):
    """A number of a few bits as it comes: for tests only."""

    bits, distance, least, greatest = 3, Fraction(0), 0, 7

    def draw(self, random: Integer) -> Integer:
        return random

    def probabilities(self) -> dict[int, Fraction]:
        return {number: Fraction(1, 8) for number in range(8)}


@pytest.mark.parametrize("form", ["size", "depth"])
def test_the_circuit_walks_the_rungs(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With numbers in the place of geometric samples, and every part of the mixture."""
    monkeypatch.setattr(module, "OneSidedGeometric", lambda *given_: Uniform())
    law, draw, most = Ladder(9, Fraction(1), 12), np.random.default_rng(1), 400
    builder = Builder(form)  # type: ignore[arg-type]
    builder.output(law.draw(builder.input(3), builder.input(law.bits)))
    common = draw.integers(0, 8, most)
    parts = [draw.integers(0, 1 << width, most) for width in (3, 3, 12, law.uniform, 1)]
    for inputs in (common, *parts):
        inputs[:8] = np.arange(8) if inputs is common else inputs[0]
    random = np.concatenate(
        [bitpack.from_integers(part, width) for part, width in zip(parts, (3, 3, 12, law.uniform, 1), strict=True)]
    )
    (opened,) = evaluate(builder.build(), [bitpack.from_integers(common, 3), random])
    for found, ls, a, b, choice, fraction, sign in zip(
        bitpack.to_integers(opened, signed=True), common, *parts, strict=True
    ):
        far, moved = law.thresholds[ls]
        if choice < far:
            s = a + b + 1
            distance = s * ls + s * (s - 1) // 2 + ls + a + 1
        else:
            distance = (a * ls + a * (a - 1) // 2 + (ls * fraction >> law.uniform) + 1) if choice < moved else 0
        assert found == (-distance if sign else distance)


def test_plain_noise_where_it_is_smaller() -> None:
    assert [is_worth_it(n, Fraction(1)) for n in (3, 12, 14, 1000)] == [False, False, True, True]
    assert not is_worth_it(100, Fraction(1, 10))
    assert not is_worth_it(14, Fraction(1), changes=2)
    assert plain(100, Fraction(1, 2), 3).scale == 98 * 6
    assert ladder(100, Fraction(1), 2).geometric.scale == 4


@settings(max_examples=4)
@given(st.integers(0, 10**6))
def test_a_graph_between_two_parties(seed: int) -> None:
    """At an epsilon at which noise is next to none; what is opened is the triangles."""
    edges = drawn(seed, 9, 0.4)
    _, number = expected(*edges, 9)
    assert (
        played(edges, lambda engine, own: ladder_triangles(engine, own, 9, Fraction(400)), Profile("clear")) == number
    )

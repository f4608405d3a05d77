"""The likelihood ratio and its bound; a threshold of one model."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from parties.alone.attacks import membership
from parties.alone.attacks.membership import Shadows, allowed, attack, by_threshold, shadows
from protocols.arrays import Codes, Floats


def test_the_ratio_is_that_of_normal_laws() -> None:
    """A row whose confidence is of one law with it and of another without: guesses as SciPy's densities make them."""
    rng = np.random.default_rng(3)
    inside = rng.random((200, 3)) < 0.5
    sure = np.where(inside, rng.normal(0.7, 0.1, inside.shape), rng.normal(0.5, 0.1, inside.shape))
    document = attack(Shadows(inside, sure), None)
    p = q = 0.0
    for row in range(3):
        laws = []
        for side in (True, False):
            values = sure[:100, row][inside[:100, row] == side]
            mean = (values.sum() + 0.5) / (len(values) + 1)
            laws.append(norm(mean, math.sqrt((((values - mean) ** 2).sum() + 0.1) / (len(values) + 1))))
        guess = laws[0].logpdf(sure[100:, row]) > laws[1].logpdf(sure[100:, row])
        p += (guess & inside[100:, row]).sum() / inside[100:].sum()
        q += (~guess & ~inside[100:, row]).sum() / (~inside[100:]).sum()
    assert document["all"]["members_found"] == pytest.approx(p)
    assert document["all"]["others_found"] == pytest.approx(q)
    assert document["all"]["sum"] > 1.5


def test_every_row_is_in_by_a_coin_of_its_own() -> None:
    """So with a row and without are neighbours: that it is in says nothing of another."""
    seen: list[int] = []

    def learn(rows: Codes, labels: Codes) -> membership.Sure:
        seen.append(len(rows))
        return lambda others, classes: np.full(len(classes), 0.5)

    many = 20_000
    nothing = np.zeros((many, 1), dtype=np.int64), np.zeros(many, dtype=np.int64)
    observed = shadows(learn, *nothing, 8, np.random.default_rng(4))
    assert seen == observed.inside.sum(axis=1).tolist()
    assert len(set(seen)) > 1
    assert abs(observed.inside.mean() - 0.5) < 0.01
    assert abs((observed.inside[:-1] ^ observed.inside[1:]).mean() - 0.5) < 0.01
    assert attack(observed, None)["all"]["sum"] < 2


def test_whoever_learns_nothing_is_right_by_chance() -> None:
    rng = np.random.default_rng(6)
    inside = rng.random((400, 50)) < 0.5
    document = attack(Shadows(inside, rng.random((400, 50))), 0.5)
    assert abs(document["all"]["sum"] - 1) < 0.03
    with pytest.raises(ValueError, match="at least 8 models, not 7"):
        attack(Shadows(inside[:7], rng.random((7, 50))), None)


def test_the_most_exposed_rows_are_those_that_are_told() -> None:
    rng = np.random.default_rng(8)
    inside = rng.random((40, 200)) < 0.5
    sure = np.where(np.isin(np.arange(200), (17, 150)), inside, 0.5)
    document = attack(Shadows(inside, sure.astype(np.float64)), None)
    assert {row["row"] for row in document["most_exposed"][:2]} == {18, 151}
    assert document["exposed"] == {"rows": 2, "members_found": 1, "others_found": 1, "sum": 2}
    assert document["all"]["sum"] == pytest.approx(1.01, abs=0.02)


def test_the_most_that_epsilon_allows() -> None:
    assert allowed(0) == 1
    assert allowed(math.log(3)) == pytest.approx(1.5)
    assert allowed(math.log(3), 0.1) == pytest.approx(1.55)
    assert allowed(1.0, 1.0) == 2


def of(values: list[float]) -> Floats:
    return np.array(values * 50, dtype=np.float64)


def test_a_threshold_between_members_and_others() -> None:
    rng = np.random.default_rng(7)
    assert by_threshold(of([0.9, 0.8]), of([0.1, 0.2]), rng)["sum"] == 2
    assert abs(by_threshold(of([0.0, 1.0]), of([0.0, 1.0]), rng)["sum"] - 1) < 0.35
    assert by_threshold(of([1.0]), of([1.0]), rng)["sum"] == 1
    with pytest.raises(ValueError, match="two rows"):
        by_threshold(of([1.0])[:1], of([1.0]), rng)

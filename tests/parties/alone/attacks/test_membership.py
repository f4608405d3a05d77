"""Shadow models: outliers of a tree with leaves of one person are told, noise and k protect them; laws and bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from parties.alone.attacks import membership
from parties.alone.attacks.membership import Shadows, allowed, attack, by_threshold, shadows
from parties.alone.attacks.models import Shape
from parties.base.arrays import Codes, Floats


def planted(rows: int = 300) -> tuple[Codes, Codes, Codes]:
    """Rows, their classes by a rule, and who is an exception to it."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 4, (rows, 6))
    odd = rng.random(rows) < 0.03
    return values, (values[:, 0] // 2 + odd) % 2, np.flatnonzero(odd)


def test_planted_outliers_are_told_by_leaves_of_one_person() -> None:
    values, labels, odd = planted()
    shape = Shape((4,) * 6, 2)
    document = attack(shadows(shape.tree(), values, labels, 32, np.random.default_rng(2)), None)
    assert document["exposed"]["members_found"] >= 0.9
    assert document["exposed"]["others_found"] >= 0.9
    assert {row["row"] - 1 for row in document["most_exposed"][: document["exposed"]["rows"]]} <= set(odd.tolist())


@pytest.mark.parametrize(("shape", "most"), [(Shape((4,) * 6, 2, epsilon=1.0), 1.30), (Shape((4,) * 6, 2, k=20), 1.4)])
def test_noise_and_large_leaves_protect_them(shape: Shape, most: float) -> None:
    values, labels, _ = planted()
    document = attack(shadows(shape.tree(), values, labels, 64, np.random.default_rng(2)), shape.epsilon)
    assert document["all"]["sum"] < 1.1
    assert document["exposed"]["sum"] < most
    if shape.epsilon is not None:
        assert document["allowed"] == pytest.approx(2 * math.e / (1 + math.e))


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


def test_every_model_has_half_of_the_rows() -> None:
    seen: list[int] = []

    def learn(rows: Codes, labels: Codes) -> membership.Sure:
        seen.append(len(rows))
        return lambda others, classes: np.full(len(classes), 0.5)

    observed = shadows(
        learn, np.zeros((11, 1), dtype=np.int64), np.zeros(11, dtype=np.int64), 8, np.random.default_rng()
    )
    assert set(seen) == {6}
    assert (observed.inside.sum(axis=1) == 6).all()
    assert attack(observed, None)["all"]["sum"] < 2


def test_whoever_learns_nothing_is_right_by_chance() -> None:
    rng = np.random.default_rng(6)
    inside = rng.random((400, 50)) < 0.5
    document = attack(Shadows(inside, rng.random((400, 50))), 0.5)
    assert abs(document["all"]["sum"] - 1) < 0.03
    with pytest.raises(ValueError, match="at least 8 models, not 7"):
        attack(Shadows(inside[:7], rng.random((7, 50))), None)


def test_the_most_that_epsilon_allows() -> None:
    assert allowed(0) == 1
    assert allowed(math.log(3)) == pytest.approx(1.5)


def of(values: list[float]) -> Floats:
    return np.array(values * 50, dtype=np.float64)


def test_a_threshold_between_members_and_others() -> None:
    rng = np.random.default_rng(7)
    assert by_threshold(of([0.9, 0.8]), of([0.1, 0.2]), rng)["sum"] == 2
    assert abs(by_threshold(of([0.0, 1.0]), of([0.0, 1.0]), rng)["sum"] - 1) < 0.35
    assert by_threshold(of([1.0]), of([1.0]), rng)["sum"] == 1
    with pytest.raises(ValueError, match="two rows"):
        by_threshold(of([1.0])[:1], of([1.0]), rng)

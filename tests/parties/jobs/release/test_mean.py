"""Noisy means: how often their interval holds the mean, by enumeration, and how far off they are beside two numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from parties.jobs.kinds.release.mean import means
from parties.jobs.release.noise import laplace
from parties.jobs.release.values import Values

pytestmark = pytest.mark.slow

FAR = 12  # scales of noise that are enumerated: what is beyond has less than 2e-5


@pytest.mark.parametrize("rows", [1, 4, 40])
@pytest.mark.parametrize(("span", "epsilon"), [(1, 0.5), (1, 4), (3, 2), (4, 1)])
def test_the_interval_holds_the_mean_as_often_as_it_says(rows: int, span: int, epsilon: float) -> None:
    """Of rows whose mean is anywhere between the bounds, of numbers -1, ..., span - 1."""
    values = Values(tuple(Fraction(number - 1) for number in range(span + 1)))
    noise = laplace(Fraction(str(epsilon)), span, "add-remove")
    far = math.ceil(FAR * float(noise.scale)) + 1
    drawn = np.arange(-far, far + 1)
    law = np.exp(-np.abs(drawn) / float(noise.scale))
    law /= law.sum()
    for total in {0, rows * span // 3, rows * span // 2, rows * span}:
        aboves, belows = total + drawn, rows * span - total + drawn
        state = [int(x) for x in np.repeat(aboves, len(belows))], [int(x) for x in np.tile(belows, len(aboves))]
        found = means([*state[0], *state[1]], values, noise)
        true = total / rows - 1
        inside = np.array([one["low"] - 1e-12 <= true <= one["high"] + 1e-12 for one in found])
        assert (inside.reshape(len(law), -1) * np.outer(law, law)).sum() >= 0.95


def test_it_is_the_root_of_two_times_nearer_than_by_a_sum_and_a_number_of_rows() -> None:
    """Half of epsilon each for the sum of the distances from the middle of the bounds, and for the number of rows."""
    random, rows, span, epsilon, draws = np.random.default_rng(1), 2000, 100, 0.5, 4000
    numbers = random.binomial(span, 0.2, rows)
    above, below = int(numbers.sum()), int((span - numbers).sum())
    values = Values(tuple(map(Fraction, range(span + 1))))
    noise = laplace(Fraction(1, 2), span, "add-remove")

    def drawn(scale: float) -> np.ndarray:
        return np.rint(random.laplace(scale=scale, size=draws)).astype(int)

    scale = float(noise.scale)
    state = [*(above + drawn(scale)), *(below + drawn(scale))]
    ours = np.array([one["value"] for one in means([int(x) for x in state], values, noise)])
    sums = (numbers - span / 2).sum() + drawn(span / 2 / (epsilon / 2))
    theirs = span / 2 + sums / (rows + drawn(1 / (epsilon / 2)))
    off = [np.sqrt(np.mean((found - numbers.mean()) ** 2)) for found in (ours, theirs)]
    assert off[1] / off[0] == pytest.approx(math.sqrt(2), rel=0.05)


def test_a_mean_without_a_row_may_be_any() -> None:
    values, noise = Values((Fraction(2), Fraction(5), None)), laplace(Fraction(1), 1, "add-remove")
    nothing = {"value": None, "rows": 0, "low": 2, "high": 5}
    assert [{name: one[name] for name in nothing} for one in means([0, -3, 0, 1], values, noise)] == [nothing] * 2
    assert means([0, 0], values, None) == [{"value": None, "rows": 0}]
    assert means([3, 1], values, None) == [{"value": 4.25, "rows": 4}]


def test_a_column_of_one_number() -> None:
    values = Values((Fraction(7),))
    assert means([0, 12], values, None) == [{"value": 7, "rows": 12}]

"""Bounds of a row's score and information for any parameters: what noise hides rests on them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.release.likelihoods import Cox, Likelihood, Logistic, Point, Poisson, Rows, products
from protocols.release.scoring import Scoring

COLUMNS, SQUARE, BINS, MANY = 3, 2.5, 4, 200
MODELS: dict[str, Likelihood] = {
    "logistic": Logistic(COLUMNS, SQUARE),
    "poisson": Poisson(COLUMNS, SQUARE, 4.0, 2.0),
    "breslow": Cox(COLUMNS, SQUARE, 1.0, BINS, efron=False),
    "efron": Cox(COLUMNS, SQUARE, 1.0, BINS),
    "efron, longer": Cox(COLUMNS, SQUARE, 2.5, BINS),
}


def rows_of(model: Likelihood, seed: int) -> Rows:
    """Rows with coordinates up to the greatest norm."""
    rng = np.random.default_rng(seed)
    x = rng.choice([-1.0, 0.3, 1.0], (MANY, COLUMNS)) * np.array([1, 1, 0.7])
    x[rng.random(MANY) < 0.3, -1] = np.sqrt(SQUARE - 2)
    if isinstance(model, Poisson):
        y, time = rng.integers(0, 5, MANY), rng.uniform(0.1, 2.0, MANY)
    else:
        y, time = rng.integers(0, 2, MANY), rng.integers(0, BINS, MANY)
    return Rows(x, y.astype(float), np.ones(MANY, dtype=np.int64), time.astype(float))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(MODELS)),
    st.lists(st.floats(-60, 60), min_size=7, max_size=7),
    st.lists(st.floats(0, 1), min_size=BINS, max_size=BINS),
    st.integers(0, 99),
)
def test_a_row_keeps_its_bounds(name: str, theta: list[float], ties: list[float], seed: int) -> None:
    model = MODELS[name]
    point = Point(np.array(theta[: model.size]), np.ones(model.size, dtype=bool), np.array(ties))
    terms = model.terms(rows_of(model, seed), point)
    score, information = terms[:, : model.size], terms[:, model.size :]
    bounds = model.norms
    assert (score**2).sum(axis=1).max() <= bounds[0] * (1 + 1e-9)
    assert (information**2).sum(axis=1).max() <= bounds[1] * (1 + 1e-9)
    assert np.abs(terms).max() <= model.most * (1 + 1e-9)


@pytest.mark.parametrize("name", ["logistic", "poisson", "breslow", "efron"])
def test_the_bound_is_reached(name: str) -> None:
    """Else noise would be more than promised: some row has nearly the greatest score."""
    model = MODELS[name]
    bins = model.bins
    theta = np.append(np.full(bins, -30.0), np.zeros(COLUMNS))
    theta[0] = 30.0
    point = Point(theta, np.ones(model.size, dtype=bool), np.zeros(BINS))
    terms = model.terms(rows_of(model, 1), point)
    assert (terms[:, : model.size] ** 2).sum(axis=1).max() > 0.97 * model.norms[0]


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize("replaced", [False, True])
def test_a_row_changes_the_rounded_sums_no_more_than_is_promised(name: str, replaced: bool) -> None:
    model = MODELS[name]
    problem, rows = Scoring(model), rows_of(model, 2)
    point = model.start()
    for at in range(20):
        one, other = (Rows(*(column[at + move :] for column in rows)) for move in (0, 1))
        if replaced:
            other = Rows(*(np.concatenate([column[:1], column[at + 1 :]]) for column in rows))
        change = problem.sums([one], point) - problem.sums([other], point)
        assert int((change**2).sum()) <= problem.squared(1, replaced)
        assert np.abs(problem.sums([rows], point)).max() <= problem.bound(MANY)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_replaced_rows_change_more(name: str) -> None:
    """Two rows far apart, where both have the greatest score: within the bound, and beyond that of one row."""
    model = MODELS[name]
    theta = np.append([30.0], np.append(np.full(model.bins - 1, -30.0), np.zeros(COLUMNS)))
    point = Point(theta, np.ones(model.size, dtype=bool), np.zeros(BINS))
    rows = rows_of(model, 1)._replace(y=np.zeros(MANY))
    problem = Scoring(model)
    sums = np.array([problem.sums([Rows(*(column[at : at + 1] for column in rows))], point) for at in range(40)])
    greatest = ((sums[:, None] - sums[None]) ** 2).sum(axis=2).max()
    assert problem.squared(1, False) < greatest <= problem.squared(1, True)


@pytest.mark.parametrize("name", ["logistic", "poisson"])
def test_information_is_the_derivative_of_the_score(name: str) -> None:
    model, step = MODELS[name], 1e-5
    rows, start = rows_of(model, 3), model.start()
    upper = [place for place, pair in enumerate(zip(*model.pairs, strict=True)) if pair[0] == 0]
    at = [model.terms(rows, start._replace(theta=start.theta + end * np.eye(model.size)[0])) for end in (-step, step)]
    slope = -(at[1] - at[0]).sum(axis=0)[: model.size] / (2 * step)
    found = model.terms(rows, start).sum(axis=0)[model.size :][upper]
    if name == "poisson":  # at its start no mean is at the limit
        assert slope == pytest.approx(found, rel=1e-6)
    assert slope[0] == pytest.approx(found[0], rel=1e-6)


@pytest.mark.parametrize("size", [1, 7, 12, 30])
def test_a_line_depends_on_no_other_row(size: int) -> None:
    """To the last bit, wherever the row stands: noise covers the terms of one row alone."""
    rng = np.random.default_rng(size)
    x, theta = rng.uniform(-1, 1, (1001, size)), rng.normal(0, 1, size)
    whole = products(x, theta)
    for first in range(1, 20):
        assert (products(np.ascontiguousarray(x[first:]), theta) == whole[first:]).all()
    assert np.allclose(whole, x @ theta)

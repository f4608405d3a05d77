"""Relaxed projection, RAP's generator: synthetic rows from noisy marginals.

A table of rows in one-hot form is relaxed: in each row, each column is a probability vector over its categories, the
softmax of free numbers. The table's marginals are means over the rows of products of probabilities, smooth in the free
numbers. Gradient descent (Adam) brings them near to the measured ones. The relaxed table is thus a mixture of product
distributions, one for each row. Real rows are drawn from it.

Aydore, Brown, Kearns, Kenthapadi, Melis, Roth, Siva, "Differentially Private Query Release Through Adaptive Projection"
(ICML 2021), the projection step; the softmax is that of Liu, Vietri, Wu, "Iterative Methods for Private Synthetic Data"
(NeurIPS 2021). Squared errors are weighted by 1 / sigma^2, as in the likelihood of Gaussian noise. All arithmetic is in
float64: rounding, which may differ between platforms, hardly ever changes a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from protocols.arrays import Codes, Floats
from protocols.synthesis.graphical import targets_of
from protocols.synthesis.marginals import Measurement

_SPREAD = 0.5  # standard deviation of the initial free numbers around the measured one-way marginals
_LEAST = 1e-3  # least initial share of a category, in uniform shares: measured counts may be 0 or less
_DECAYS = 0.9, 0.99  # Adam's, for the mean of gradients and for that of their squares


@dataclass(frozen=True)
class RelaxedProjection:
    """A `Generator`: `size` relaxed rows, improved in `steps` steps; their rate falls linearly from `rate` to 0."""

    size: int = 1000
    steps: int = 300
    rate: float = 0.2

    def generate(
        self, domain: Mapping[str, int], measurements: Sequence[Measurement], rows: int, seed: int
    ) -> dict[str, Codes]:
        """Draw synthetic rows; a column without a measurement is uniform.

        Args:
            domain: Number of categories of each column.
            measurements: Noisy marginals.
            rows: Number of rows to draw.
            seed: Seed of the draw; equal seeds give equal rows.
        """
        rng = np.random.default_rng(seed)
        table = self.fit(domain, measurements, rng)
        return draw(table, rows, rng)

    def fit(
        self, domain: Mapping[str, int], measurements: Sequence[Measurement], rng: np.random.Generator
    ) -> dict[str, Floats]:
        """Return the relaxed table: probabilities of each column, float64[size, categories].

        Args:
            domain: number of categories of each column
            measurements: the noisy marginals
            rng: source of randomness
        """
        goals = goals_of(domain, measurements)
        free = _begun(domain, goals, self.size, rng)
        mean = {column: np.zeros_like(numbers) for column, numbers in free.items()}
        square = {column: np.zeros_like(numbers) for column, numbers in free.items()}
        for step in range(self.steps):
            _, slopes = loss(free, goals)
            rate = self.rate * (1 - step / self.steps)
            corrections = [1 - decay ** (step + 1) for decay in _DECAYS]
            for column, slope in slopes.items():
                mean[column] += (1 - _DECAYS[0]) * (slope - mean[column])
                square[column] += (1 - _DECAYS[1]) * (slope**2 - square[column])
                size = np.sqrt(square[column] / corrections[1]) + 1e-12
                free[column] -= rate * (mean[column] / corrections[0]) / size
        return {column: softmax(numbers) for column, numbers in free.items()}


@dataclass(frozen=True)
class Goal:
    """A marginal that the relaxed table shall have: shares of all rows, and the weight of errors in them."""

    columns: tuple[str, ...]
    shares: Floats
    weight: float


def goals_of(domain: Mapping[str, int], measurements: Sequence[Measurement]) -> list[Goal]:
    """Return one goal for each measured set of columns; the greatest weight is 1.

    Args:
        domain: number of categories of each column
        measurements: the noisy marginals
    """
    if not measurements:
        return []
    names = list(domain)
    targets, rows = targets_of(names, measurements)
    most = max(target.weight for target in targets)
    goals = []
    for target in targets:
        # The column with most categories comes last: products of the others are the largest array of a step.
        order = np.argsort(target.counts.shape, kind="stable")
        columns = tuple(names[target.columns[axis]] for axis in order)
        goals.append(Goal(columns, target.counts.transpose(order) / rows, target.weight / most))
    return goals


def loss(free: Mapping[str, Floats], goals: Sequence[Goal]) -> tuple[float, dict[str, Floats]]:
    """Return the weighted sum of squared errors of all marginals, and its gradient in the free numbers.

    Args:
        free: free numbers of each column, float64[size, categories]
        goals: the marginals
    """
    names = dict.fromkeys(name for goal in goals for name in goal.columns)
    table = {name: softmax(free[name]) for name in names}
    slopes = {name: np.zeros_like(table[name]) for name in names}
    total = 0.0
    for goal in goals:
        *others, last = (table[name] for name in goal.columns)
        products = _products(others, len(last))
        size = 1 / len(last)
        error = products[-1].T @ last * size - goal.shares.reshape(-1, last.shape[1])
        total += goal.weight * float((error**2).sum())
        error *= 2 * goal.weight * size
        slopes[goal.columns[-1]] += products[-1] @ error
        if others:
            _descend(last @ error.T, others, products, [slopes[name] for name in goal.columns[:-1]])
    for name, probabilities in table.items():  # through the softmax
        inner = (slopes[name] * probabilities).sum(axis=1, keepdims=True)
        slopes[name] = probabilities * (slopes[name] - inner)
    return total, slopes


def _products(columns: Sequence[Floats], rows: int) -> list[Floats]:
    """Return the products of the first 0, 1, ... columns' probabilities in each row, float64[rows, combinations]."""
    products = [np.ones((rows, 1))]
    for column in columns:
        products.append((products[-1][:, :, None] * column[:, None, :]).reshape(rows, -1))
    return products


def _descend(slope: Floats, columns: Sequence[Floats], products: Sequence[Floats], slopes: Sequence[Floats]) -> None:
    """Add to `slopes` each column's gradient, given `slope`, that of the last of `products`."""
    for i in reversed(range(len(columns))):
        parts = slope.reshape(len(slope), products[i].shape[1], -1)
        slopes[i][...] += np.matmul(products[i][:, None, :], parts)[:, 0]
        slope = np.matmul(parts, columns[i][:, :, None])[:, :, 0]


def softmax(numbers: Floats) -> Floats:
    """Return the softmax of each row."""
    powers = np.exp(numbers - numbers.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _begun(domain: Mapping[str, int], goals: Sequence[Goal], size: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Return the initial free numbers of each column, float[size, categories]: every row near the one-way marginals.

    A column's marginal comes from the most precise goal with the column.
    """
    free = {}
    for column, categories in domain.items():
        candidates = [goal for goal in goals if column in goal.columns]
        shares: Floats = np.full(categories, 1 / categories)
        if candidates:
            best = min(candidates, key=lambda goal: goal.shares.size / goal.weight)
            others = tuple(i for i, name in enumerate(best.columns) if name != column)
            shares = np.maximum(best.shares.sum(axis=others), _LEAST / categories)
        free[column] = np.log(shares) + _SPREAD * rng.standard_normal((size, categories))
    return free


def draw(table: Mapping[str, Floats], rows: int, rng: np.random.Generator) -> dict[str, Codes]:
    """Draw rows from a relaxed table, in random order; each relaxed row gives an equal number, up to one.

    Among the rows from one relaxed row, a column's categories are drawn systematically: the number of each is its
    expectation, rounded up or down, in an order independent of other columns. Expectations equal those of independent
    draws.

    Args:
        table: probabilities of each column, float64[size, categories]
        rows: number of rows
        rng: source of randomness
    """
    size = len(next(iter(table.values())))
    extra = rng.permutation(size) < rows % size
    copies = rows // size + extra
    source = np.repeat(np.arange(size), copies)
    drawn = {}
    for column, probabilities in table.items():
        rank = _ranks(source, copies, rng)
        level = (rank + rng.random(size)[source]) / copies[source]
        limits = np.cumsum(probabilities, axis=1)[:, :-1]
        drawn[column] = (level[:, None] >= limits[source]).sum(axis=1).astype(np.int64)
    order = rng.permutation(rows)
    return {column: codes[order] for column, codes in drawn.items()}


def _ranks(source: Codes, copies: Codes, rng: np.random.Generator) -> Codes:
    """Return a random rank 0, 1, ... of each row among those of its source.

    `source` has each row's source, sorted; `copies` the number of rows of each source.
    """
    order = np.lexsort((rng.random(len(source)), source))
    ranks = np.empty(len(source), dtype=np.int64)
    ranks[order] = np.arange(len(source)) - np.repeat(np.cumsum(copies) - copies, copies)
    return ranks

"""Private-PGM: the distribution of greatest entropy whose marginals are nearest to noisy ones.

McKenna, Sheldon, Miklau, "Graphical-model based estimation and inference for differential privacy" (ICML 2019). Among
all distributions of n rows one minimises the sum of |marginal - measured|^2 / (2 sigma^2); of those that do, the one of
greatest entropy is a product of tables over the measured sets of columns. Its logarithms, the potentials, are found by
mirror descent with Armijo's line search; each step asks for the marginals of the present ones, by messages along a
junction tree (`parties.alone.synthesis.junction`).

Everything here is numpy's own sums, products, exponentials and logarithms in one order: equal arguments give equal
results on one machine. Rows follow the model with as little chance as can be: where a clique's probabilities want so
many rows of some values, so many there are, but for the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from parties.alone.synthesis.junction import JunctionTree, Set, junction_tree
from parties.alone.synthesis.marginals import Measurement

Table = NDArray[np.float64]
Potentials = Mapping[Set, Table]
STEPS = 300  # of mirror descent
GROWTH, SHRINKING = 1.2, 0.5  # of its step
NEAR = 1e-5  # it ends when a step improves the loss by less than this part of it, a few times on end
PATIENCE = 5


@dataclass(frozen=True)
class Target:
    """A measured marginal: counts, and the sum of 1 / sigma^2 of its measurements."""

    columns: Set
    counts: Table
    weight: float


@dataclass(frozen=True, eq=False)
class MarkovRandomField:
    """A fitted distribution of `total` rows: potentials, and the probabilities of each clique of the tree."""

    domains: tuple[int, ...]
    total: float
    potentials: Potentials
    tree: JunctionTree
    beliefs: tuple[Table, ...]

    def project(self, columns: Set) -> Table:
        """Return the expected counts of some columns together, in ascending order, float64 of the marginal's shape."""
        home = self.tree.home(columns)
        if home is not None:
            return self.total * _sum_to(self.beliefs[home], self.tree.cliques[home], columns)
        messages: dict[int, tuple[Table, Set]] = {}
        wanted = set(columns)
        for place in range(len(self.tree.cliques) - 1, -1, -1):
            clique, separator = self.tree.cliques[place], set(self.tree.separators[place])
            below = [messages.pop(child) for child in sorted(messages) if self.tree.parents[child] == place]
            here = wanted.intersection(clique) - separator
            if not below and not here and place:
                continue  # nothing that is asked for is here or behind
            table = self.beliefs[place]
            if separator:
                shared = _sum_to(table, clique, tuple(sorted(separator)))
                inverse = np.divide(1.0, shared, out=np.zeros_like(shared), where=shared > 0)
                table = table * _spread(inverse, tuple(sorted(separator)), clique)
            factors = [(table, clique), *below]
            keep = separator | {c for _, axes in factors for c in axes if c in wanted}
            messages[place] = _contract(factors, tuple(sorted(keep)))
        table, axes = messages[0]
        return self.total * _sum_to(table, axes, columns)

    def rows(self, many: int, seed: int) -> NDArray[np.int64]:
        """Draw rows of category codes, int64[many, columns]."""
        random = np.random.Generator(np.random.PCG64(seed))
        rows = np.zeros((many, len(self.domains)), dtype=np.int64)
        for place, (clique, separator) in enumerate(zip(self.tree.cliques, self.tree.separators, strict=True)):
            new = tuple(column for column in clique if column not in separator)
            axes = (*separator, *new)
            table = np.transpose(self.beliefs[place], [clique.index(column) for column in axes])
            shape = [self.domains[column] for column in new]
            table = table.reshape(-1, int(np.prod(shape)))
            group = np.zeros(many, dtype=np.int64)
            for column in separator:
                group = group * self.domains[column] + rows[:, column]
            drawn = _drawn(table, group, random)
            for column, values in zip(new, np.unravel_index(drawn, shape), strict=True):
                rows[:, column] = values
        return rows


def _drawn(table: Table, group: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Return a cell for each row, by its group's line of the table; rows of a group are spread evenly over it."""
    used, group = np.unique(group, return_inverse=True)
    lines = np.maximum(table[used], 0)
    sums = lines.sum(axis=1, keepdims=True)
    lines = np.where(sums > 0, lines / np.where(sums > 0, sums, 1), 1 / lines.shape[1])
    ends = np.cumsum(lines, axis=1)
    ends /= ends[:, -1:]
    order = np.lexsort((random.random(len(group)), group))  # by group, in a random order within
    sizes = np.bincount(group, minlength=len(used))
    rank = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    where = (rank + random.random(len(group))) / np.repeat(sizes, sizes)
    line = np.repeat(np.arange(len(used)), sizes)
    flat = (ends + np.arange(len(used))[:, None]).reshape(-1)
    cells = np.searchsorted(flat, line + where, side="right") - line * lines.shape[1]
    drawn = np.empty(len(group), dtype=np.int64)
    drawn[order] = np.clip(cells, 0, lines.shape[1] - 1)
    return drawn


def fit(
    domains: Sequence[int],
    targets: Sequence[Target],
    total: float,
    start: Potentials | None = None,
    steps: int = STEPS,
    near: float = NEAR,
) -> MarkovRandomField:
    """Return the model of these marginals, one target a set of columns, from some potentials on."""
    sets = [target.columns for target in targets]
    tree = junction_tree(domains, sets)
    starting = {} if start is None else start
    potentials = {t.columns: starting.get(t.columns, np.zeros(t.counts.shape)) for t in targets}
    homes = {columns: _home(tree, columns) for columns in sets}

    def marginals(some: Potentials) -> tuple[list[Table], dict[Set, Table]]:
        beliefs = _beliefs(domains, tree, homes, some)
        return beliefs, {
            columns: total * _sum_to(beliefs[homes[columns]], tree.cliques[homes[columns]], columns) for columns in sets
        }

    def loss_of(estimated: Mapping[Set, Table]) -> float:
        return sum(0.5 * t.weight * float(((estimated[t.columns] - t.counts) ** 2).sum()) for t in targets)

    beliefs, estimates = marginals(potentials)
    loss, stalled = loss_of(estimates), 0
    step = 1.0 / (total * max(target.weight for target in targets))
    for _ in range(steps):
        slopes = {t.columns: t.weight * (estimates[t.columns] - t.counts) for t in targets}
        tried = {columns: potentials[columns] - step * slopes[columns] for columns in sets}
        next_beliefs, next_estimates = marginals(tried)
        next_loss = loss_of(next_estimates)
        ahead = sum(float((slopes[columns] * (estimates[columns] - next_estimates[columns])).sum()) for columns in sets)
        if loss - next_loss < 0.5 * ahead or not np.isfinite(next_loss):
            step *= SHRINKING
            continue
        stalled = stalled + 1 if loss - next_loss <= near * loss else 0
        potentials, beliefs, estimates, loss = tried, next_beliefs, next_estimates, next_loss
        step *= GROWTH
        if stalled == PATIENCE:
            break
    return MarkovRandomField(tuple(domains), total, potentials, tree, tuple(beliefs))


def targets_of(columns: Sequence[str], measurements: Sequence[Measurement]) -> tuple[list[Target], float]:
    """Return one target a set of columns, by the inverse variances of its measurements; and the number of rows, at
    least 1.

    The number of rows is the mean of what each measurement adds up to, by the inverse of its variance.
    """
    sums: dict[Set, tuple[Table, float]] = {}
    rows = precision = 0.0
    for measurement in measurements:
        places = [columns.index(name) for name in measurement.columns]
        ordered = np.transpose(measurement.counts, np.argsort(places)).astype(np.float64)
        weight = 1.0 / max(measurement.sigma, 1e-3) ** 2
        before, known = sums.get(key := tuple(sorted(places)), (np.zeros(ordered.shape), 0.0))
        sums[key] = before + weight * ordered, known + weight
        rows += float(ordered.sum()) * weight / ordered.size
        precision += weight / ordered.size
    targets = [Target(key, counts / weight, weight) for key, (counts, weight) in sums.items()]
    return targets, max(1.0, rows / precision)


def start_of(targets: Sequence[Target]) -> dict[Set, Table]:
    """Return potentials to begin with: those of single columns by their counts, as if all were independent."""
    return {
        t.columns: np.log(np.maximum(t.counts, 0.5) / np.maximum(t.counts, 0.5).sum())
        for t in targets
        if len(t.columns) == 1
    }


@dataclass(frozen=True)
class Graphical:
    """The generator: a model of the measurements, and rows from it.

    See `parties.alone.synthesis.marginals.Generator`.
    """

    steps: int = 2 * STEPS

    def generate(
        self, domain: Mapping[str, int], measurements: Sequence[Measurement], rows: int, seed: int
    ) -> dict[str, NDArray[np.int64]]:
        """See `Generator.generate`."""
        targets, total = targets_of(list(domain), measurements)
        model = fit(list(domain.values()), targets, total, start_of(targets), self.steps)
        drawn = model.rows(rows, seed)
        return {name: drawn[:, place] for place, name in enumerate(domain)}


def _home(tree: JunctionTree, columns: Set) -> int:
    place = tree.home(columns)
    assert place is not None, "every set is part of a clique"
    return place


def _beliefs(domains: Sequence[int], tree: JunctionTree, homes: Mapping[Set, int], some: Potentials) -> list[Table]:
    """Return the probabilities of each clique: messages from the leaves to the root and back, as logarithms."""
    logs = [np.zeros([domains[column] for column in clique]) for clique in tree.cliques]
    for columns, table in some.items():
        logs[homes[columns]] += _spread(table, columns, tree.cliques[homes[columns]])
    up: list[Table] = [np.zeros(()) for _ in tree.cliques]
    for place in range(len(tree.cliques) - 1, 0, -1):
        clique, separator, parent = tree.cliques[place], tree.separators[place], tree.parents[place]
        up[place] = _log_sum_to(logs[place], clique, separator)
        logs[parent] += _spread(up[place], separator, tree.cliques[parent])
    for place in range(1, len(tree.cliques)):
        clique, separator, parent = tree.cliques[place], tree.separators[place], tree.parents[place]
        down = _log_sum_to(logs[parent], tree.cliques[parent], separator) - up[place]
        logs[place] += _spread(down, separator, clique)
    beliefs = []
    for table in logs:
        masses = np.exp(table - table.max())
        beliefs.append(masses / masses.sum())
    return beliefs


def _spread(table: Table, axes: Set, wider: Set) -> Table:
    """Return the table with axes of length 1 for what it does not have."""
    shape = iter(table.shape)
    return table.reshape([next(shape) if column in axes else 1 for column in wider])


def _sum_to(table: Table, axes: Set, remaining: Set) -> Table:
    """Sum over the other columns."""
    return table.sum(axis=tuple(place for place, column in enumerate(axes) if column not in remaining))


def _log_sum_to(table: Table, axes: Set, remaining: Set) -> Table:
    hidden = tuple(place for place, column in enumerate(axes) if column not in remaining)
    if not hidden:
        return table.copy()
    top = table.max(axis=hidden, keepdims=True)
    sums: Table = np.log(np.exp(table - top).sum(axis=hidden)) + top.squeeze(axis=hidden)
    return sums


def _contract(factors: Sequence[tuple[Table, Set]], remaining: Set) -> tuple[Table, Set]:
    """Return the product of tables, summed over all columns but some."""

    def times(first: tuple[Table, Set], second: tuple[Table, Set]) -> tuple[Table, Set]:
        axes = tuple(sorted({*first[1], *second[1]}))
        return _spread(*first, axes) * _spread(*second, axes), axes

    table, axes = reduce(times, factors)
    left = tuple(column for column in axes if column in remaining)
    return _sum_to(table, axes, left), left

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

import numpy as np
from numpy.typing import NDArray

from parties.alone.synthesis.inference import Inference
from parties.alone.synthesis.junction import JunctionTree, junction_tree
from parties.alone.synthesis.marginals import Measurement
from parties.alone.synthesis.projection import projected
from parties.alone.synthesis.sums import Set, Table

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

    def project(self, sets: Sequence[Set]) -> list[Table]:
        """Return the expected counts by each of these sets of columns, in ascending order, float64 of its shape."""
        return [self.total * table for table in projected(self.domains, self.tree, self.beliefs, sets)]

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
    tree: JunctionTree | None = None,
) -> MarkovRandomField:
    """Return the model of these marginals, one target a set of columns, from some potentials on.

    Each set is in a clique of the tree, which is made if there is none.
    """
    sets = [target.columns for target in targets]
    tree = junction_tree(domains, sets) if tree is None else tree
    inference = Inference(domains, tree, sets)
    starting = {} if start is None else start
    potentials = inference.vector([starting.get(t.columns, np.zeros(t.counts.shape)) for t in targets])
    counts = inference.vector([target.counts for target in targets])
    weights = np.repeat([target.weight for target in targets], [target.counts.size for target in targets])

    def at(some: Table) -> tuple[Table, Table, float]:
        """Return the marginals of some potentials, the slopes of the loss there, and the loss."""
        estimates = total * inference.marginals(some)
        slopes = weights * (estimates - counts)
        return estimates, slopes, 0.5 * float((slopes * (estimates - counts)).sum())

    estimates, slopes, loss = at(potentials)
    stalled, step = 0, 1.0 / (total * max(target.weight for target in targets))
    for _ in range(steps):
        tried = potentials - step * slopes
        next_estimates, next_slopes, next_loss = at(tried)
        ahead = float((slopes * (estimates - next_estimates)).sum())
        if loss - next_loss < 0.5 * ahead or not np.isfinite(next_loss):
            step *= SHRINKING
            continue
        stalled = stalled + 1 if loss - next_loss <= near * loss else 0
        potentials, estimates, slopes, loss = tried, next_estimates, next_slopes, next_loss
        step *= GROWTH
        if stalled == PATIENCE:
            break
    inference.marginals(potentials)
    fitted = dict(zip(sets, inference.tables(potentials), strict=True))
    return MarkovRandomField(tuple(domains), total, fitted, tree, tuple(inference.beliefs()))


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

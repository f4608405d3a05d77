"""Private-PGM: the maximum-entropy distribution whose marginals are nearest to noisy ones.

McKenna, Sheldon, Miklau, "Graphical-model based estimation and inference for differential privacy" (ICML 2019). Among
all distributions of n rows, some minimise the sum of |marginal - measured|^2 / (2 sigma^2). The one of greatest entropy
among these is a product of tables over the measured sets of columns. Mirror descent with Armijo's line search finds the
logarithms of these tables, the potentials. Each step computes the marginals of the present potentials by messages along
a junction tree (`protocols.synthesis.junction`).

Everything here is numpy's own sums, products, exponentials and logarithms in one order: equal arguments give equal
results on one machine. Rows follow the model with little randomness: the number of rows with given values of a clique
is its expectation, rounded up or down.

Marginals of a calibrated junction tree by any columns, in one clique or in several.

The marginal of columns in one clique is a sum of the clique's probabilities. For columns in several cliques, it is a
sum along the part of the tree between them. Each clique passes a conditional table to its parent, given their shared
columns, with only the columns that are required or passed on. All marginals required of a clique are summed at once
(`Margins`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocols.synthesis.inference import Inference
from protocols.synthesis.junction import JunctionTree, junction_tree
from protocols.synthesis.marginals import Measurement
from protocols.synthesis.sums import Margins, Set, Table, ordered, turned


@dataclass(frozen=True)
class _Hop:
    """Contribution of one clique: its marginal by the columns `here`, given those shared with its parent.

    The result, by the columns `remaining`, is passed to the clique `to`; None at the last one.
    """

    place: int
    to: int | None
    here: Set
    separator: Set
    remaining: Set


def projected(domains: Sequence[int], tree: JunctionTree, beliefs: Sequence[Table], sets: Sequence[Set]) -> list[Table]:
    """Return the probabilities by each set of columns, axes in ascending order.

    Args:
        domains: number of values of each column
        tree: the junction tree
        beliefs: probabilities of each clique
        sets: the sets of columns
    """
    routes = [_route(tree, columns) for columns in sets]
    wanted_sets: dict[int, set[Set]] = {}
    for route in routes:
        for hop in route:
            wanted_sets.setdefault(hop.place, set()).update(columns for columns in (hop.here, hop.separator) if columns)
    marginals: dict[int, Mapping[Set, Table]] = {}
    for place, some in wanted_sets.items():
        clique, inside = tree.cliques[place], {columns: ordered(columns, domains) for columns in some}
        axes = ordered(clique, domains)
        margins = Margins(axes, domains, inside.values(), np.ascontiguousarray(turned(beliefs[place], clique, axes)))
        margins.sum()
        marginals[place] = {columns: turned(margins.tables[mine], mine, columns) for columns, mine in inside.items()}
    return [_along(route, marginals) for route in routes]


def _route(tree: JunctionTree, required: Set) -> list[_Hop]:
    """Return the hops from the ends to the top of a part of the tree that has all `required` columns."""
    home = tree.home(required)
    if home is not None:
        return [_Hop(home, None, required, (), required)]
    route: list[_Hop] = []
    waiting: dict[int, set[int]] = {
        tree.tops[column]: set() for column in required
    }  # cliques, with the columns passed to each
    while waiting:
        place = max(waiting)
        passed = waiting.pop(place)
        separator = tree.separators[place] if waiting else ()
        here = passed.union(required, separator).intersection(tree.cliques[place])
        remaining = (here | passed).intersection((*required, *separator))
        to = None
        if waiting:  # a clique without shared columns is independent of all waiting ones: any may follow
            to = tree.parents[place] if separator else max(waiting)
            waiting.setdefault(to, set()).update(remaining)
        route.append(_Hop(place, to, tuple(sorted(here)), separator, tuple(sorted(remaining))))
    return route


def _along(route: Sequence[_Hop], marginals: Mapping[int, Mapping[Set, Table]]) -> Table:
    """Return the probabilities by the required columns, computed hop by hop along a route."""
    passed: dict[int | None, list[tuple[Table, Set]]] = {}
    for hop in route:
        factors = passed.pop(hop.place, [])
        if hop.here:
            factors.append((marginals[hop.place][hop.here], hop.here))
        if hop.separator:
            shared = marginals[hop.place][hop.separator]
            factors.append((np.divide(1.0, shared, out=np.zeros_like(shared), where=shared > 0), hop.separator))
        passed.setdefault(hop.to, []).append((_contracted(factors, hop.remaining), hop.remaining))
    return passed[None][0][0]


def _contracted(factors: Sequence[tuple[Table, Set]], remaining: Set) -> Table:
    """Return the product of tables, summed over all columns except `remaining`."""
    columns = sorted({column for _, axes in factors for column in axes})
    label = {column: number for number, column in enumerate(columns)}  # numpy accepts no labels above 51
    operands: list[Any] = []
    for table, axes in factors:
        operands += [table, [label[column] for column in axes]]
    product: Table = np.einsum(*operands, [label[column] for column in remaining])
    return product


Potentials = Mapping[Set, Table]
STEPS = 300  # most steps of mirror descent
GROWTH, SHRINKING = 1.2, 0.5  # factors of the step length after success and failure
NEAR = 1e-5  # a step stalls if it improves the loss by less than this share of it
PATIENCE = 5


@dataclass(frozen=True)
class Target:
    """A measured marginal: its estimated counts, and the sum of 1 / sigma^2 of its measurements."""

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
        """Return the expected counts by each set of columns, axes in ascending order, float64."""
        return [self.total * table for table in projected(self.domains, self.tree, self.beliefs, sets)]

    def rows(self, count: int, seed: int) -> NDArray[np.int64]:
        """Draw rows of category codes, int64[count, columns].

        Args:
            count: number of rows
            seed: seed of all randomness
        """
        random = np.random.Generator(np.random.PCG64(seed))
        rows = np.zeros((count, len(self.domains)), dtype=np.int64)
        for index, (clique, separator) in enumerate(zip(self.tree.cliques, self.tree.separators, strict=True)):
            new = tuple(column for column in clique if column not in separator)
            axes = (*separator, *new)
            table = np.transpose(self.beliefs[index], [clique.index(column) for column in axes])
            shape = [self.domains[column] for column in new]
            table = table.reshape(-1, int(np.prod(shape)))
            group = np.zeros(count, dtype=np.int64)
            for column in separator:
                group = group * self.domains[column] + rows[:, column]
            drawn = _drawn(table, group, random)
            for column, values in zip(new, np.unravel_index(drawn, shape), strict=True):
                rows[:, column] = values
        return rows


def _drawn(table: Table, group: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Return a cell for each row from its group's line of the table; a group's rows are spread evenly over the line."""
    used, group = np.unique(group, return_inverse=True)
    lines = np.maximum(table[used], 0)
    sums = lines.sum(axis=1, keepdims=True)
    lines = np.where(sums > 0, lines / np.where(sums > 0, sums, 1), 1 / lines.shape[1])
    ends = np.cumsum(lines, axis=1)
    ends /= ends[:, -1:]
    order = np.lexsort((random.random(len(group)), group))  # by group, in random order within a group
    sizes = np.bincount(group, minlength=len(used))
    rank = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    fractions = (rank + random.random(len(group))) / np.repeat(sizes, sizes)
    line = np.repeat(np.arange(len(used)), sizes)
    flat = (ends + np.arange(len(used))[:, None]).reshape(-1)
    cells = np.searchsorted(flat, line + fractions, side="right") - line * lines.shape[1]
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
    """Return the model fitted to marginals.

    Args:
        domains: number of values of each column
        targets: the marginals, one for each set of columns
        total: number of rows
        start: first potentials; missing ones are 0, and None sets all to 0
        steps: greatest number of steps; the fit ends earlier if five steps in a row stall. Default: 300
        near: a step stalls if it improves the loss by this share of it at most. Default: 1e-5
        tree: junction tree with each set in a clique; None: it is built
    """
    sets = [target.columns for target in targets]
    tree = junction_tree(domains, sets) if tree is None else tree
    inference = Inference(domains, tree, sets)
    starting = {} if start is None else start
    potentials = inference.vector([starting.get(t.columns, np.zeros(t.counts.shape)) for t in targets])
    counts = inference.vector([target.counts for target in targets])
    weights = np.repeat([target.weight for target in targets], [target.counts.size for target in targets])

    def at(some: Table) -> tuple[Table, Table, float]:
        """Return the marginals of the potentials `some`, the gradient of the loss, and the loss."""
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
    """Return one target for each set of columns, and the estimated number of rows, at least 1.

    Measurements of one set are averaged by their inverse variances. So are the totals of all measurements, whose mean
    is the number of rows.

    Args:
        columns: all columns
        measurements: the measured marginals
    """
    sums: dict[Set, tuple[Table, float]] = {}
    rows = precision = 0.0
    for measurement in measurements:
        indices = [columns.index(name) for name in measurement.columns]
        ordered = np.transpose(measurement.counts, np.argsort(indices)).astype(np.float64)
        weight = 1.0 / max(measurement.sigma, 1e-3) ** 2
        before, weight_before = sums.get(key := tuple(sorted(indices)), (np.zeros(ordered.shape), 0.0))
        sums[key] = before + weight * ordered, weight_before + weight
        rows += float(ordered.sum()) * weight / ordered.size
        precision += weight / ordered.size
    targets = [Target(key, counts / weight, weight) for key, (counts, weight) in sums.items()]
    return targets, max(1.0, rows / precision)


def start_of(targets: Sequence[Target]) -> dict[Set, Table]:
    """Return potentials to start from: those of the measured single columns, as if all were independent."""
    return {
        t.columns: np.log(np.maximum(t.counts, 0.5) / np.maximum(t.counts, 0.5).sum())
        for t in targets
        if len(t.columns) == 1
    }


@dataclass(frozen=True)
class Graphical:
    """Generator that fits a model to the measurements and draws rows from it."""

    steps: int = 2 * STEPS

    def generate(
        self, domain: Mapping[str, int], measurements: Sequence[Measurement], rows: int, seed: int
    ) -> dict[str, NDArray[np.int64]]:
        """Draw synthetic rows from a graphical model of the measurements.

        Args:
            domain: Number of categories of each column.
            measurements: Noisy marginals.
            rows: Number of rows to draw.
            seed: Seed of the draw; equal seeds give equal rows.
        """
        targets, total = targets_of(list(domain), measurements)
        model = fit(list(domain.values()), targets, total, start_of(targets), self.steps)
        drawn = model.rows(rows, seed)
        return {name: drawn[:, index] for index, name in enumerate(domain)}

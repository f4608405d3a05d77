"""The law of ID3 with differential privacy, in numpy: what `protocols/release/tree.py` computes on secrets, in clear.

At each level every open node takes the best of its unused attributes and of "stop", each score plus one-sided
geometric noise of scale D / eps_level; "stop" has the score of the unsplit node and a bonus of 2 D / eps_level.
A leaf takes the class of the greatest count plus one-sided geometric noise of scale 1 / eps_leaf. First index among
equals, "stop" the last. Neighbours differ by one row, added or removed. Sensitivities and units are the protocol's;
its scores may differ from the exact ones here by a unit, which the sensitivity counts.

Many trees grow at once, each of its own rows with noise of its own: repeated draws, or the trees of a forest. Only
nodes that some row reaches are followed. The generator is numpy's: this measures accuracy, it releases nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.private_trees.tables import Table
from protocols.release.quality import QUALITIES, UNITS
from protocols.release.tree_problem import Measure

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Settings:
    """Settings of a tree; an infinite `epsilon` means no noise. The part `leaf_share` of it is for the leaves."""

    epsilon: float
    depth: int
    leaf_share: float
    stop: bool = True
    quality: Measure = "max"

    def per_level(self, attributes: int) -> float:
        """Return eps_level. A row takes part in at most as many choices as there are attributes to choose from."""
        return self.epsilon * (1 - self.leaf_share) / max(1, min(self.depth, attributes - (not self.stop)))

    def sensitivity(self, bound: int) -> int:
        """Return D, the sensitivity of the quality, in units of its scores."""
        return QUALITIES[self.quality](bound).sensitivity

    def bonus(self, attributes: int, bound: int) -> int:
        """Return the bonus that "stop" has beyond its score."""
        epsilon = self.per_level(attributes)
        return round(2 * self.sensitivity(bound) / epsilon) if epsilon < math.inf else 0


def predict(train: Table, tree: Ints, test: Ints, trees: int, settings: Settings, rng: np.random.Generator) -> Ints:
    """Return the class of each test row by each tree, [trees, test rows]; `tree` is each training row's tree."""
    rows, attributes = train.values.shape
    values = np.concatenate([train.values, np.tile(test, (trees, 1))])
    node = np.concatenate([tree, np.repeat(np.arange(trees), len(test))])  # open node of each row
    alive = np.arange(len(values))  # rows at open nodes
    used = np.zeros((trees, attributes), dtype=bool)
    predicted = np.empty(len(values), dtype=np.int64)
    for level in range(settings.depth + 1):
        inside = alive < rows
        known, labels = node[inside], train.labels[alive[inside]]
        totals = _counts(known, labels, len(used), train.classes)
        if level < settings.depth:
            choice = _choices(values[alive[inside]], known, labels, totals, used, train, settings, rng)
        else:
            choice = np.full(len(used), attributes)
        leaf_class = (totals + _noise(totals.shape, 1.0, settings.epsilon * settings.leaf_share, rng)).argmax(axis=1)
        chosen = choice[node]
        ends = chosen == attributes
        predicted[alive[ends]] = leaf_class[node[ends]]
        alive, node, chosen = alive[~ends], node[~ends], chosen[~ends]
        if not alive.size:
            break
        children, child = np.unique(node * max(train.domains) + values[alive, chosen], return_inverse=True)
        parents = children // max(train.domains)
        used = used[parents]
        used[np.arange(len(parents)), choice[parents]] = True
        node = child
    return predicted[rows:].reshape(trees, len(test))


def _choices(
    values: Ints,
    node: Ints,
    labels: Ints,
    totals: Ints,
    used: NDArray[np.bool_],
    train: Table,
    settings: Settings,
    rng: np.random.Generator,
) -> Ints:
    """Return the winner at every node: an attribute, or the number of attributes for "stop"."""
    scores = np.empty((len(used), len(train.domains) + 1))
    scores[:, -1] = _scores(totals[:, None], settings.quality)
    scores[:, -1] += settings.bonus(len(train.domains), train.bound)
    for attribute, size in enumerate(train.domains):
        cells = _counts(node * size + values[:, attribute], labels, len(used) * size, train.classes)
        scores[:, attribute] = _scores(cells.reshape(len(used), size, -1), settings.quality)
    scores += _noise(scores.shape, settings.sensitivity(train.bound), settings.per_level(len(train.domains)), rng)
    scores[:, :-1][used] = -np.inf
    if not settings.stop:
        scores[~used.all(axis=1), -1] = -np.inf
    return scores.argmax(axis=1)


def _counts(cell: Ints, labels: Ints, cells: int, classes: int) -> Ints:
    return np.bincount(cell * classes + labels, minlength=cells * classes).reshape(cells, classes)


def _scores(counts: Ints, quality: Measure) -> NDArray[np.float64]:
    """Return the quality, a whole number, of partitions with these counts, [nodes, parts, classes]."""
    if quality == "max":
        return counts.max(axis=2).sum(axis=1).astype(float)
    sizes = counts.sum(axis=2)
    if quality == "gini":
        impurity = sizes - (counts**2).sum(axis=2) / np.maximum(sizes, 1)
    else:
        impurity = _x_ln_x(sizes) - _x_ln_x(counts).sum(axis=2)
    return np.floor(-impurity.sum(axis=1) * UNITS)


def _x_ln_x(counts: Ints) -> NDArray[np.float64]:
    return counts * np.log(np.maximum(counts, 1))


def _noise(shape: tuple[int, ...], sensitivity: float, epsilon: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return geometric noise, P(g) ~ exp(-epsilon g / sensitivity): integer parts of exponential variables."""
    if epsilon == math.inf:
        return np.zeros(shape)
    return np.floor(rng.exponential(sensitivity / epsilon, shape))

"""Logistic regression on categories, in the clear: one weight for each category and class.

The objective is the mean over the rows of -ln P(class), plus `penalty` / 2 times the sum of the squared weights,
divided by the number of rows. P is the softmax of the sums of a row's weights. Half the matrix of co-occurrences of
categories bounds the Hessian from above (Boehning, "Multinomial logistic regression algorithm", AISM 1992). So each
step solves one fixed system and, by itself, never increases the objective. Nesterov's acceleration, which may, is
restarted where it overshoots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parties.alone.publish.cells import reduced
from protocols.arrays import Codes, Floats
from smc import kernels

_STEPS, _CLOSE = 500, 1e-6  # most steps; the greatest gradient component (of a mean over rows) that counts as 0


@dataclass(frozen=True, eq=False)
class Logistic:
    """Model: weights float64[categories of all columns, classes], columns one after the other."""

    domains: tuple[int, ...]
    weights: Floats

    def predict(self, rows: Codes) -> Codes:
        """Return the most likely class of rows int64[rows, columns], the first among equals."""
        return _scores(_places(self.domains, rows), self.weights).argmax(axis=1)

    def probabilities(self, rows: Codes) -> Floats:
        """Return the probability of each class, float64[rows, classes]."""
        return _softmax(_scores(_places(self.domains, rows), self.weights))


def fit(domains: Sequence[int], classes: int, rows: Codes, labels: Codes, penalty: float = 1.0) -> Logistic:
    """Return the model fitted to rows; without rows, all classes are equally likely.

    Args:
        domains: number of values of each column
        classes: number of classes
        rows: int64[rows, columns]
        labels: class of each row, int64[rows]
        penalty: weight of the squared weights
    """
    distinct, counts = reduced(np.vstack([rows.T, labels]))
    places, hits = _places(domains, distinct[:-1].T.astype(np.int64)), np.eye(classes)[distinct[-1]]
    size, share = sum(domains), counts / max(1, len(labels))
    cooccurrences = np.zeros((size, size))
    for column in places:
        for other in places:
            cooccurrences += np.bincount(column * size + other, share, size * size).reshape(size, size)
    ridge = penalty / max(1, len(labels))
    inverse = np.linalg.inv(cooccurrences / 2 + ridge * np.eye(size))
    weights = ahead = np.zeros((size, classes))
    momentum = 1.0
    for _ in range(_STEPS):
        slope = _gathered(places, (_softmax(_scores(places, ahead)) - hits) * share[:, None], size) + ridge * ahead
        if np.abs(slope).max(initial=0) < _CLOSE:
            break
        step = ahead - inverse @ slope
        if ((step - weights) * slope).sum() > 0:  # uphill: restart the acceleration
            momentum = 1.0
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = step + (momentum - 1) / following * (step - weights)
        weights, momentum = step, following
    return Logistic(tuple(domains), ahead)


def _places(domains: Sequence[int], rows: Codes) -> Codes:
    """Return the row of `weights` that belongs to the category of each cell, int64[columns, rows]."""
    first = np.concatenate([[0], np.cumsum(domains)[:-1]]).astype(np.int64)
    return np.ascontiguousarray(rows.T + first[:, None])


def _scores(places: Codes, weights: Floats) -> Floats:
    scores = np.zeros((weights.shape[1], places.shape[1]))
    for of_class, column in zip(scores, weights.T, strict=True):
        kernels.look_up(places, np.ascontiguousarray(column), np.zeros(len(places), dtype=np.int64), of_class)
    return np.ascontiguousarray(scores.T)


def _softmax(scores: Floats) -> Floats:
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    return likely / likely.sum(axis=1, keepdims=True)


def _gathered(places: Codes, values: Floats, size: int) -> Floats:
    """Return the sums of `values` over the rows with each category, float[size, k].

    `places` has the numbers, below `size`, of the categories, int64[columns, rows].
    """
    sums = np.zeros((values.shape[1], size))
    for of_class, column in zip(sums, values.T, strict=True):
        kernels.add_up(places, np.ascontiguousarray(column), np.zeros(len(places), dtype=np.int64), of_class)
    return np.ascontiguousarray(sums.T)

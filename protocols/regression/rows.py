"""A party's own rows as an objective J(w) = lambda / 2 |w|^2 + 1 / n sum L(c_i w.d_i), and sums of its gradients.

Equal rows are stored once, with their count. A row is the indices of its values, so w.d is a sum of k + 1 table
entries, and a sum of gradients is a sum for each value of each column. No matrix of rows and features is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from protocols.arrays import Floats, Numbers
from protocols.regression.features import BITS, ONE, Features
from protocols.regression.losses import Loss
from protocols.release.descent import FINE
from smc.kernels import add_up, look_up

SLOPE_BITS = FINE - BITS  # fractional bits of a slope L'


@dataclass(frozen=True, eq=False)
class RowStream:
    """Rows in `pieces` of bounded size; each call of `pieces` begins a new pass.

    Results are sums of integers, so they do not depend on order and pieces. `total` is the number of rows.
    """

    features: Features
    pieces: Callable[[], Iterator[TrainingRows]]
    total: int

    def slopes(self, loss: Loss, weights: Floats, clip: int) -> Numbers:
        """Return the sum of the clipped gradients of all rows, int64[features] in units of 2^-28.

        Args:
            loss: Loss function of a row.
            weights: Weights at which gradients are computed, float64[features].
            clip: Largest |L'| of a row, in units of 2^-14.
        """
        slopes = np.zeros(self.features.number, dtype=np.int64)
        for rows in self.pieces():
            slopes += rows.slopes(loss, weights, clip)
        return slopes


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Distinct rows: `codes` int64[lines, columns], `signs` float64[lines] of 1 and -1, `counts` int64[lines]."""

    features: Features
    codes: Numbers
    signs: Floats
    counts: Numbers

    @property
    def total(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    def margins(self, weights: Floats) -> Floats:
        """Return c w.d of every line."""
        tables, places = self.features.added(weights), self.features.places
        margins = np.full(len(self.codes), weights[-1] * (self.features.constant / ONE))
        look_up(self._by_column, tables, places, margins)
        return self.signs * margins

    def gathered(self, each: Floats | Numbers) -> NDArray[Any]:
        """Return the sum over lines of `each` times the line's features, [features], in units of 2^-14.

        It is exact for integers whose absolute values add up to less than 2^49.
        """
        tables = np.zeros(self.features.places[-1])
        add_up(self._by_column, each.astype(np.float64), self.features.places, tables)
        return self.features.summed(tables.astype(each.dtype), each.sum())

    @cached_property
    def _by_column(self) -> Numbers:
        """The codes, one column after the other, int64[columns, lines]."""
        return np.ascontiguousarray(self.codes.T)

    def slopes(self, loss: Loss, weights: Floats, clip: int) -> Numbers:
        """Return the sum of all rows' gradients L'(c w.d) c d, int64[features] in units of 2^-28.

        L' is rounded towards zero to multiples of 2^-14 and clipped to `clip` of them; all later arithmetic is on
        integers. So each row's gradient has norm clip 2^14 at most, for any weights. A NaN slope, from weights that are
        not finite, counts as 0: otherwise a row's contribution would be unbounded.

        Args:
            loss: the loss
            weights: the weights, float64[features]
            clip: greatest |L'|, in multiples of 2^-14
        """
        with np.errstate(invalid="ignore", over="ignore"):
            slope = np.trunc(loss.slope(self.margins(weights)) * (1 << SLOPE_BITS))
        slope[np.isnan(slope)] = 0
        bounded = (np.clip(slope, -clip, clip) * self.signs).astype(np.int64) * self.counts
        slopes: Numbers = self.gathered(bounded)
        return slopes

    def objective(self, loss: Loss, regularisation: float, weights: Floats) -> float:
        """Return the objective J: the mean loss of the rows, plus lambda / 2 times the squared norm of the weights.

        Args:
            loss: the loss
            regularisation: lambda
            weights: the weights, float64[features]
        """
        losses = float(self.counts @ loss.value(self.margins(weights))) / max(1, self.total)
        return regularisation / 2 * float(weights @ weights) + losses

    def gradient(self, loss: Loss, regularisation: float, weights: Floats) -> Floats:
        """Return the gradient of J, float64[features].

        Args:
            loss: the loss
            regularisation: lambda
            weights: the weights, float64[features]
        """
        each = loss.slope(self.margins(weights)) * self.signs * self.counts
        return regularisation * weights + self.gathered(each) / ONE / max(1, self.total)

    def curvature(self, loss: Loss, regularisation: float, weights: Floats) -> Floats:
        """Return the second derivatives of J, float64[features, features].

        Args:
            loss: the loss
            regularisation: lambda
            weights: the weights, float64[features]
        """
        each = loss.curvature(self.margins(weights)) * self.counts
        number = self.features.number
        hessian = np.zeros((number, number))
        places, amounts = self._places()
        for row, amount in zip(places, amounts, strict=True):
            for other, other_amount in zip(places, amounts, strict=True):
                cells = np.bincount(
                    row * number + other, weights=each * amount * other_amount, minlength=number * number
                )
                hessian += cells.reshape(number, number)
        return hessian / max(1, self.total) + regularisation * np.eye(number)

    def _places(self) -> tuple[list[Numbers], list[Floats]]:
        """Return for each column, and the intercept, each line's feature index and its value."""
        places, amounts = [], []
        for place, (column, start) in enumerate(zip(self.features.columns, self.features.starts, strict=True)):
            codes = self.codes[:, place]
            places.append(start + (codes if column.numbers is None else np.zeros_like(codes)))
            amounts.append(self.features.amounts[place][codes] / ONE)
        places.append(np.full(len(self.codes), self.features.number - 1))
        amounts.append(np.full(len(self.codes), self.features.unit / ONE))
        return places, amounts


OwnRows: TypeAlias = RowStream | TrainingRows

"""Second moments of rows and their target, and the weights of least squares from noisy moments.

A row is z = (x, y). x is a vector of `features`, of norm 1 at most; y is the target, scaled to [-1, 1] by the public
bounds. A row without a target is left out. Least squares depends on the sum of z z' alone: so this is opened once with
noise, and further results cost nothing (sufficient statistics perturbation: Vu, Slavkovic, ICDM workshops 2009). Its
numbers are the d (d + 1) / 2 of x x', the d of x y, and y^2. The last feature is constant, so the number of rows is
among them.

With noise, the sum of x x' may have an eigenvalue below 0. So a multiple of the identity is added, no more than the
noise requires (Wang, "Revisiting differentially private linear regression", UAI 2018, there with a further noisy
number; here with the pivots of the noisy sum, which is public). All of it is arithmetic on doubles, element by element,
so that both parties compute the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from protocols.arrays import Floats, Numbers
from protocols.counts import Indices
from protocols.regression.features import ONE, Column, Features
from protocols.release.elimination import eliminated

EXACT = 1 << 24  # rows of a piece, up to which a sum of products below 2^28 is exact in floats
DEVIATIONS = 1.96  # of an interval of 95%, for a nearly normal estimate
STEPS = 8  # steps into which the added multiple is divided


@dataclass(frozen=True)
class Moments:
    """Moments of rows with these features and a numeric target; `present` marks target values that are numbers."""

    features: Features
    target: Column
    present: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """Length of the vector z = (x, y)."""
        return self.features.number + 1

    @property
    def numbers(self) -> int:
        """Number of moments."""
        return self.size * (self.size + 1) // 2

    @cached_property
    def targets(self) -> Numbers:
        """Scaled number y of each value of the target, int64[values], in units of 2^-14."""
        assert self.target.numbers is not None
        return np.array([int(ONE * number) for number in self.target.numbers], dtype=np.int64)

    def sums(self, pieces: Iterable[Indices]) -> tuple[Numbers, int]:
        """Return the moments of the rows with a target, int64[numbers] in units of 2^-28, and the number of all rows.

        The result is exact, for any order and pieces.

        Args:
            pieces: int64[lines, columns + 2] each: indices of the columns' values, that of the target, and the line's
                count
        """
        whole, rows = np.zeros((self.size, self.size), dtype=np.int64), 0
        for lines in pieces:
            rows += int(lines[:, -1].sum())
            has_target = self.present[lines[:, -2]]
            z, counts = self._vectors(lines if has_target.all() else lines[has_target])
            if counts.sum() > EXACT:
                integers = z.astype(np.int64)
                whole += (integers * counts) @ integers.T  # slower
            elif (counts == 1).all():
                whole += (z @ z.T).astype(np.int64)  # the library computes only a half
            else:
                whole += ((z * counts) @ z.T).astype(np.int64)
        return whole[np.triu_indices(self.size)], rows

    def _vectors(self, lines: Indices) -> tuple[Floats, Numbers]:
        """Return the vector z = (x, y) of each line, float64[size, lines] in units of 2^-14, and the line's count."""
        z = np.zeros((self.size, len(lines)))
        features = self.features
        for index, (column, start) in enumerate(zip(features.columns, features.starts, strict=True)):
            codes = lines[:, index]
            amounts = features.amounts[index][codes]
            if column.numbers is None:
                z[start + codes, np.arange(len(lines))] = amounts
            else:
                z[start] = amounts
        z[-2] = features.unit
        z[-1] = self.targets[lines[:, -2]]
        return z, lines[:, -1]

    def rows(self, moments: Floats) -> float:
        """Return the estimated number of rows with a target, from noisy moments."""
        return float(self._matrix(moments)[-2, -2]) * (ONE / self.features.unit) ** 2

    def weights(self, moments: Floats, regularisation: float, sigma: float) -> Floats:
        """Return the weights of least sum (w.x - y)^2 / 2 + n lambda / 2 |w|^2, float64[features].

        The matrix of least squares gets a multiple of the identity until no pivot is below the likely greatest
        eigenvalue of the noise, sigma (2 sqrt(d) + 2).

        Args:
            moments: noisy moments
            regularisation: lambda
            sigma: standard deviation of the noise
        """
        right = self._matrix(moments)[:-1, -1:]
        solved = self._solved(moments, regularisation, sigma, right)
        return np.zeros(self.size - 1) if solved is None else solved[:, 0]

    def error(
        self, moments: Floats, weights: Floats, regularisation: float, sigma: float
    ) -> tuple[float, tuple[float, float]]:
        """Return the root mean square of w.x - y over the rows, and a 95% interval for it.

        With z = (w, -1), the noisy moments M + N give z'(M + N)z where the rows give z'Mz. The weights minimise the
        former, so it is too small on average. By Stein's lemma E z'Nz is sigma^2 times the sum of the derivatives of
        z_i z_j by N_ij, -2 sigma^2 (tr H (1 + |w|^2) + w'Hw - sum H_ii w_i^2) for the inverse H of the matrix that w
        solves; this bias is subtracted. The interval has three variances: of z'Nz for a fixed z; of 2 g'Hg with g =
        N_xy - N_xx w, the effect of choosing w; and of the noisy number of rows. It has 95% confidence where these are
        nearly normal.

        Args:
            moments: noisy moments
            weights: result of `weights` for these moments
            regularisation: lambda
            sigma: standard deviation of the noise
        """
        whole, z, size = self._matrix(moments), np.append(weights, -1.0), self.size - 1
        solved = self._solved(moments, regularisation, sigma, np.eye(size))
        inverse = np.zeros((size, size)) if solved is None else solved
        rows, norm = max(self.rows(moments), 1.0), 1.0 + _sum(weights**2)
        squares = _sum(whole * z[:, None] * z)
        crossed = _sum(inverse * weights[:, None] * weights) - _sum(np.diag(inverse) * weights**2)
        squares += 2 * sigma**2 * (_sum(np.diag(inverse)) * norm + crossed)
        mean = max(squares, 0.0) / rows
        by_rows = mean * sigma * (ONE / self.features.unit) ** 2
        variance = sigma**2 * (2 * norm**2 - _sum(z**4)) + 8 * (sigma**2 * norm) ** 2 * _sum(inverse**2) + by_rows**2
        reach = DEVIATIONS * math.sqrt(variance) / rows
        low, high = (math.sqrt(max(squares / rows + end, 0.0)) for end in (-reach, reach))
        return math.sqrt(mean), (low, high)

    def deviations(self, moments: Floats, weights: Floats, regularisation: float, sigma: float) -> Floats:
        """Return the standard deviation that noise gives to each weight, float64[features].

        By the delta method, noise N moves the weights by H (N_xy - N_xx w), H the inverse of the matrix that w solves.
        N is symmetric, so the bracket has the covariance sigma^2 ((1 + |w|^2) I + w w' - diag(w_i^2)).

        Args:
            moments: noisy moments
            weights: result of `weights` for these moments
            regularisation: lambda
            sigma: standard deviation of the noise
        """
        size = self.size - 1
        inverse = self._solved(moments, regularisation, sigma, np.eye(size))
        if inverse is None:
            return np.zeros(size)
        norm = 1.0 + _sum(weights**2)
        variances = [_sum(line**2 * (norm - weights**2)) + _sum(line * weights) ** 2 for line in inverse]
        return sigma * np.sqrt(np.array(variances))

    def _solved(self, moments: Floats, regularisation: float, sigma: float, right: Floats) -> Floats | None:
        """Solve least squares for right sides, float64[features, sides]; None if impossible. See `weights`."""
        matrix = self._matrix(moments)[:-1, :-1]
        noise = sigma * (2 * math.sqrt(len(matrix)) + 2)
        rows = max(self.rows(moments), 1.0)
        for step in range(1 << 16):
            more = (regularisation * rows + step * noise / STEPS) * np.eye(len(matrix))
            if (solved := eliminated(matrix + more, right, noise)) is not None:
                return solved
        return None

    def _matrix(self, moments: Floats) -> Floats:
        upper = np.zeros((self.size, self.size))
        upper[np.triu_indices(self.size)] = moments
        whole: Floats = upper + upper.T - np.diag(np.diag(upper))
        return whole


def _sum(numbers: Floats) -> float:
    return math.fsum(numbers.reshape(-1).tolist())

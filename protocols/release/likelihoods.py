"""Likelihoods of rows with bounded scores: logistic, Poisson, and Cox on public bins of time.

A row has coordinates x, |x_j| <= 1 and |x|^2 <= Q by the schema. At public parameters theta it adds its score
(the gradient of the log-likelihood) and its information (the negative second derivatives, at some `pairs` of
parameters; those of other pairs are 0). Both are bounded for every theta, so noise can hide a row.

**Logistic.** score (y - mu) x, information mu (1 - mu) x x'. Their squared norms are Q and (Q^2 + Q) / 32 at most.

**Hazards.** theta = (a_1 .. a_K, b). In bin k a row with event or end in bin t >= k has the expected number of events
h_k = e^(a_k + x.b). With e = sum of h_k over its bins and d = 1 if it has the event, the score is (d in bin k) - h_k
for a_k, and (d - e) x for b. The information is h_k, h_k x and e x x'. So the estimate of b is that of Cox's partial
likelihood with Breslow's ties, and the inverse of the whole information has Cox's covariance of b in its block
(Holford, Biometrics 1976; Whitehead, Applied Statistics 1980). **Efron**: a row with its event in bin k has (1 - q_k)
h_k there. With d_k events, their share r_k of the sum of the h_k and c = 0, 1 / d_k .. (d_k - 1) / d_k,

    q_k = sum of c / (1 - c r_k) / sum of 1 / (1 - c r_k).

Then the equations of a_k and b are solved by Efron's estimate. q_k follows from the sums of the step before. Efron's
information of b is less by the spread, over the events of a bin, of the weighted means of x (`Cox.observed`). For that,
the hazard of rows with events is summed by bin too, and that times x.
**Poisson** has one bin, e = exposure e^(a + x.b), and y in the place of d.

*Bounded hazards.* A row is followed until e would exceed a public limit L >= 1; the bin of the limit counts in part,
the row's event there too. The part precedes the bin's events, so scores have mean 0 at the true parameters for every L
(the martingale of the stopped process). In Poisson's model e is at most the greatest count L. With sum h_k <= L the
squared norms are at most L^2 (1 + Q) and L^2 (1 + Q + (Q^2 + Q) / 2), with ties L^2 (1 + Q) more. The score is a convex
function of the h_k, so it is longest where one h_k is L and there is no event. (An event in another bin makes it
1 + L^2 + (L - 1)^2 Q, which is not more for Q >= 1.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
STEEPEST = 30.0  # greatest |x.theta|
ENOUGH = 4.0  # standard deviations of noise in an information, or the events of a bin, that is used
TINY = 1e-30
MOST_TIES = 1000  # events of a bin that Efron's sums take one by one; of more, evenly spaced ones
LEAST_SHARE = 1e-6  # of rows with the outcome, for a start


def products(x: Floats, theta: Floats) -> Floats:
    """Return x.theta of each line, float64[lines]: a number that depends on its own line alone, to the last bit.

    A product of matrices may add a line's terms in another order, by the place of the line among the others. A row
    more would then change the terms of other rows, which the noise does not cover.

    Args:
        x: Coordinates, float64[lines, p].
        theta: Parameters, float64[p].
    """
    line = np.zeros(len(x))
    for column, weight in zip(x.T, theta, strict=True):
        line += column * weight
    return line


class Rows(NamedTuple):
    """Distinct rows, one a line: `x` has the coordinates, float64[lines, p], `counts` the numbers of equal rows.

    `y` is the outcome: 1 or 0, or a count in Poisson's model. `time` is the exposure in Poisson's model, and the index
    of the last bin in Cox's.
    """

    x: Floats
    y: Floats
    counts: Integers
    time: Floats


class Point(NamedTuple):
    """Public parameters: `theta` float64[size], whether each is `used`, and Efron's q of each bin (`ties`)."""

    theta: Floats
    used: NDArray[np.bool_]
    ties: Floats


class Reading(NamedTuple):
    """Sums over all rows at a point: the score, the information as a matrix, and the extra numbers (`tied`)."""

    score: Floats
    information: Floats
    tied: Floats


@dataclass(frozen=True)
class Likelihood(ABC):
    """A likelihood of rows with `columns` coordinates, whose squared norm is at most `square`."""

    columns: int
    square: float

    bins = 1  # parameters without a coordinate: an intercept, or the hazard of each bin
    extra = 0  # further numbers of a step
    expected = 1.0  # part of the first step's information of an intercept in the number of its events
    typical = 1.0  # information that a row has at most if it has one event or is one of two classes

    @property
    @abstractmethod
    def per_row(self) -> float:
        """Number of rows (with exposures: their sum) divided by the first intercept's information in the first step."""

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.bins + self.columns

    @cached_property
    def pairs(self) -> tuple[Integers, Integers]:
        """Pairs of parameters whose information is not always 0: those of a bin, of a bin and a column, of columns."""
        bins, rest = np.arange(self.bins), np.arange(self.bins, self.size)
        upper = np.triu_indices(self.columns)
        rows = [bins, np.repeat(bins, self.columns), rest[upper[0]]]
        return np.concatenate(rows), np.concatenate([bins, np.tile(rest, self.bins), rest[upper[1]]])

    @property
    @abstractmethod
    def norms(self) -> tuple[float, float]:
        """Bounds on the squared Euclidean norms of a row's score, and of its information and its extra numbers."""

    @property
    @abstractmethod
    def most(self) -> float:
        """Bound on the absolute value of each number of a row."""

    @abstractmethod
    def start(self) -> Point:
        """Return the parameters of the first step."""

    @abstractmethod
    def terms(self, rows: Rows, point: Point) -> Floats:
        """Return the score, information and extra numbers of each row, float64[lines, numbers].

        Args:
            rows: The rows.
            point: Public parameters; for any of them the numbers keep their bounds.
        """

    @abstractmethod
    def null(self, point: Point, reading: Reading, noise: float) -> tuple[Point, Reading]:
        """Return the model without columns and the sums at it, computed from the sums of the first step.

        Args:
            point: Parameters of the first step.
            reading: Sums of the first step.
            noise: Standard deviation of the noise in a number of events.
        """

    def observed(self, point: Point, reading: Reading) -> Floats:
        """Return the information of the estimate, float64[parameters, parameters].

        Args:
            point: Parameters of the estimate.
            reading: Sums over the rows at these parameters.
        """
        return reading.information

    def following(self, point: Point, reading: Reading, theta: Floats) -> Point:
        """Return the parameters of the next step, with new coefficients.

        Args:
            point: Present parameters.
            reading: Sums over the rows at these parameters.
            theta: New coefficients, float64[parameters].
        """
        return point._replace(theta=theta)


def _products(x: Floats) -> Floats:
    """Return the products of two coordinates, upper triangle, float64[lines, products]."""
    first, second = np.triu_indices(x.shape[1])
    return x[:, first] * x[:, second]


def _crossed(bins: Floats, x: Floats) -> Floats:
    """Return the products of each bin's number and each coordinate, float64[lines, bins * columns]."""
    return (bins[:, :, None] * x[:, None, :]).reshape(len(x), -1)


@dataclass(frozen=True)
class Logistic(Likelihood):
    """Probability 1 / (1 + e^-(a + x.b)) of the outcome."""

    expected = 2.0
    per_row = 4.0
    typical = 0.25

    @property
    @override
    def norms(self) -> tuple[float, float]:
        square = 1 + self.square
        return square, (square**2 + square) / 32

    @property
    @override
    def most(self) -> float:
        return 1.0

    @override
    def start(self) -> Point:
        return Point(np.zeros(self.size), np.ones(self.size, dtype=bool), np.zeros(0))

    @override
    def terms(self, rows: Rows, point: Point) -> Floats:
        line = np.clip(point.theta[0] + products(rows.x, point.theta[1:]), -STEEPEST, STEEPEST)
        mean = 1 / (1 + np.exp(-line))
        residual, weight = (rows.y - mean)[:, None], (mean * (1 - mean))[:, None]
        return np.hstack([residual, residual * rows.x, weight, weight * rows.x, weight * _products(rows.x)])

    @override
    def null(self, point: Point, reading: Reading, noise: float) -> tuple[Point, Reading]:
        rows = max(4 * reading.information[0, 0], 1.0)
        share = min(max(reading.score[0] / rows + 0.5, LEAST_SHARE), 1 - LEAST_SHARE)
        theta = np.append(math.log(share / (1 - share)), np.zeros(self.columns))
        score = reading.score - (share - 0.5) * 4 * reading.information[0]
        return point._replace(theta=theta), Reading(
            score, reading.information * (4 * share * (1 - share)), reading.tied
        )


@dataclass(frozen=True)
class Hazards(Likelihood):
    """Base of models with expected numbers of events, at most `limit` of a row."""

    limit: float = 2.0

    @property
    @override
    def norms(self) -> tuple[float, float]:
        square, most = max(self.square, 1.0), self.limit**2
        return most * (1 + square), most * (1 + square + (square**2 + square) / 2 + bool(self.extra) * (1 + square))

    @property
    @override
    def most(self) -> float:
        return self.limit

    @override
    def null(self, point: Point, reading: Reading, noise: float) -> tuple[Point, Reading]:
        bins = self.bins
        expected = np.diag(reading.information)[:bins]
        events = reading.score[:bins] + expected
        used = (events > ENOUGH * noise) & (expected > ENOUGH * noise) if bins > 1 else np.ones(1, dtype=bool)
        ratio = np.where(used, np.maximum(events, 1.0) / np.maximum(expected, 1.0), 0.0)
        whole = (ratio * expected).sum() / max(expected.sum(), 1.0)
        scales = np.append(ratio, np.full(self.columns, whole))
        information = reading.information.copy()
        cross = information[:bins, bins:].copy()
        information[:bins, bins:] *= ratio[:, None]
        information[bins:, :bins] *= ratio
        information[np.diag_indices(bins)] *= ratio
        information[bins:, bins:] *= whole
        score = reading.score.copy()
        score[:bins] = 0.0
        score[bins:] += ((1 - ratio)[:, None] * cross).sum(axis=0)
        theta = point.theta + np.log(np.where(scales > 0, scales, 1.0)) * (np.arange(self.size) < bins)
        every = np.append(used, np.ones(self.columns, dtype=bool))
        return Point(theta, every, point.ties), Reading(score, information, reading.tied)


@dataclass(frozen=True)
class Poisson(Hazards):
    """Counts up to `limit`, whose mean is the exposure times e^(a + x.b); exposures are at most `longest`."""

    longest: float = 1.0

    @property
    @override
    def per_row(self) -> float:
        return self.longest / self.limit

    @override
    def start(self) -> Point:
        theta = np.append(math.log(self.limit / self.longest), np.zeros(self.columns))
        return Point(theta, np.ones(self.size, dtype=bool), np.zeros(0))

    @override
    def terms(self, rows: Rows, point: Point) -> Floats:
        line = np.clip(point.theta[0] + products(rows.x, point.theta[1:]), -STEEPEST, STEEPEST)
        mean = np.minimum(rows.time * np.exp(line), self.limit)[:, None]
        residual = rows.y[:, None] - mean
        return np.hstack([residual, residual * rows.x, mean, mean * rows.x, mean * _products(rows.x)])


@dataclass(frozen=True)
class Cox(Hazards):
    """Proportional hazards on `steps` bins of time. Events of a bin are ties, by Efron's method or, if not `efron`, by
    Breslow's."""

    steps: int = 1
    efron: bool = True

    @property
    def bins(self) -> int:  # type: ignore[override]
        """Number of bins."""
        return self.steps

    @property
    @override
    def per_row(self) -> float:
        return self.bins / self.limit

    @property
    def extra(self) -> int:  # type: ignore[override]
        """Numbers of Efron's ties: the hazard of the rows with events in each bin, and that times each coordinate."""
        return self.steps * (1 + self.columns) if self.efron else 0

    @override
    def start(self) -> Point:
        theta = np.append(np.full(self.bins, math.log(self.limit / self.bins)), np.zeros(self.columns))
        return Point(theta, np.ones(self.size, dtype=bool), np.zeros(self.bins))

    @override
    def terms(self, rows: Rows, point: Point) -> Floats:
        bins, lines = self.bins, np.arange(len(rows.x))
        line = np.clip(products(rows.x, point.theta[bins:]), -STEEPEST, STEEPEST)
        used = point.used[:bins]
        hazard = np.exp(np.clip(line[:, None] + point.theta[:bins], -2 * STEEPEST, STEEPEST)) * used
        end = rows.time.astype(np.int64)
        before = np.cumsum(np.hstack([np.zeros((len(hazard), 1)), hazard[:, :-1]]), axis=1)
        room = self.limit - before
        followed = np.clip(room / np.maximum(hazard, TINY), 0.0, 1.0) * ((np.arange(bins) <= end[:, None]) & used)
        events = np.zeros(hazard.shape)
        events[lines, end] = rows.y * followed[lines, end]
        tied = events * hazard
        hazard = hazard * followed - point.ties * tied
        whole = hazard.sum(axis=1)[:, None]
        residual = events.sum(axis=1)[:, None] - whole
        parts = [events - hazard, residual * rows.x, hazard, _crossed(hazard, rows.x), whole * _products(rows.x)]
        return np.hstack([*parts, tied, _crossed(tied, rows.x)] if self.efron else parts)

    @override
    def following(self, point: Point, reading: Reading, theta: Floats) -> Point:
        if not self.efron:
            return point._replace(theta=theta)
        return Point(theta, point.used, np.array([(c * w).sum() / w.sum() for _, c, w in self._ties(point, reading)]))

    @override
    def observed(self, point: Point, reading: Reading) -> Floats:
        """Return Efron's information: events of a bin are weighted by means that differ from event to event."""
        if not self.efron:
            return reading.information
        bins = self.bins
        information = reading.information.copy()
        tied = reading.tied[bins:].reshape(bins, -1)
        all_rows = information[:bins, bins:] + point.ties[:, None] * tied
        hazards = np.diag(information)[:bins] + point.ties * reading.tied[:bins]
        for k, (events, c, weights) in enumerate(self._ties(point, reading)):
            if point.used[k]:
                means = (all_rows[k] - c[:, None] * tied[k]) * (weights / max(hazards[k], TINY))[:, None]
                apart = means - means.sum(axis=0) / len(c)
                information[bins:, bins:] -= (apart[:, :, None] * apart[:, None, :]).sum(axis=0) * (events / len(c))
        return information

    def _ties(self, point: Point, reading: Reading) -> list[tuple[float, Floats, Floats]]:
        """Return for each bin the number d of events, c = 0 .. (d - 1) / d, and 1 / (1 - c r); all may have noise."""
        expected = np.diag(reading.information)[: self.bins]
        ties = []
        for k in range(self.bins):
            events = max(float(round(expected[k] + reading.score[k])), 1.0)
            hazard = max(expected[k] + point.ties[k] * reading.tied[k], TINY)
            c = np.arange(steps := min(int(events), MOST_TIES)) / steps
            ties.append((events, c, 1 / (1 - c * min(max(reading.tied[k] / hazard, 0.0), 1.0))))
        return ties

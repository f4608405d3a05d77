"""Maximum likelihood by Newton's steps (Fisher's scoring) on noisy sums at public parameters.

Ideal functionality. Public: a likelihood (`protocols.release.likelihoods`), T steps, the law of noise. In each step
both parties know the parameters. Each enters the sums over its own rows of score and information at them. Both learn
the sums over both tables, each number with independent discrete Gaussian noise, and compute the next parameters.
Leakage: the public settings. No exact sum is opened, and neither party knows the noise (`protocols.release.numbers`).

Privacy. A row adds a vector of norm at most sqrt(S + w^2 I), for the bounds S and I on the squared norms of its score
and its information, and the public weight w of information. Each row's numbers are rounded to multiples of 2^-26, and
each party's sums to multiples of 2^-20 or coarser ones. `Scoring.squared` counts both. Each step is
D^2 / (2 sigma^2)-zCDP.

Estimate. The first step is at parameters without a look at rows; from its sums follows the model without columns, and
a step from there. Let H_s and g_s be information and score, with noise, at theta_s, for the m last steps, from the
third on, that agree but for noise. Every later theta, and the estimate, is

    theta = (sum H_s)^-1 sum (H_s theta_s + g_s),

so the noise of later steps averages out, and none is wasted. With the true parameters t and V = (sum H_s / m)^-1,

    theta - t = V (score at t + mean of noise of g_s + mean of (noise of H_s) (theta_s - theta)) + O(|theta_s - t|^2),

so its covariance is V (V^-1 + (sigma_g^2 + sigma_H^2 mean |theta_s - theta|^2) / m) V, which counts rows as a sample
and the noise (`Estimate.covariance`). Parameters are rounded to multiples of 2^-24, so that both parties continue from
equal ones.

Cost: T times the numbers of a step as noisy sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from protocols.release.elimination import eliminated
from protocols.release.likelihoods import Floats, Integers, Likelihood, Point, Reading, Rows

FINE, COARSE, GRID = 26, 20, 24  # fraction bits: of a row's numbers, at most of sums, of parameters
SHARE = 0.4  # of the squared sensitivity that is the information's
LONGEST = 8.0  # greatest sum of the absolute changes of coefficients in a step
PIECE = 1 << 22  # numbers of rows that are computed at once
START = 2  # steps that find a start
SURE = 3.0  # standard deviations

Sums: TypeAlias = tuple[int, ...]  # opened numbers of a step


@dataclass(frozen=True)
class Estimate:
    """Estimated parameters, with their covariance unless the noise is too great.

    Attributes:
        theta: The parameters, float64[size].
        covariance: Their covariance, float64[size, size]; None if the noise is too great.
        used: Whether each parameter counts.
        is_settled: Whether the steps agree but for noise.
        drowned: Coordinates whose information is not above its noise; only without covariance.
        weight: Information of the intercepts; only without covariance.
        rows: Number of rows (or sum of exposures), and the standard deviation of its noise.
        events: Number of events, and the standard deviation of its noise.
    """

    theta: Floats
    covariance: Floats | None
    used: NDArray[np.bool_]
    is_settled: bool
    drowned: tuple[int, ...] = ()
    weight: float = 0.0
    rows: tuple[float, float] = (0.0, 0.0)
    events: tuple[float, float] = (0.0, 0.0)


def rounding(rows: int) -> float:
    """Return the standard deviation that rounding gives to a sum of both parties' rows, in units of 2^-20."""
    return math.sqrt((2 + rows / 4 ** (FINE - COARSE)) / 12)


@dataclass(frozen=True)
class Scoring:
    """Public settings, equal at both parties.

    `sigma` is the standard deviation of a number by noise or rounding, in units of 2^-`fraction`.
    """

    likelihood: Likelihood
    sigma: float = 0.0
    fraction: int = COARSE

    @property
    def numbers(self) -> int:
        """Number of integers that a step opens."""
        return self.likelihood.size + len(self.likelihood.pairs[0]) + self.likelihood.extra

    @cached_property
    def weight(self) -> float:
        """Weight of information and extra numbers beside the score."""
        score, information = self.likelihood.norms
        return round(math.sqrt(SHARE / (1 - SHARE) * score / information) * 1024) / 1024 or 1 / 1024

    def squared(self, rows: int, replaced: bool) -> int:
        """Return a bound on the squared Euclidean norm of the change of all integers of a step by one person.

        Args:
            rows: Rows per person that are used.
            replaced: Whether neighbouring tables may differ by a replaced row.
        """
        score, information = self.likelihood.norms
        row = math.sqrt((score + self.weight**2 * information) * (1 + 1e-6)) + math.sqrt(self.numbers) / (1 << FINE)
        change = rows * (2 if replaced else 1) * row * (1 << self.fraction) + math.sqrt(self.numbers)
        return math.ceil(change**2) + 1

    def bound(self, max_rows: int) -> int:
        """Return a bound on the absolute value of one party's integer."""
        most = self.likelihood.most * max(1.0, self.weight * self.likelihood.most) + 1
        return math.ceil(max_rows * most * (1 << self.fraction))

    @property
    def noise(self) -> tuple[float, float]:
        """Standard deviations of the noise of a score and of an information."""
        score = self.sigma / (1 << self.fraction)
        return score, score / self.weight

    def least(self, steps: int) -> float:
        """Return the least information at which a coefficient is estimated, after some steps.

        It is at least 4 standard deviations of the noise in this information.

        Args:
            steps: Number of steps of the run.
        """
        return self.noise[1] * (2 * math.sqrt(self.likelihood.columns) + 2) / math.sqrt(steps - START)

    def noise_error(self, information: float, steps: int) -> float:
        """Return the least standard error that noise alone gives to a coefficient.

        Args:
            information: Information of the coefficient.
            steps: Number of steps.
        """
        return self.noise[0] / math.sqrt(steps - START) / information

    @property
    def weights(self) -> Floats:
        """Weight of each number of a step, float64[numbers]."""
        return np.where(np.arange(self.numbers) < self.likelihood.size, 1.0, self.weight)

    def sums(self, pieces: Iterable[Rows], point: Point) -> Integers:
        """Return a party's integers of a step, int64[numbers], which do not depend on the order of the rows.

        Args:
            pieces: The party's rows.
            point: Public parameters.
        """
        whole = np.zeros(self.numbers, dtype=np.int64)
        size = max(1, PIECE // self.numbers)
        for rows in pieces:
            for start in range(0, len(rows.x), size):
                part = slice(start, start + size)
                some = Rows(rows.x[part], rows.y[part], rows.counts[part], rows.time[part])
                scaled = self.likelihood.terms(some, point) * (self.weights * (1 << FINE))
                whole += some.counts @ np.rint(scaled).astype(np.int64)
        shift = FINE - self.fraction
        return (whole + (1 << (shift - 1))) >> shift

    def estimate(self, opened: Sequence[Sums]) -> Estimate:
        """Return the estimate after all steps."""
        walk = Walk(self)
        for sums in opened:
            walk.take(sums)
        return walk.estimate()


class Walk:
    """Public parameters that follow from the opened sums, step by step; `point` are the next step's."""

    def __init__(self, problem: Scoring) -> None:
        self.point = problem.likelihood.start()
        self.taken = 0
        self._problem = problem
        self._steps: list[tuple[Floats, Reading]] = []  # from the third one on

    def take(self, sums: Sums) -> None:
        """Move the parameters by the step that follows from opened sums.

        Args:
            sums: Opened sums at the present parameters.
        """
        likelihood, reading = self._problem.likelihood, self._read(sums)
        if self.taken == 0:
            events = math.hypot(*self._problem.noise)
            self._count(reading)
            self.point, reading = likelihood.null(self.point, reading, events)
        before = self._steps if self.taken > START else []
        self._steps = [(self.point.theta, reading)]
        moved = self._moved()
        while before and self._agrees(before[-1], moved):
            self._steps.insert(0, before[-1])
            before = before[:-1]
            moved = self._moved()
        self.taken += 1
        self.point = likelihood.following(self.point, reading, np.rint(moved * (1 << GRID)) / (1 << GRID))

    def _count(self, reading: Reading) -> None:
        """Keep the numbers of rows and events that follow from the first step."""
        likelihood, (score, information) = self._problem.likelihood, self._problem.noise
        bins, per_row, expected = likelihood.bins, likelihood.per_row, likelihood.expected
        hazards = np.diag(reading.information)[:bins]
        self._rows = float(hazards[0]) * per_row, information * per_row
        events = math.fsum((reading.score[:bins] + expected * hazards).tolist())
        self._events = events, math.hypot(score, expected * information) * math.sqrt(bins)

    def _drowned(self, information: Floats) -> tuple[int, ...]:
        """Return coordinates whose information, given the intercepts alone, is not above its noise; else all."""
        bins = int(self.point.used[: self._problem.likelihood.bins].sum())
        hazards, cross = np.diag(information)[:bins], information[:bins, bins:]
        alone = np.diag(information)[bins:] - (cross**2 / np.maximum(hazards, 1e-9)[:, None]).sum(axis=0)
        low = np.flatnonzero(alone <= self._floor[bins:] / len(self._steps))
        return tuple(low.tolist()) or tuple(range(len(alone)))

    def _moved(self) -> Floats:
        """Return the parameters that follow from the steps, not too far from the present ones."""
        used, bins = self.point.used, self._problem.likelihood.bins
        matrix, right = self._pooled()
        step = _solve(matrix, right - (matrix * self.point.theta[used]).sum(axis=1), self._floor, forced=True)
        assert step is not None
        longest = max(float(np.abs(step[used[:bins].sum() :]).sum()), float(np.abs(step).max(initial=0.0)))
        moved = self.point.theta.copy()
        moved[used] += step * min(1.0, LONGEST / max(longest, 1e-9))
        return moved

    def _agrees(self, step: tuple[Floats, Reading], theta: Floats) -> bool:
        """Return whether the sums of a step have the score 0 at `theta`, but for noise."""
        used = self.point.used
        gap = step[1].score[used] - (step[1].information[np.ix_(used, used)] * (theta - step[0])[used]).sum(axis=1)
        degrees = len(gap)
        variance = self._variance(theta, step[0]) * (1 + 1 / len(self._steps))
        return float((gap**2).sum()) <= variance * (degrees + SURE * math.sqrt(2 * degrees))

    def _variance(self, theta: Floats, at: Floats) -> float:
        """Return the variance that noise gives to a number of the score at `theta` that follows from sums at `at`."""
        score, information = self._problem.noise
        return float(score**2 + information**2 * ((theta - at)[self.point.used] ** 2).sum())

    def estimate(self) -> Estimate:
        """Return the estimate from the steps so far."""
        used, steps, theta = self.point.used, len(self._steps), self.point.theta
        mean = Reading(*(sum(parts) / steps for parts in zip(*(r for _, r in self._steps), strict=True)))
        information = self._problem.likelihood.observed(self.point, mean)[np.ix_(used, used)]
        inverse = _solve(information, np.eye(len(information)), self._floor / steps)
        if inverse is None:
            bins = int(used[: self._problem.likelihood.bins].sum())
            weight = math.fsum(np.diag(information)[:bins].tolist())
            return Estimate(theta, None, used, False, self._drowned(information), weight, self._rows, self._events)
        noise = sum(self._variance(theta, at) for at, _ in self._steps) / steps**2
        covariance = np.zeros((len(theta), len(theta)))
        covariance[np.ix_(used, used)] = inverse + noise * np.array([(inverse * line).sum(axis=1) for line in inverse])
        return Estimate(theta, covariance, used, steps > 1, rows=self._rows, events=self._events)

    @property
    def _floor(self) -> Floats:
        """Least pivots of pooled information; for columns, the likely greatest eigenvalue of the noise.

        Bins have passed a test of their events. Their information has no noise beside the diagonal.
        """
        likelihood = self._problem.likelihood
        times = np.where(np.arange(likelihood.size) < likelihood.bins, 2.0, 2 * math.sqrt(likelihood.columns) + 2)
        return self._problem.noise[1] * math.sqrt(len(self._steps)) * times[self.point.used]

    def _pooled(self) -> tuple[Floats, Floats]:
        """Return the sums of H and of H theta + g over the steps, for the used parameters."""
        used = self.point.used
        matrix = np.array([reading.information for _, reading in self._steps]).sum(axis=0)
        right = sum(r.score + (r.information * (theta * used)).sum(axis=1) for theta, r in self._steps)
        return matrix[np.ix_(used, used)], np.asarray(right)[used]

    def _read(self, sums: Sums) -> Reading:
        """Return the sums of a step as a score and a matrix."""
        likelihood, problem = self._problem.likelihood, self._problem
        numbers = np.array(sums, dtype=np.float64) / (1 << problem.fraction) / problem.weights
        rows, columns = likelihood.pairs
        information = np.zeros((likelihood.size, likelihood.size))
        score, upper, tied = np.split(numbers, [likelihood.size, likelihood.size + len(rows)])
        information[rows, columns] = upper
        information[columns, rows] = upper
        return Reading(score, information, tied)


def _solve(matrix: Floats, right: Floats, least: Floats, forced: bool = False) -> Floats | None:
    """Solve a system whose pivots are above `least`; if forced, enlarge the diagonal until they are."""
    sides = right if right.ndim == 2 else right[:, None]
    for step in range(1 << 12):
        solved = eliminated(matrix + np.diag(step**2 / 8 * np.maximum(least, 1e-6)), sides, least)
        if solved is not None or not forced:
            return None if solved is None else solved.reshape(right.shape)
    return np.zeros(right.shape)

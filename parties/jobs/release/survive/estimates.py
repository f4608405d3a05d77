"""Estimates from noisy counts of arms, events and bins: curves, medians, means and the log-rank test.

Every estimate is a smooth function f of an arm's counts x, float[2, bins], censored rows first. Chance adds an error
with variance about x, and the noise an independent one with variance s^2. So by the delta method

    variance of f = sum over cells of (x + s^2) (df / dx)^2

For a Kaplan-Meier curve of binned times and s = 0 that is Greenwood's formula. Intervals are those of a normal law for
the logarithm of survival. Counts are first made nonnegative (`postprocessing.consistent`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from parties.jobs.release.noise import WIDE
from protocols.arrays import Floats
from protocols.quantiles import chi2_tail

FAR = 3  # an open last bin is more than 3 times as wide as any other


@dataclass(frozen=True)
class Curve:
    """Survival of an arm after each bin, with its interval; rows at risk and events of the bins."""

    at_risk: Floats
    events: Floats
    survival: Floats
    low: Floats
    high: Floats
    gradient: Floats  # gradient of survival, [bins, 2, bins]
    variances: Floats  # variances of the cells, [2, bins]

    def mean(self, lengths: Floats) -> tuple[float, float, float, float]:
        """Return the mean time up to the end of the last bin, its standard deviation, and its lower and upper bound.

        Events are assumed to be spread over their bin. The lower bound has them all at its beginning, the upper at its
        end.
        """
        weights = (lengths + np.append(lengths[1:], 0)) / 2
        of_cells = np.tensordot(weights, self.gradient, axes=1)
        variance = float((self.variances * of_cells**2).sum())
        return (
            float(lengths[0] / 2 + weights @ self.survival),
            math.sqrt(variance),
            float(lengths @ self.survival),
            float(lengths @ np.append(1, self.survival[:-1])),
        )


def curve(counts: Floats, noise_variance: float) -> Curve:
    """Return the Kaplan-Meier curve of an arm: S_b = product of 1 - d_j / n_j over the bins up to b.

    Args:
        counts: Counts of the arm, float[2, bins], censored rows first.
        noise_variance: Variance of each count's noise.
    """
    events = counts[1]
    at_risk = counts.sum(axis=0)[::-1].cumsum()[::-1]
    at_risk_exists = at_risk > 0
    hazard = np.divide(events, at_risk, out=np.zeros_like(events), where=at_risk_exists)
    survival = np.cumprod(1 - hazard)
    by_risk, by_left = 1 / np.maximum(at_risk, 1), 1 / np.maximum(at_risk - events, 0.5)
    steps = np.cumsum(by_left - by_risk)
    bins = np.arange(len(events))
    upto = steps[np.minimum.outer(bins, bins)]  # derivative of log S_b by a row censored in bin k
    gradient = np.stack([upto, upto - by_left * (bins[None, :] <= bins[:, None])], axis=1)
    variances = counts + noise_variance
    spread = WIDE * np.sqrt((variances * gradient**2).sum(axis=(1, 2)))
    positive = np.cumprod(np.maximum(1 - hazard, by_risk / 2))  # above 0, for the interval if no row survives
    low = np.where(at_risk_exists, np.where(survival > 0, survival * np.exp(-spread), 0), 0)
    high = np.minimum(positive * np.exp(spread), 1)
    last = np.minimum.accumulate(np.where(at_risk_exists, high, 1))
    return Curve(at_risk, events, survival, low, last, gradient * survival[:, None, None], variances)


def is_open(edges: Floats) -> bool:
    """Return whether the last bin is far wider than any other: times within it are unknown then."""
    lengths = np.diff(edges)
    return len(lengths) > 1 and bool(lengths[-1] > FAR * lengths[:-1].max())


def median(curve: Curve, edges: Floats) -> tuple[float, float | None, float | None, float | None]:
    """Return the ends of the bin in which survival falls to a half, and the interval of that time; None for later
    than all.

    Only the bin is known: the first number and the lower end are beginnings of bins, the other two are ends. In an open
    last bin the time is after the bin's beginning, without an end.

    Args:
        curve: Curve of the arm.
        edges: Edges of the bins.
    """
    ends = edges[:-1] if is_open(edges) else edges

    def first(survival: Floats, end: int = 1) -> float | None:
        places = np.flatnonzero(survival <= 0.5) + end
        return float(ends[places[0]]) if places.size and places[0] < len(ends) else None

    after = first(curve.survival, 0)
    return (
        float(ends[-1]) if after is None else after,
        first(curve.survival), first(curve.low, 0), first(curve.high),
    )  # fmt: skip


def log_rank(counts: Floats, noise_variance: float) -> tuple[float, float]:
    """Return chi-square of the log-rank test of all arms, and its p-value; both account for the noise.

    With U_g = sum_b d_gb - n_gb d_b / n_b and its covariance V (Mantel) the statistic is U' (V + s^2 G G')^-1 U, with G
    the derivatives of U by the cells.

    Args:
        counts: Counts, float[arms, 2, bins], censored rows first.
        noise_variance: Variance of each count's noise.
    """
    arms, bins = counts.shape[0], counts.shape[2]
    risk = counts.sum(axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]
    events, at_risk = counts[:, 1].sum(axis=0), np.maximum(risk.sum(axis=0), 1e-9)
    share, hazard = risk / at_risk, events / at_risk
    u = (counts[:, 1] - share * events).sum(axis=1)
    weights = events * np.clip((at_risk - events) / np.maximum(at_risk - 1, 1), 0, 1)
    covariance = np.diag(share @ weights) - (share * weights) @ share.T
    of_cells = np.zeros((arms, arms, 2, bins))  # derivatives of U_g by the cells of arm h
    for g in range(arms):
        for h in range(arms):
            expected = np.cumsum(hazard * ((g == h) - share[g]))  # derivative by one more row at risk up to a bin
            of_cells[g, h] = -expected
            of_cells[g, h, 1] += (g == h) - share[g]
    flat = of_cells.reshape(arms, -1)
    whole = (covariance + noise_variance * flat @ flat.T)[1:, 1:]
    if not np.any(covariance[1:, 1:]):
        return 0.0, 1.0
    statistic = max(0.0, float(u[1:] @ np.linalg.pinv(whole) @ u[1:]))
    return statistic, chi2_tail(statistic, arms - 1)

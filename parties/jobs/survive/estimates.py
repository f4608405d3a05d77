"""What follows from noisy counts of arms, events and bins: curves, medians, means and the log-rank test.

Every estimate is a smooth function f of the cells' counts x, float[2, bins] of an arm, censored rows first. A count
is off by chance, with a variance of about x, and by the noise, with its variance s^2, independently. So by the delta
method

    variance of f = sum over cells of (x + s^2) (df / dx)^2

For a Kaplan-Meier curve of binned times and s = 0 that is Greenwood's formula. Intervals are those of a normal law, of
the logarithm of survival. Counts are first made fit: from 0 up (`postprocessing.consistent`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from parties.base.arrays import Floats
from parties.jobs.release.tails import WIDE
from protocols.quantiles import chi2_tail

FAR = 3  # times as wide as any other: a last bin that is open


@dataclass(frozen=True)
class Curve:
    """Survival after each bin of an arm, with its interval; rows at risk and events of the bins."""

    at_risk: Floats
    events: Floats
    survival: Floats
    low: Floats
    high: Floats
    gradient: Floats  # of survival, [bins, 2, bins]
    variances: Floats  # of the cells, [2, bins]

    def mean(self, lengths: Floats) -> tuple[float, float, float, float]:
        """Return the mean time up to the end of the last bin, its standard deviation, the least and the most it can be.

        Events in a bin are spread over it; the least has them all at its beginning, the most at its end.
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
    """Return the Kaplan-Meier curve of an arm: S_b = product of 1 - d_j / n_j over the bins up to b."""
    events = counts[1]
    at_risk = counts.sum(axis=0)[::-1].cumsum()[::-1]
    known = at_risk > 0
    hazard = np.divide(events, at_risk, out=np.zeros_like(events), where=known)
    survival = np.cumprod(1 - hazard)
    by_risk, by_left = 1 / np.maximum(at_risk, 1), 1 / np.maximum(at_risk - events, 0.5)
    steps = np.cumsum(by_left - by_risk)
    bins = np.arange(len(events))
    upto = steps[np.minimum.outer(bins, bins)]  # of log S_b by a row censored in bin k
    gradient = np.stack([upto, upto - by_left * (bins[None, :] <= bins[:, None])], axis=1)
    variances = counts + noise_variance
    spread = WIDE * np.sqrt((variances * gradient**2).sum(axis=(1, 2)))
    positive = np.cumprod(np.maximum(1 - hazard, by_risk / 2))  # above 0, for an interval where none is left
    low = np.where(known, np.where(survival > 0, survival * np.exp(-spread), 0), 0)
    high = np.minimum(positive * np.exp(spread), 1)
    last = np.minimum.accumulate(np.where(known, high, 1))
    return Curve(at_risk, events, survival, low, last, gradient * survival[:, None, None], variances)


def is_open(edges: Floats) -> bool:
    """Return whether the last bin is far wider than any other: where in it times are is not known."""
    lengths = np.diff(edges)
    return len(lengths) > 1 and bool(lengths[-1] > FAR * lengths[:-1].max())


def median(curve: Curve, edges: Floats) -> tuple[float, float | None, float | None, float | None]:
    """Return after and by when survival falls to a half, and the interval of that; None for later than all.

    In which bin it does is known, and no more: the second number and the upper end are ends of bins, the others are
    beginnings. In an open last bin it is later than all, after the bin's beginning.
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
    """Return chi-square of the log-rank test of all arms, float[arms, 2, bins], and its p-value: both count the noise.

    With U_g = sum_b d_gb - n_gb d_b / n_b and its covariance V (Mantel) the statistic is U' (V + s^2 G G')^-1 U, G the
    derivatives of U by the cells.
    """
    arms, bins = counts.shape[0], counts.shape[2]
    risk = counts.sum(axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]
    events, at_risk = counts[:, 1].sum(axis=0), np.maximum(risk.sum(axis=0), 1e-9)
    share, hazard = risk / at_risk, events / at_risk
    u = (counts[:, 1] - share * events).sum(axis=1)
    weights = events * np.clip((at_risk - events) / np.maximum(at_risk - 1, 1), 0, 1)
    covariance = np.diag(share @ weights) - (share * weights) @ share.T
    of_cells = np.zeros((arms, arms, 2, bins))  # of U_g by the cells of arm h
    for g in range(arms):
        for h in range(arms):
            expected = np.cumsum(hazard * ((g == h) - share[g]))  # by a row more at risk up to a bin
            of_cells[g, h] = -expected
            of_cells[g, h, 1] += (g == h) - share[g]
    flat = of_cells.reshape(arms, -1)
    whole = (covariance + noise_variance * flat @ flat.T)[1:, 1:]
    if not np.any(covariance[1:, 1:]):
        return 0.0, 1.0
    statistic = max(0.0, float(u[1:] @ np.linalg.pinv(whole) @ u[1:]))
    return statistic, chi2_tail(statistic, arms - 1)

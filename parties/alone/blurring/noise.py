"""Value distortion: a number is published with noise added, or as the middle of its cell.

Source: R. Agrawal, R. Srikant, "Privacy-preserving data mining", SIGMOD 2000. Its metric: if the true value lies in an
interval of width d with confidence c, d is the privacy at confidence c. Here d is a share of the range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from typing_extensions import override

from protocols.arrays import Floats
from smc.errors import InputError

NoiseKind: TypeAlias = Literal["uniform", "gaussian", "cells"]

LARGEST = 1e100  # greatest absolute value, so that squares do not overflow
LEAST, MOST = (
    1e-6,
    1e6,
)  # bounds of noise as a share of the range: beyond, all or nothing is hidden, or there are too many cells

_erf = np.frompyfunc(math.erf, 1, 1)


class Noise(Protocol):
    """A method of blurring numbers.

    `settled` is the stopping threshold of the reconstruction: the change of a round as a share of the chi-square
    threshold. It is 1% (Agrawal, Srikant) for noise so smooth that fine detail is lost, where more rounds only fit
    noise (J. Fan, Annals of Statistics 1991). It is 0.1% for noise with edges, where more rounds find more detail.
    """

    settled: ClassVar[float]

    def width(self, confidence: float) -> float:
        """Return the width of the narrowest interval that holds the true value with this confidence."""

    def blur(self, values: Floats, rng: np.random.Generator) -> Floats:
        """Return the values with noise, float64[rows].

        Args:
            values: True values, float64[rows], within the range of the plan.
            rng: Random generator of the noise.
        """

    def below(self, bounds: Floats, lower: Floats, upper: Floats) -> Floats:
        """Return P(published <= bound | true value uniform in [lower, upper]), float64[bounds, intervals].

        An interval may be a point.

        Args:
            bounds: bounds of the published value, float64[bounds]
            lower: lower ends of the intervals, float64[intervals]
            upper: upper ends of the intervals, float64[intervals]
        """

    def reach(self) -> float:
        """Return the distance outside the range within which nearly all published values lie."""


@dataclass(frozen=True)
class Uniform(Noise):
    """Noise uniform in [-alpha, alpha]."""

    alpha: float
    settled: ClassVar[float] = 0.001

    @override
    def width(self, confidence: float) -> float:
        """Return 2 alpha times the confidence."""
        return 2 * self.alpha * confidence

    @override
    def blur(self, values: Floats, rng: np.random.Generator) -> Floats:
        return values + rng.uniform(-self.alpha, self.alpha, len(values))

    @override
    def below(self, bounds: Floats, lower: Floats, upper: Floats) -> Floats:
        def law(t: Floats) -> Floats:
            return np.asarray(np.clip((t + self.alpha) / (2 * self.alpha), 0, 1))

        def integral(t: Floats) -> Floats:
            inside = np.clip(t + self.alpha, 0, 2 * self.alpha)
            return np.asarray(inside**2 / (4 * self.alpha) + np.maximum(t - self.alpha, 0))

        return _averaged(law, integral, bounds, lower, upper)

    @override
    def reach(self) -> float:
        """Return alpha, half the width of the noise."""
        return self.alpha


@dataclass(frozen=True)
class Gaussian(Noise):
    """Noise with mean 0 and standard deviation sigma."""

    sigma: float
    settled: ClassVar[float] = 0.01

    @override
    def width(self, confidence: float) -> float:
        """Return 1.349, 3.920, 6.581 sigma at 50, 95, 99.9%."""
        return 2 * NormalDist().inv_cdf((1 + confidence) / 2) * self.sigma

    @override
    def blur(self, values: Floats, rng: np.random.Generator) -> Floats:
        return values + rng.normal(0, self.sigma, len(values))

    @override
    def below(self, bounds: Floats, lower: Floats, upper: Floats) -> Floats:
        def law(t: Floats) -> Floats:
            return _normal(t / self.sigma)

        def integral(t: Floats) -> Floats:
            z = t / self.sigma
            return np.asarray(t * _normal(z) + self.sigma * np.exp(-z * z / 2) / math.sqrt(2 * math.pi))

        return _averaged(law, integral, bounds, lower, upper)

    @override
    def reach(self) -> float:
        """Return four sigma. One value in 16,000 lies farther outside, and is counted in the outermost bin."""
        return 4 * self.sigma


@dataclass(frozen=True)
class Cells(Noise):
    """Rounding to the middle of a cell of this size, counted from `low`; the last cell ends at `high`."""

    size: float
    low: float
    high: float
    settled: ClassVar[float] = 0.001

    @override
    def width(self, confidence: float) -> float:
        """Return the cell's width times the confidence, as the true value is uniform in the cell."""
        return self.size * confidence

    def edges(self) -> Floats:
        """Return the boundaries of the cells, float64[cells + 1]."""
        number = max(1, math.ceil((self.high - self.low) / self.size - 1e-9))
        return np.minimum(self.low + self.size * np.arange(number + 1), self.high)

    @override
    def blur(self, values: Floats, rng: np.random.Generator) -> Floats:
        """Return the middles of the values' cells; no randomness is used."""
        edges = self.edges()
        cells = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
        return np.asarray((edges[cells] + edges[cells + 1]) / 2)

    @override
    def below(self, bounds: Floats, lower: Floats, upper: Floats) -> Floats:
        """Return the share of each interval that lies in cells whose middle is at most the bound."""
        edges = self.edges()
        middles = (edges[1:] + edges[:-1]) / 2
        ends = np.where(bounds >= middles[-1], np.inf, edges[np.searchsorted(middles, bounds, side="right")])[:, None]
        width = upper - lower
        share = (ends - lower) / np.where(width > 0, width, 1)
        return np.asarray(np.where(width > 0, np.clip(share, 0, 1), ends > lower))

    @override
    def reach(self) -> float:
        """Return 0: middles lie within the range."""
        return 0.0


def at_privacy(kind: NoiseKind, privacy: float, low: float, high: float, confidence: float = 0.95) -> Noise:
    """Return the noise whose interval at this confidence is as wide as `privacy` times the range.

    Example: range 20K to 150K, privacy 0.5, confidence 95%, uniform: 2 alpha = 68.4K.

    Args:
        kind: kind of noise
        privacy: width of the interval as a share of the range
        low: lower end of the range
        high: upper end of the range
        confidence: probability that the interval holds the true value

    Raises:
        InputError: a number is outside its range
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"low must be below high, and {low:g} is not below {high:g}")
    if max(-low, high) > LARGEST:
        raise InputError(f"a range must lie between -{LARGEST:g} and {LARGEST:g}, not from {low:g} to {high:g}")
    if not 0 < privacy < math.inf:
        raise InputError(f"privacy must be over 0, not {privacy:g}")
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be over 0 and below 1, not {confidence:g}")
    interval = privacy * (high - low)
    if not LEAST < privacy / confidence < MOST:
        raise InputError(
            f"privacy {privacy:g} at confidence {confidence:g}: the noise would be too large or too "
            f"small to compute; choose privacy near 1 and confidence near 0.95"
        )
    if kind == "uniform":
        return Uniform(interval / confidence / 2)
    if kind == "gaussian":
        return Gaussian(interval / Gaussian(1.0).width(confidence))
    return Cells(interval / confidence, low, high)


def _normal(z: Floats) -> Floats:
    return (1 + np.asarray(_erf(z / math.sqrt(2)), dtype=np.float64)) / 2


class _Function(Protocol):
    def __call__(self, t: Floats) -> Floats: ...


def _averaged(law: _Function, integral: _Function, bounds: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return the mean of law(bound - x) over x in [lower, upper], from the integral of the law."""
    points = lower == upper
    width = np.where(points, 1.0, upper - lower)
    b = np.clip(bounds, lower.min() - 1e18, upper.max() + 1e18)[:, None]
    means = (integral(b - lower) - integral(b - upper)) / width
    return np.clip(np.where(points, law(b - lower), means), 0, 1)

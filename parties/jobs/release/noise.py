"""The noise on a question's numbers: its law and scale, what it spends, and how far it reaches.

All that hides a person follows from here and from what protocols do with `rows`: where `rows` of a person take part, a
person changes `rows` times what a row does, in a sum of absolute values, and its square times `rows`^2. The noise grows
so much that epsilon, or rho, is that of a person: it is what is asked for, promised and charged.

Intervals are computed from the ideal law, of which the law of the circuit is within 2^-40 (`protocols.release.laws`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parties.jobs.conversion import DECIMAL, rho_within
from parties.jobs.spending import Adjacency, ConcentratedLoss, Loss, PureLoss

if TYPE_CHECKING:
    from protocols.release.laws import Law

Family: TypeAlias = Literal["discrete Laplace", "discrete Gaussian", "report noisy max", "ladder"]
CONFIDENCE = 0.95  # of every interval by itself
FINE = 512  # scales above that are computed on a coarser grid; intervals are rounded outwards


@dataclass(frozen=True)
class Noise:
    """A mechanism: noise of a public law on integers, and what it promises of a row that changes them.

    `sensitivity` is the most that they change by for neighbours, in all; for Gaussian noise the sum of the squares.
    `scale` is the sensitivity divided by epsilon, or the standard deviation sigma.
    """

    family: Family
    scale: Fraction
    epsilon: Fraction  # that is promised of all numbers with this noise together
    loss: Loss
    sensitivity: int
    delta: Fraction = Fraction(0)  # the chance that epsilon does not hold

    def law(self, numbers: int) -> Law:
        """Return the law for so many numbers: together they add at most 2^-38 to delta."""
        from protocols.release.laws import security_for

        security = security_for(self.epsilon, numbers)
        if self.family == "discrete Laplace":
            from protocols.release.laplace import DiscreteLaplace

            return DiscreteLaplace(self.scale, security)
        if self.family == "report noisy max":
            from protocols.release.geometric import OneSidedGeometric

            return OneSidedGeometric(self.scale, security)
        from protocols.release.gaussian import discrete_gaussian

        return discrete_gaussian(self.scale**2, security)

    @property
    def variance(self) -> float:
        """The variance of one sample, of noise without a maximum."""
        if self.family == "discrete Gaussian":
            return float(self.scale) ** 2
        return 1 / (2 * math.sinh(1 / (2 * float(self.scale))) ** 2)

    @lru_cache(maxsize=64)  # noqa: B019 - of plain numbers, and few: groups ask the same again
    def reach(self, terms: int = 1, confidence: float = CONFIDENCE) -> int:
        """Return the least r such that the sum of so many samples is in [-r, r] with that probability or more."""
        coarseness = max(1.0, float(self.scale) / FINE)
        law = self._law_of_sum(float(self.scale) / coarseness, terms)
        middle = len(law) // 2
        inside = law[middle] + np.concatenate([[0.0], np.cumsum(law[middle + 1 :] + law[middle - 1 : 0 : -1])])
        steps = int(np.flatnonzero(inside >= confidence - 1e-12)[0])
        return steps if coarseness == 1 else math.ceil((steps + 1) * coarseness)

    def _law_of_sum(self, scale: float, terms: int) -> NDArray[np.float64]:
        """Return the law of -n, ..., n - 1 for an n with next to nothing beyond, by the characteristic function."""
        spread = scale * math.sqrt(2 * terms)
        half = 1 << math.ceil(math.log2(12 * spread + 40 * scale + 4))
        angle = 2 * np.pi * np.arange(2 * half) / (2 * half)
        if self.family == "discrete Laplace":
            alpha = math.exp(-1 / scale)
            transform: NDArray[Any] = (1 - alpha) ** 2 / (1 - 2 * alpha * np.cos(angle) + alpha**2)
        else:
            weights = np.exp(-(np.arange(-half, half) ** 2) / (2 * scale**2))
            transform = np.fft.fft(np.fft.ifftshift(weights / weights.sum())).real
        return np.fft.fftshift(np.fft.ifft(transform**terms).real)

    def fields(self, unit: Fraction = Fraction(1)) -> dict[str, object]:
        """Return it as it stands in a result; the scale in the units of the numbers there."""
        name = "sigma" if self.family == "discrete Gaussian" else "scale"
        return {"law": self.family, name: float(self.scale * unit)}


def laplace(epsilon: Fraction, change: int, adjacency: Adjacency, rows: int = 1) -> Noise:
    """Return noise on integers of which one row changes all together by `change` at most: epsilon-private for so many
    rows."""
    scale = Fraction(rows * change) / epsilon
    loss = PureLoss("discrete Laplace", epsilon, adjacency=adjacency)
    return Noise("discrete Laplace", scale, epsilon, loss, rows * change)


def noisy_max(epsilon: Fraction, change: int, adjacency: Adjacency, rows: int = 1) -> Noise:
    """Return noise on monotone scores whose greatest is told, none of which one row changes by more: epsilon-private
    for so many rows.

    See `protocols.release.choice`; of several places, `change` is what `protocols.release.top` says.
    """
    loss = PureLoss("report noisy max", epsilon, adjacency=adjacency)
    return Noise("report noisy max", Fraction(rows * change) / epsilon, epsilon, loss, rows * change)


def private_bound(epsilon: Fraction, delta: Fraction, adjacency: Adjacency, rows: int = 1) -> Noise:
    """Return what is promised of a noisy bound and of a number with noise of that bound, half of epsilon for each, for
    so many rows.

    See `protocols.release.triangles`: delta is the chance that the bound is too small. The scale is that of the bound.
    """
    loss = PureLoss("private bound, discrete Laplace", epsilon, delta=delta, adjacency=adjacency)
    return Noise("discrete Laplace", 2 * rows / epsilon, epsilon, loss, rows, delta)


def rungs(epsilon: Fraction, change: int, adjacency: Adjacency, rows: int = 1) -> Noise:
    """Return noise of a graph's own ladder, of which so many rows move a number by `rows * change` rungs: see
    `protocols.release.ladder`. The scale is in rungs."""
    loss = PureLoss("ladder, exponential mechanism", epsilon, adjacency=adjacency)
    return Noise("ladder", 2 * rows * change / epsilon, epsilon, loss, rows * change)


def gauss(epsilon: Fraction, delta: Fraction, numbers: int, adjacency: Adjacency, rows: int = 1) -> Noise:
    """Return noise on so many integers, each of which one row changes by 1 at most: (epsilon, delta)-private for so
    many rows, which change the numbers by the Euclidean norm rows sqrt(numbers) at most.

    Noise of sigma^2 = change^2 / (2 rho) is rho-zCDP, with the Euclidean change sqrt(numbers) (Canonne, Kamath, Steinke
    2020 for the discrete law). Rho is the most that (epsilon, delta) allows (`rho_within`), less a part in 10^9, so
    that a budget of the same (epsilon, delta) has room whatever is rounded. Right for every epsilon, unlike
    sqrt(2 ln(1.25 / delta)) / epsilon, which needs epsilon < 1. Sigma is rounded up, in decimal arithmetic, which is
    the same on every machine.
    """
    squared = rows**2 * numbers
    with localcontext(DECIMAL) as context:
        rho = rho_within(epsilon, delta) * (1 - Decimal("1e-9"))
        sigma = (squared / (2 * rho)).sqrt(context)
        rounded = sigma.quantize(Decimal(10) ** (sigma.adjusted() - 5), ROUND_CEILING)
    scale = Fraction(rounded)
    loss = ConcentratedLoss("discrete Gaussian", squared / (2 * scale**2), adjacency=adjacency)
    return Noise("discrete Gaussian", scale, epsilon, loss, squared, delta)

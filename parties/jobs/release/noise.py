"""Noise on a question's numbers: law, scale, privacy loss and intervals.

The protection of a person follows from this module and from the protocols' use of `rows`. If `rows` rows of a person
take part, a person changes a sum of absolute values `rows` times as much as a row does, and a sum of squares `rows`^2
times as much. The noise is scaled accordingly: epsilon or rho, as requested, promised and charged, is that of a person.

Intervals are computed from the ideal law, of which the law of the circuit is within 2^-40 (`protocols.release.laws`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parties.jobs.kind import Adjacency, ConcentratedLoss, Loss, PureLoss
from parties.jobs.spending import DECIMAL, rho_within

if TYPE_CHECKING:
    from protocols.release.laws import Law

Family: TypeAlias = Literal["discrete Laplace", "discrete Gaussian", "report noisy max", "ladder"]
CONFIDENCE = 0.95  # confidence of each interval by itself
WIDE = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)  # half the interval of a normal variable, in deviations
FINE = 512  # larger scales use a coarser grid; intervals are rounded outwards


@dataclass(frozen=True)
class Noise:
    """A mechanism: noise of a public law on integers, and its privacy guarantee.

    `sensitivity` is the largest change of all integers together between neighbouring tables; for Gaussian noise, the
    sum of the squared changes. `scale` is the sensitivity divided by epsilon, or the standard deviation sigma.
    """

    family: Family
    scale: Fraction
    epsilon: Fraction  # guarantee of all numbers with this noise together
    loss: Loss
    sensitivity: int
    delta: Fraction = Fraction(0)  # probability that epsilon fails

    @lru_cache(maxsize=16)  # noqa: B019 - few plain numbers; each step of a run asks again
    def law(self, numbers: int) -> Law:
        """Return the distribution from which the noise of `numbers` numbers is drawn; its distance from the exact law
        adds at most 2^-38 to delta."""
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
        """Variance of one sample, for noise without a maximum."""
        if self.family == "discrete Gaussian":
            return float(self.scale) ** 2
        return 1 / (2 * math.sinh(1 / (2 * float(self.scale))) ** 2)

    @lru_cache(maxsize=64)  # noqa: B019 - few plain numbers; groups repeat the arguments
    def reach(self, terms: int = 1, confidence: float = CONFIDENCE) -> int:
        """Return the least r such that the sum of samples lies in [-r, r] with at least this probability.

        Args:
            terms: Number of samples.
            confidence: The probability, between 0 and 1.
        """
        coarseness = max(1.0, float(self.scale) / FINE)
        law = self._law_of_sum(float(self.scale) / coarseness, terms)
        middle = len(law) // 2
        inside = law[middle] + np.concatenate([[0.0], np.cumsum(law[middle + 1 :] + law[middle - 1 : 0 : -1])])
        steps = int(np.flatnonzero(inside >= confidence - 1e-12)[0])
        return steps if coarseness == 1 else math.ceil((steps + 1) * coarseness)

    def _law_of_sum(self, scale: float, terms: int) -> NDArray[np.float64]:
        """Return the law on -n, ..., n - 1, by the characteristic function; n leaves a negligible tail."""
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
        """Return the fields of a result; the scale is in the units of its numbers."""
        name = "sigma" if self.family == "discrete Gaussian" else "scale"
        return {"law": self.family, name: float(self.scale * unit)}


def laplace(epsilon: Fraction, change: int, adjacency: Adjacency, rows: int = 1) -> Noise:
    """Return epsilon-private discrete Laplace noise for integers.

    Args:
        epsilon: Privacy loss of `rows` rows.
        change: Largest change of all integers together by one row.
        adjacency: Definition of neighbouring tables.
        rows: Rows per person that are used.
    """
    scale = Fraction(rows * change) / epsilon
    loss = PureLoss("discrete Laplace", epsilon, adjacency=adjacency)
    return Noise("discrete Laplace", scale, epsilon, loss, rows * change)


def noisy_max(epsilon: Fraction, change: int, adjacency: Adjacency, rows: int = 1) -> Noise:
    """Return epsilon-private noise for monotone scores, of which only the largest one's position is opened.

    The protocol is `protocols.release.choice`. For several positions, `protocols.release.top` gives `change`.

    Args:
        epsilon: Privacy loss of `rows` rows.
        change: Largest change of each score by one row.
        adjacency: Definition of neighbouring tables.
        rows: Rows per person that are used.
    """
    loss = PureLoss("report noisy max", epsilon, adjacency=adjacency)
    return Noise("report noisy max", Fraction(rows * change) / epsilon, epsilon, loss, rows * change)


def private_bound(epsilon: Fraction, delta: Fraction, adjacency: Adjacency, rows: int = 1) -> Noise:
    """Return the mechanism that opens a noisy bound on a number's sensitivity, and the number with noise of that scale.

    Each of the two gets half of epsilon. The protocol is `protocols.release.triangles`. `scale` is that of the noise on
    the bound.

    Args:
        epsilon: Privacy loss of `rows` rows.
        delta: Probability that the bound is too small.
        adjacency: Definition of neighbouring tables.
        rows: Rows per person that are used.
    """
    loss = PureLoss("private bound, discrete Laplace", epsilon, delta=delta, adjacency=adjacency)
    return Noise("discrete Laplace", 2 * rows / epsilon, epsilon, loss, rows, delta)


def rungs(epsilon: Fraction, change: int, adjacency: Adjacency, rows: int = 1) -> Noise:
    """Return ladder noise: it adapts to the graph, see `protocols.release.ladder`; its scale is in rungs of the ladder.

    Args:
        epsilon: Privacy loss of `rows` rows.
        change: Rungs by which one row moves a number at most.
        adjacency: Definition of neighbouring tables.
        rows: Rows per person that are used.
    """
    loss = PureLoss("ladder, exponential mechanism", epsilon, adjacency=adjacency)
    return Noise("ladder", 2 * rows * change / epsilon, epsilon, loss, rows * change)


def gauss(epsilon: Fraction, delta: Fraction, numbers: int, adjacency: Adjacency, rows: int = 1) -> Noise:
    """Return (epsilon, delta)-private discrete Gaussian noise for integers, each of which one row changes by 1 at most.

    `rows` rows change the numbers by a Euclidean norm of at most rows sqrt(numbers). Noise of sigma^2 = norm^2 /
    (2 rho) is rho-zCDP for that norm (Canonne, Kamath, Steinke 2020 for the discrete law). Rho is the largest that
    (epsilon, delta) allows (`rho_within`), minus one part in 10^9, so that a budget of the same (epsilon, delta) has
    room despite rounding. This holds for every epsilon, unlike sqrt(2 ln(1.25 / delta)) / epsilon, which needs
    epsilon < 1. Sigma is rounded up in decimal arithmetic, which is equal on every machine.

    Args:
        epsilon: Privacy loss of `rows` rows.
        delta: Probability that epsilon fails.
        numbers: Count of the integers.
        adjacency: Definition of neighbouring tables.
        rows: Rows per person that are used.
    """
    squared = rows**2 * numbers
    with localcontext(DECIMAL) as context:
        rho = rho_within(epsilon, delta) * (1 - Decimal("1e-9"))
        sigma = (squared / (2 * rho)).sqrt(context)
        rounded = sigma.quantize(Decimal(10) ** (sigma.adjusted() - 5), ROUND_CEILING)
    scale = Fraction(rounded)
    loss = ConcentratedLoss("discrete Gaussian", squared / (2 * scale**2), adjacency=adjacency)
    return Noise("discrete Gaussian", scale, epsilon, loss, squared, delta)


def gauss_of_uses(epsilon: Fraction, delta: Fraction, uses: int, squared: int, adjacency: Adjacency) -> Noise:
    """Return Gaussian noise that is drawn for several steps, which share the privacy loss.

    Args:
        epsilon: The privacy loss of all steps together.
        delta: The probability that epsilon fails.
        uses: Number of steps.
        squared: Squared length of a row's change, or a person's, in each step.
        adjacency: Definition of neighbouring tables.
    """
    noise = gauss(epsilon, delta, uses * squared, adjacency)
    each = squared / (2 * noise.scale**2)
    return replace(noise, loss=ConcentratedLoss("discrete Gaussian", each, adjacency=adjacency, times=uses))

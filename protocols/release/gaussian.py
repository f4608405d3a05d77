"""Discrete Gaussian noise, P(x) proportional to e^(-x^2 / (2 sigma^2)) on all integers.

Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy" (NeurIPS 2020): integers that one row changes
by at most D in the Euclidean norm, opened with independent noise of sigma^2 = D^2 / (2 rho), are rho-zCDP.

**Small sigma**, up to 32: a table of e^(-x^2 / (2 sigma^2)) for |x| <= n (`protocols.release.table`), n the least that
leaves out at most 2^-(s + 2). Sigma 20 takes |x| <= 147 and about 500 ANDs.

**Larger sigma**: x = y + c z, with y and z discrete Gaussians of sigma_1 = 24 and sigma_2, c a power of 2 up to 16, and
sigma^2 = sigma_1^2 + c^2 sigma_2^2; z again may be such a sum. So each factor of 16 takes one table more. As in
Micciancio, Walter, "Gaussian sampling over the integers" (CRYPTO 2017): completing the square,

    P(x) ~ sum_z e^(-(x - c z)^2 / (2 sigma_1^2) - z^2 / (2 sigma_2^2))
         = e^(-x^2 / (2 sigma^2)) sum_z e^(-(z - m x)^2 / (2 tau^2)),    tau = sigma_1 sigma_2 / sigma,

with a real m; and by Poisson's formula the last sum is within a factor 1 +- r of a constant, whatever m x, r = 2 sum_{j
>= 1} q^(j^2) <= 2 q / (1 - q), q = e^(-2 pi^2 tau^2). So the statistical distance is at most r / (1 - r), plus those of
the two tables.

Cost: m + t (a - 1) + t ANDs for a table of m absolute values, of t bits, s + ceil(log2 t) = a: at most 486 up to sigma
20, for s = 40; 1,070 at sigma 100, 2,244 at 100,000.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import gmpy2
from typing_extensions import override

from protocols.release.laws import SECURITY, Law, check_security
from protocols.release.table import PublicTable
from smc.circuit import Integer, total
from smc.errors import InputError

GUARD_BITS = 64  # bits of the weights beyond those that the distance needs
TABLE_VARIANCE = 32 * 32  # greatest variance of one table
BASE_VARIANCE = 24 * 24  # variance of y
MOST_SHIFT = 4  # greatest log2 c
MOST_VARIANCE = 1 << 60


def discrete_gaussian(variance: Fraction | int, security: int = SECURITY) -> Law:
    """Return the discrete Gaussian law with the parameter sigma^2, within a statistical distance of 2^-security.

    Args:
        variance: Variance sigma^2, above 0 and at most 2^60.
        security: Statistical parameter s; the distance is at most 2^-s. If in doubt, 40.

    Raises:
        InputError: The variance or the security is out of range.
    """
    variance = Fraction(variance)
    if not 0 < variance <= MOST_VARIANCE:
        raise InputError(f"the variance of the noise is {float(variance):g}, must be positive and at most 2^60")
    check_security(security)
    return _gaussian(variance, security)


@dataclass(frozen=True)
class ScaledSum(Law):
    """Law of fine + 2^shift coarse, independent; `missing` is its distance to the ideal law if both are ideal."""

    fine: Law
    coarse: Law
    shift: int
    missing: Fraction

    @property
    @override
    def bits(self) -> int:
        return self.fine.bits + self.coarse.bits

    @property
    @override
    def least(self) -> int:
        return self.fine.least + (self.coarse.least << self.shift)

    @property
    @override
    def greatest(self) -> int:
        return self.fine.greatest + (self.coarse.greatest << self.shift)

    @property
    @override
    def distance(self) -> Fraction:
        return self.missing + self.fine.distance + self.coarse.distance

    @override
    def draw(self, random: Integer) -> Integer:
        fine, coarse = self.fine.draw(random[: self.fine.bits]), self.coarse.draw(random[self.fine.bits :])
        return total([fine, coarse.resize(self.width) << self.shift], self.width)

    @override
    def probabilities(self) -> dict[int, Fraction]:
        self._listable()
        table: dict[int, Fraction] = {}
        # Both have dyadic probabilities: integers over one denominator add up quickly.
        (fine, one), (coarse, other) = (_numerators(law.probabilities()) for law in (self.fine, self.coarse))
        sums: dict[int, int] = {}
        for high, weight in coarse.items():
            for low, mass in fine.items():
                value = low + (high << self.shift)
                sums[value] = sums.get(value, 0) + weight * mass
        table.update((value, Fraction(mass, one * other)) for value, mass in sums.items())
        return table


def _numerators(law: dict[int, Fraction]) -> tuple[dict[int, int], int]:
    whole = max(mass.denominator for mass in law.values())
    return {value: mass.numerator * (whole // mass.denominator) for value, mass in law.items()}, whole


@lru_cache(maxsize=64)
def _gaussian(variance: Fraction, security: int) -> Law:
    if variance <= TABLE_VARIANCE:
        return _table(variance, security)
    allowed = Fraction(1, 4 << security)
    for shift in range(1, MOST_SHIFT + 1):
        coarse_variance = (variance - BASE_VARIANCE) / (1 << 2 * shift)
        missing = _ripple(BASE_VARIANCE * coarse_variance / variance)
        if missing <= allowed:
            found = shift, coarse_variance, missing
        if coarse_variance <= TABLE_VARIANCE:
            break
    shift, coarse_variance, missing = found
    # 2^-(s + 1) to the table, 2^-(s + 2) to each of the rest and the sum.
    fine, coarse = _table(Fraction(BASE_VARIANCE), security + 1), _gaussian(coarse_variance, security + 2)
    return ScaledSum(fine, coarse, shift, missing)


def _table(variance: Fraction, security: int) -> PublicTable:
    """Return the law of a small variance as a table: the cut tails have at most 2^-(s + 2), rounding costs less."""
    precision = security + GUARD_BITS
    with gmpy2.context(precision=2 * precision):
        spread = gmpy2.mpfr(gmpy2.mpq(2 * variance))
        limit = gmpy2.exp2(-security - 2)
        weights: list[int] = []
        while True:
            point = len(weights)
            if point and _beyond(point, spread) <= limit:
                break
            mass = gmpy2.exp2(precision) * gmpy2.exp(-gmpy2.mpfr(point * point) / spread)
            weights.append(int(gmpy2.rint(mass)) * (2 if point else 1))
        left_out = _fraction(_beyond(len(weights), spread))
    # A weight is wrong by at most 1 of 2^precision; the guard bits also cover what `left_out` is wrong by.
    rounded = Fraction(2 * len(weights), 1 << precision)
    return PublicTable(tuple(weights), symmetric=True, security=security, missing=left_out + rounded)


def _beyond(point: int, spread: gmpy2.mpfr) -> gmpy2.mpfr:
    """Return an upper bound on the probability of |x| >= point.

    It is a geometric series, divided by a lower bound on the sum of all weights (Poisson's formula).
    """
    ratio = gmpy2.exp(-2 * gmpy2.mpfr(point) / spread)
    series = gmpy2.exp(-gmpy2.mpfr(point * point) / spread) / (1 - ratio)
    return 2 * series / max(gmpy2.mpfr(1), gmpy2.sqrt(gmpy2.const_pi() * spread))


def _ripple(variance: Fraction) -> Fraction:
    """Return r / (1 - r) of the module's first lines, for tau^2 = `variance`, rounded up."""
    with gmpy2.context(precision=128, round=gmpy2.RoundUp):
        q = gmpy2.exp(-2 * gmpy2.const_pi() ** 2 * gmpy2.mpfr(gmpy2.mpq(variance)))
        r = 2 * q / (1 - q)
        return _fraction(r / (1 - r))


def _fraction(number: gmpy2.mpfr) -> Fraction:
    numerator, denominator = number.as_integer_ratio()
    return Fraction(int(numerator), int(denominator))

"""Public quantiles of the chi-square and of Student's distribution, for whole degrees of freedom.

Student's tail has a closed form for whole degrees (Abramowitz, Stegun, 26.7.3, 26.7.4). A quantile is found by
bisection. Both parties compute equal quantiles: each is rounded up to a fraction of `FRACTION` bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import gmpy2

FRACTION = 16  # bits of a quantile


def chi2_tail(x: float, degrees: int) -> float:
    """Return the probability that a chi-square variable is above `x`.

    Args:
        x: The limit, 0 or more.
        degrees: Degrees of freedom, 1 or more.
    """
    if x > 4 * degrees + 1600:  # less than any float; by Chernoff's bound below e^-790
        return 0.0
    shape = gmpy2.mpfr(degrees) / 2
    return float(gmpy2.gamma_inc(shape, gmpy2.mpfr(x) / 2) / gmpy2.gamma(shape))


def t_tail(t: float, degrees: int) -> float:
    """Return the probability that the absolute value of Student's variable is above `t`.

    Args:
        t: The limit, 0 or more.
        degrees: Degrees of freedom, 1 or more.
    """
    angle = math.atan2(t, math.sqrt(degrees))
    cosine, term, terms = math.cos(angle), 1.0, [1.0]
    odd = degrees % 2
    for i in range(1, (degrees - odd) // 2):
        term *= cosine**2 * (2 * i - 1 + odd) / (2 * i + odd)
        terms.append(term)
    if not odd:
        return 1 - math.sin(angle) * math.fsum(terms)
    rest = math.sin(angle) * cosine * math.fsum(terms) if degrees > 1 else 0.0
    return 1 - 2 / math.pi * (angle + rest)


@lru_cache(maxsize=4096)
def chi2_quantile(level: float, degrees: int) -> Fraction:
    """Return the value that a chi-square variable exceeds with probability `level`.

    Newton's method starts from the approximation by Wilson, Hilferty (1931) and takes about five evaluations.

    Args:
        level: The probability, above 0 and below 1.
        degrees: Degrees of freedom, 1 or more.

    Returns:
        The value, rounded up to `FRACTION` fraction bits.
    """
    share = 2 / (9 * degrees)
    x = degrees * max(0.1, 1 - share - NormalDist().inv_cdf(level) * math.sqrt(share)) ** 3
    for _ in range(3):
        density = math.exp((degrees / 2 - 1) * math.log(x / 2) - x / 2 - math.lgamma(degrees / 2)) / 2
        x = max(x / 2, x + (chi2_tail(x, degrees) - level) / density)
    return _quantile(lambda x: chi2_tail(x, degrees), level, x)


@lru_cache(maxsize=256)
def t_quantile(level: float, degrees: int) -> Fraction:
    """Return the value that the absolute value of Student's variable exceeds with probability `level`.

    Args:
        level: The probability, above 0 and below 1.
        degrees: Degrees of freedom, 1 or more.

    Returns:
        The value, rounded up to `FRACTION` fraction bits.
    """
    return _quantile(lambda x: t_tail(x, degrees), level)


def _quantile(tail: Callable[[float], float], level: float, near: float = 0.0) -> Fraction:
    """Return the value that a variable exceeds with probability `level`, by bisection; `near` is a first guess.

    `tail` returns the probability that it exceeds a value.
    """
    within = 2 ** -(FRACTION + 9) * max(1.0, near)
    low, high = max(0.0, near - within), near + within
    if not (low and tail(low) > level >= tail(high)):
        low, high = 0.0, 1.0
        while tail(high) > level:
            high *= 2
    while high - low > 2 ** -(FRACTION + 8) * max(1.0, low):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > level else (low, middle)
    return Fraction(math.ceil(high * (1 << FRACTION)), 1 << FRACTION)

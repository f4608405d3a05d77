"""Tail of discrete Laplace noise X of a scale: the distance t with P(X >= t) <= delta.

With alpha = e^(-1 / scale), P(X >= t) = alpha^t / (1 + alpha) for t >= 0, so the least such t is

    ceil(scale ln(1 / ((1 + alpha) delta))).

The well-known formula scale ln(1 / (2 delta)) holds for noise on real numbers. For integers it can be too small,
because X is equal to the threshold with a probability above 0.
"""

from __future__ import annotations

from fractions import Fraction

import gmpy2

PRECISION = 256


def tail(scale: Fraction, delta: Fraction) -> int:
    """Return the least t >= 0 with P(X >= t) <= delta, by symmetry P(X <= -t) as well.

    Rounding never makes t too small.

    Args:
        scale: Scale of the noise, above 0.
        delta: Greatest probability beyond t, above 0.
    """
    with gmpy2.context(precision=PRECISION, round=gmpy2.RoundUp):
        least_alpha = 1 / gmpy2.exp(1 / gmpy2.mpfr(gmpy2.mpq(scale)))
    with gmpy2.context(precision=PRECISION, round=gmpy2.RoundDown):
        weight = (1 + least_alpha * (1 - gmpy2.exp2(8 - PRECISION))) * gmpy2.mpfr(gmpy2.mpq(delta))
    with gmpy2.context(precision=PRECISION, round=gmpy2.RoundUp):
        return max(0, int(gmpy2.ceil(gmpy2.log(1 / weight) * gmpy2.mpfr(gmpy2.mpq(scale)))))

"""One-sided geometric noise, P(g) = (1 - alpha) alpha^g for g = 0, 1, ..., with alpha = e^(-1 / scale).

Its binary digits are independent: P(g) is proportional to the product of alpha^(2^i) over the digits i of g that are 1,
so digit i is a coin of bias alpha^(2^i) / (1 + alpha^(2^i)) = 1 / (1 + e^(2^i / scale)). Paper: Dwork, Kenthapadi,
McSherry, Mironov, Naor, "Our data, ourselves" (EUROCRYPT 2006).

Statistical distance. Only the k lowest digits are drawn, which gives the law of g on the condition g < 2^k. k is the
least number with P(g >= 2^k) = alpha^(2^k) at most 2^-(s + 1). Each coin, of a bits, is wrong by at most 2^-(a + 1).
The coins are within C(k, 2) 2^-2h of independent ones (`protocols.release.coins`, with h own bits of each coin). a and
h are the cheapest numbers with a distance of at most 2^-s in all. Thresholds are computed with 256 bits more than a.

Cost: k h + a - h - 1 ANDs or less, so 130 at a scale of 1 and 227 at a scale of 10, for s = 40.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import gmpy2
from typing_extensions import override

from protocols.release.coins import Coins
from protocols.release.laws import SECURITY, Law, check_security
from smc.circuit import Integer
from smc.errors import InputError

GUARD_BITS = 256  # bits of precision beyond a threshold's own
MOST_DIGITS = 48  # most digits of a sample


@dataclass(frozen=True)
class DigitLaw(Law):
    """Noise whose binary digits are coins.

    `scale` is the sensitivity divided by epsilon, in units of the integers. The law is within 2^-`security` of the
    ideal one.
    """

    scale: Fraction
    security: int = SECURITY

    def __post_init__(self) -> None:
        check(self.scale, self.security)

    @property
    def digits(self) -> int:
        """Number k of binary digits of a sample, which is from 0 to 2^k - 1."""
        return digits_below(self.scale, self.security)

    @property
    @abstractmethod
    def coins(self) -> Coins:
        """Coins of a sample: one for each digit, lowest first, then any others."""

    @property
    @override
    def bits(self) -> int:
        return self.coins.bits

    @property
    @override
    def greatest(self) -> int:
        return (1 << self.digits) - 1

    @property
    @override
    def distance(self) -> Fraction:
        """Bound on the distance to the ideal law: the tail that is cut off, the coins' errors, and their dependence."""
        return (
            cut(self.scale, self.digits)
            + Fraction(len(self.coins.thresholds), 2 << self.coins.width)
            + (self.coins.dependence)
        )


class OneSidedGeometric(DigitLaw):
    """Geometric distribution on 0, 1, 2, ..., used as noise."""

    @property
    def coins(self) -> Coins:
        """Coins of a sample: one for each digit, lowest first."""
        return digit_coins(self.scale, self.security)

    @property
    @override
    def least(self) -> int:
        return 0

    @override
    def draw(self, random: Integer) -> Integer:
        return Integer(random.graph, self.coins.toss(random))

    @override
    def probabilities(self) -> dict[int, Fraction]:
        self._listable()
        return dict(enumerate(self.coins.law()))


def check(scale: Fraction, security: int) -> None:
    """Raise InputError for a scale or a statistical parameter that this family of laws does not cover.

    Args:
        scale: Sensitivity divided by epsilon, above 0.
        security: Statistical parameter s; the distance is at most 2^-s. If in doubt, 40.

    Raises:
        InputError: The scale is not above 0, the security is out of range, or a sample has more than `MOST_DIGITS`
            digits.
    """
    if not scale > 0:
        raise InputError(f"the scale of the noise is {scale}, must be positive")
    check_security(security)
    if digits_below(scale, security) > MOST_DIGITS:
        raise InputError(
            f"noise of the scale {float(scale):g} takes more than {MOST_DIGITS} binary digits; "
            "choose a larger epsilon or a smaller sensitivity"
        )


@lru_cache(maxsize=256)
def digits_below(scale: Fraction, security: int) -> int:
    """Return the number of binary digits of a geometric sample: the least k with alpha^(2^k) <= 2^-(security + 1).

    Args:
        scale: Sensitivity divided by epsilon, above 0.
        security: Statistical parameter s; the distance is at most 2^-s. If in doubt, 40.
    """
    with gmpy2.context(precision=GUARD_BITS, round=gmpy2.RoundUp):
        reach = gmpy2.log(2) * (security + 1) * gmpy2.mpfr(gmpy2.mpq(scale))
        return max(0, int(gmpy2.ceil(reach)) - 1).bit_length()


@lru_cache(maxsize=256)
def digit_coins(scale: Fraction, security: int, sign: bool = False) -> Coins:
    """Return biased coins whose tosses are the binary digits of a geometric sample, the lowest digit first.

    Args:
        scale: Sensitivity divided by epsilon, above 0.
        security: Statistical parameter s; the distance is at most 2^-s. If in doubt, 40.
        sign: True adds a last coin of the bias alpha / (1 + alpha), for the sign.
    """
    digits = digits_below(scale, security)
    exponents = [Fraction(1 << i) / scale for i in range(digits)] + [1 / scale] * sign
    width, own = _widths(len(exponents), Fraction(1, 1 << security) - cut(scale, digits))
    return Coins(tuple(threshold(exponent, width) for exponent in exponents), width, own)


def _widths(coins: int, allowed: Fraction) -> tuple[int, int]:
    """Return the cheapest numbers of bits of a coin, all and own, such that all errors add up to at most `allowed`."""
    pairs = coins * (coins - 1) // 2
    least = max(1, int(coins / (2 * allowed)).bit_length())  # so that coins 2^-(width + 1) is below `allowed`
    found = []
    for width in range(least, least + 5):
        left = allowed - Fraction(coins, 2 << width)
        own = (int(pairs / left).bit_length() + 1) // 2  # so that pairs 4^-own is below what is left
        found.append((min(width, own) if pairs else width, width))
    own, width = min(found, key=lambda choice: coins * choice[0] + choice[1] - choice[0])
    return width, own


def threshold(exponent: Fraction, precision: int) -> int:
    """Return round(2^precision / (1 + e^exponent)), for exponent > 0.

    Args:
        exponent: Exponent of the bias, above 0.
        precision: Bits of the coin.
    """
    with gmpy2.context(precision=precision + GUARD_BITS):
        return int(gmpy2.rint(gmpy2.exp2(precision) / (1 + gmpy2.exp(gmpy2.mpfr(gmpy2.mpq(exponent))))))


@lru_cache(maxsize=256)
def cut(scale: Fraction, digits: int) -> Fraction:
    """Return alpha^(2^digits), the probability of all values that need more digits, rounded up.

    Args:
        scale: Sensitivity divided by epsilon, above 0.
        digits: Number of binary digits of a sample.
    """
    with gmpy2.context(precision=GUARD_BITS, round=gmpy2.RoundDown):
        exponent = gmpy2.mpfr(gmpy2.mpq(Fraction(1 << digits) / scale))
    with gmpy2.context(precision=64, round=gmpy2.RoundUp):
        tail = gmpy2.exp(-exponent)
    numerator, denominator = tail.as_integer_ratio()
    return Fraction(int(numerator), int(denominator))

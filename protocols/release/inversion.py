"""One-sided geometric noise by inversion: few AND gates, in more levels than a coin for each digit.

g = floor(-scale ln U) is geometric for a uniform U in (0, 1): P(g >= x) = P(U <= alpha^x), with alpha = e^(-1 / scale)
(Devroye, "Non-Uniform Random Variate Generation", 1986). Write U = V / 2^n with V in (1/2, 1]. Then n is the number of
zeros before the first 1 of uniform bits; V is independent of n and uniform. For a scale of at most 1 / ln 2, -scale ln
V is at most 1. So for each n, g is b = floor(n scale ln 2), or b + 1 if V <= 2^n alpha^(b + 1), with the probability
q_n = max(0, 2^(n + 1) alpha^(b + 1) - 1). The one-hot n selects b and q_n from public tables, without AND gates. A
comparison with a uniform number of N bits is the coin of bias q_n.

Statistical distance: 2^(1 - N), so N = s + 1. n is read from N bits, and all are 0 with probability 2^-N; then g is
drawn as for n = 0. n has probability 2^-(n + 1), so q_n is rounded to min(N, N - n + e) digits, with 2^(e + 1) > N,
which saves XOR gates. These errors add up to at most 2^-(N + 1) + N 2^-(N + e + 2) < 2^-N.

Cost, with k digits of g: 2 N + k - 2 ANDs or less. At a scale of 1 these are 124 for s = 59, where coins take 221.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import gmpy2
from typing_extensions import override

from protocols.release.coins import first_ones
from protocols.release.geometric import GUARD_BITS, OneSidedGeometric
from smc.circuit import Integer, pick

MOST_SCALE = Fraction(1_442_695, 10**6)  # 1 / ln 2, rounded down


class InvertedGeometric(OneSidedGeometric):
    """One-sided geometric noise for many candidates; to draw at a `scale` above `MOST_SCALE` raises ValueError."""

    @property
    @override
    def bits(self) -> int:
        return 2 * self.security + 2

    @property
    @override
    def greatest(self) -> int:
        return -(-max(_table(self.scale, self.security + 1)) >> self.security + 1)

    @property
    @override
    def distance(self) -> Fraction:
        return Fraction(1, 1 << self.security)

    @override
    def draw(self, random: Integer) -> Integer:
        graph, length = random.graph, self.security + 1
        onehot, table = first_ones(random[:length]), _table(self.scale, length)
        width = ((max(table) >> length) + 1).bit_length()
        chosen = pick(onehot, [Integer.constant(graph, value, width + length) for value in table])
        rise = pick(onehot, [Integer.constant(graph, (b := value >> length) ^ b + 1, width) for value in table])
        more = random[length:] < chosen[:length]
        return Integer(graph, [bit ^ (more & change) for bit, change in zip(chosen[length:], rise, strict=True)])

    @override
    def probabilities(self) -> dict[int, Fraction]:
        length, masses = self.security + 1, dict[int, int]()
        for n, value in enumerate(_table(self.scale, length)):
            whole, digits = divmod(value, 1 << length)
            weight = (1 << length - 1 - n) + (n == 0)
            for at, share in ((whole, (1 << length) - digits), (whole + 1, digits)):
                masses[at] = masses.get(at, 0) + weight * share
        return {value: Fraction(mass, 1 << 2 * length) for value, mass in masses.items()}


@lru_cache(maxsize=256)
def _table(scale: Fraction, length: int) -> tuple[int, ...]:
    """Return (b + q_n) 2^length for n = 0 .. length - 1, rounded to the digits that n needs."""
    if scale > MOST_SCALE:
        raise ValueError(f"inversion takes a scale of at most {float(MOST_SCALE)}, not {float(scale):g}")
    values = []
    with gmpy2.context(precision=2 * length + GUARD_BITS):
        step = gmpy2.mpfr(gmpy2.mpq(scale))
        for n in range(length):
            whole = int(gmpy2.floor(n * step * gmpy2.log(2)))
            more = max(gmpy2.mpfr(0), gmpy2.exp2(n + 1) * gmpy2.exp(-(whole + 1) / step) - 1)
            digits = min(length, length - n + length.bit_length() - 1)
            values.append(int(gmpy2.rint((whole + more) * gmpy2.exp2(digits))) << length - digits)
    return tuple(values)

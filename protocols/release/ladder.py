"""Noise on the triangles of a graph, scaled to its own most common neighbours without revealing them.

A graph has T triangles. LS is the greatest number of common neighbours of any two of its n vertices: one edge more or
less makes or breaks at most LS triangles. Rung u = 0, 1, ... of its *ladder* contains the numbers whose distance from T
is above R_(u-1) and at most R_u, with R_0 = 0, R_(-1) = -1 and R_u = sum over t < u of (LS + t). The result is a number
of rung u with a probability proportional to q^u, q = e^(-epsilon / 2): T plus a sample Y of a law that depends on LS.

Privacy: epsilon, without a delta, for one edge added or removed. For a replaced edge, and for the edges of a person,
epsilon is divided by the number of edges that change. Proof: the theorem of docs/math/ladder.md, after Zhang, Cormode,
Procopiuc, Srivastava, Xiao (SIGMOD 2015). Lemma 1 there: Y is a mixture of three laws, drawn from two geometric samples
and a one-hot LS, at little cost beside the n^3 ANDs of the count. Lemma 2: the circuit's law is within 2^(2 - s) of the
mechanism's. Lemma 3: its mean error, by which `is_worth_it` compares it with plain Laplace noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise

import gmpy2

from protocols.release.geometric import GUARD_BITS, OneSidedGeometric
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import security_for
from smc.circuit import Integer, decode, multiply, pick, select

REACHED = 1e-12  # most mass of a law that an interval's sum may omit


@dataclass(frozen=True)
class Ladder:
    """Law of the noise Y on a triangle count by the ladder mechanism, for graphs of at least 3 vertices.

    `epsilon` is that of one edge added or removed. The law of the circuit is within 2^(2 - `security`)
    of the mechanism's. See docs/math/ladder.md.
    """

    vertices: int
    epsilon: Fraction
    security: int

    @property
    def most(self) -> int:
        """Greatest local sensitivity that a graph can have."""
        return self.vertices - 2

    @property
    def geometric(self) -> OneSidedGeometric:
        """Distribution of the two geometric samples of a draw."""
        return OneSidedGeometric(2 / self.epsilon, self.security)

    @property
    def uniform(self) -> int:
        """Number k of uniform bits from which the step i of the ladder is drawn."""
        return self.security + self.vertices.bit_length()

    @property
    def bits(self) -> int:
        """Number of uniform secret bits that one sample takes: for a, b, the choice of the part, i, and the sign."""
        return 2 * self.geometric.bits + self.security + self.uniform + 1

    @cached_property
    def thresholds(self) -> tuple[tuple[int, int], ...]:
        """Probabilities of the third part of the mixture, and of the second or third, for each LS.

        They are multiplied by 2^security.
        """
        with gmpy2.context(precision=self.security + GUARD_BITS):
            q = gmpy2.exp(-gmpy2.mpfr(gmpy2.mpq(self.epsilon)) / 2)
            here, near, far = (1 - q) ** 2, 2 * q * (1 - q), 2 * q**2
            totals = [here + near * common + far for common in range(self.most + 1)]
            whole = gmpy2.exp2(self.security)
            return tuple(
                (int(gmpy2.rint(whole * far / total)), int(gmpy2.rint(whole * (total - here) / total)))
                for total in totals
            )

    def draw(self, common: Integer, random: Integer) -> Integer:
        """Return the circuit: from LS and uniform wires to Y, signed.

        Args:
            common: LS of the graph, with the width of the greatest possible LS.
            random: Uniform wires, `bits` of them.
        """
        law = self.geometric
        ends = accumulate((law.bits, law.bits, self.security, self.uniform, 1), initial=0)
        one, other, choice, fraction, sign = (random[start:end] for start, end in pairwise(ends))
        first, second = law.draw(one), law.draw(other)
        table = decode(common)[: self.most + 1]
        is_far, is_moved = (
            choice < pick(table, [Integer.constant(common.graph, row[part]) for row in self.thresholds])
            for part in (0, 1)
        )
        rung = first.wide_add(select(is_far, second.wide_add(1), 0))
        near = Integer(common.graph, (common * fraction).wires[self.uniform :]).wide_add(1)
        beyond = select(is_far, common.wide_add(first.wide_add(1)), near)
        width = 2 * len(rung) + len(common) + 2
        below = multiply(rung, common, width) + (multiply(rung, rung, width) - rung.resize(width) >> 1)
        distance = select(is_moved, below.resize(width).wide_add(beyond), 0)
        return select(sign[0], 0 - distance.extend(len(distance) + 1).as_signed(), distance)

    def law(self, common: int) -> dict[int, Fraction]:
        """Return the exact probability of each value of the circuit's noise Y, if the local sensitivity LS is `common`.

        Its size grows with the square of a geometric sample's range, so use it for small ranges.
        """
        far, moved = (Fraction(part, 1 << self.security) for part in self.thresholds[common])
        samples, shares = self.geometric.probabilities(), self._shares(common)
        found: dict[int, Fraction] = {0: 1 - moved}

        def put(distance: int, chance: Fraction) -> None:
            for number in (distance, -distance):
                found[number] = found.get(number, Fraction(0)) + chance / 2

        for a, of_a in samples.items():
            for i, share in enumerate(shares, 1):
                put(below(a, common) + i, (moved - far) * of_a * share)
            for b, of_b in samples.items():
                put(below(a + b + 1, common) + common + a + 1, far * of_a * of_b)
        return found

    def _shares(self, common: int) -> list[Fraction]:
        """Return the probabilities of the step i = 1, 2, ..., LS."""
        ends = [-(-(i << self.uniform) // common) for i in range(common + 1)] if common else []
        return [Fraction(end - start, 1 << self.uniform) for start, end in pairwise(ends)]

    def reach(self, common: int, confidence: float) -> int:
        """Return a bound on the size |Y| of the noise at the given confidence: the least R_u that is one.

        Args:
            common: LS of the graph, most common neighbours of two vertices.
            confidence: Probability that |Y| is within the result, below 1.
        """
        q, inside, rung = math.exp(-float(self.epsilon) / 2), 1.0, 0
        whole = 1 + 2 * (common * q / (1 - q) + q**2 / (1 - q) ** 2)
        while inside < confidence * whole - REACHED:
            inside += 2 * (common + rung) * q ** (rung + 1)
            rung += 1
        return below(rung, common)

    def error(self, common: int) -> float:
        """Return the mean of |Y|, the error, at a local sensitivity."""
        q = math.exp(-float(self.epsilon) / 2)
        m = q / (1 - q)
        weights = (1 - q) ** 2, 2 * q * (1 - q) * common, 2 * q**2
        means = 0, common * (m + 0.5) + m**2 + 0.5, 2 * common * (m + 1) + 3 * m**2 + 3 * m + 1
        return sum(w * mean for w, mean in zip(weights, means, strict=True)) / sum(weights)


def below(rung: int, common: int) -> int:
    """Return R_u, the greatest distance of the numbers of a rung from the number of triangles.

    Args:
        rung: Number u of the rung.
        common: LS of the graph.
    """
    return rung * common + rung * (rung - 1) // 2


@lru_cache(maxsize=32)
def ladder(vertices: int, epsilon: Fraction, changes: int = 1) -> Ladder:
    """Return the noise distribution of the ladder mechanism whose result is epsilon-private.

    Args:
        vertices: Number of vertices, 3 at least.
        epsilon: Epsilon of the answer.
        changes: Number of edges by which neighbouring graphs differ.
    """
    return Ladder(vertices, epsilon / changes, security_for(epsilon, 4))


def plain(vertices: int, epsilon: Fraction, changes: int = 1) -> DiscreteLaplace:
    """Return epsilon-private Laplace noise by the global sensitivity, n - 2 triangles for one edge.

    Args:
        vertices: Number of vertices, 3 at least.
        epsilon: Epsilon of the answer.
        changes: Number of edges by which neighbouring graphs differ.

    Raises:
        InputError: Epsilon is too small for this number of vertices.
    """
    return DiscreteLaplace((vertices - 2) * changes / epsilon, security_for(epsilon))


def is_worth_it(vertices: int, epsilon: Fraction, changes: int = 1) -> bool:
    """Return whether the ladder mechanism has a smaller error than plain noise at local sensitivity 1.

    Args:
        vertices: Number of vertices, 3 at least.
        epsilon: Epsilon of the answer.
        changes: Number of edges by which neighbouring graphs differ.
    """
    scale = (vertices - 2) * changes / float(epsilon)
    return ladder(vertices, epsilon, changes).error(1) < 1 / math.sinh(1 / scale)

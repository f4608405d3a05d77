"""Secret coins of public bias: a uniform number of a bits is compared with the public integer round(p 2^a).

A coin falls 1 with probability exactly threshold / 2^a, which is wrong by at most 2^-(a + 1).

**One coin.** r < c is decided by the first bit, from the top, in which the two differ: it is c's bit there. With d_i =
r_i ^ c_i and p_i = "the first i bits do not differ", a chain of ANDs gives all p_i, and the answer is the XOR of those
p_(i-1) ^ p_i with c_i = 1, for free: a - 1 ANDs, one less for each trailing zero of c. A chain of a bits is as many
levels deep. Cut into blocks, each with a chain of its own, the answers join as out_1 ^ (same_1 & (out_2 ^ (same_2 &
...))): one AND a joint where the longer chain had one, so the number of ANDs stays; and blocks of n, n - 1, ..., 2, 1
bits are all ready when they are needed, n levels deep for n (n + 1) / 2 bits: 9 levels for 43 bits.

**Several coins.** The first h bits almost always decide: they do not differ with probability 2^-h. So each coin has h
bits of its own, and the a - h bits that follow serve all coins together, as does the chain over them: n coins cost
n h + a - h - 1 ANDs, not n (a - 1). Each coin by itself has the same bias as before. As long as at most one asks for
the common bits, all is as if each had its own; so the joint law is that of independent coins within C(n, 2) 2^-2h, the
probability that some two ask. h of about (s + log2 n^2) / 2 bits does for a distance of 2^-s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

from smc.circuit import Integer, Wire, parity
from smc.circuit.graph import ONE, ZERO
from smc.circuit.prefix import scan


@dataclass(frozen=True)
class Coins:
    """Coins of `width` bits each, `own` of which serve one coin only.

    Coin i falls 1 with probability thresholds[i] / 2^width. The coins are independent if `own` equals `width`;
    otherwise within `dependence`. A threshold is below 2^width.
    """

    thresholds: tuple[int, ...]
    width: int
    own: int

    def __post_init__(self) -> None:
        if not 0 < self.own <= self.width:
            raise ValueError(f"{self.own} of {self.width} bits of a coin are its own")
        if not all(0 <= threshold < 1 << self.width for threshold in self.thresholds):
            raise ValueError(f"the thresholds of coins of {self.width} bits are from 0 to 2^{self.width} - 1")

    @property
    def dependence(self) -> Fraction:
        """Bound on the statistical distance to independent coins of equal biases."""
        if self.own == self.width:
            return Fraction(0)
        pairs = len(self.thresholds) * (len(self.thresholds) - 1) // 2
        return Fraction(pairs, 1 << 2 * self.own)

    @property
    def bits(self) -> int:
        """Number of uniform bits that all coins take."""
        return self._common + sum(map(self._needed, self.thresholds))

    def toss(self, random: Integer) -> list[Wire]:
        """Return the results of the coins as wires, computed from `bits` uniform wires."""
        if len(random) != self.bits:
            raise ValueError(f"these coins take {self.bits} uniform bits, got {len(random)}")
        common = first_ones(random[: self._common])
        place, wires = self._common, []
        for threshold in self.thresholds:
            head, tail = threshold >> self._common, threshold & (1 << self._common) - 1
            end = place + self._needed(threshold)
            own = digits(head, self.own)[: end - place]
            wires.append(_coin(random[place:end], own, chosen(common, digits(tail, self._common))))
            place = end
        return wires

    def law(self) -> list[Fraction]:
        """Return the exact probability of each outcome, Fraction[2^coins]: coin i is digit i of the index."""
        # Given the place of the first one among the common bits, the coins are independent.
        total = [0] * (1 << len(self.thresholds))
        for first in range(self._common + 1):
            weight = 1 << max(0, self._common - 1 - first)  # the last place is "none": as likely as the one before
            table = [weight]
            for threshold in self.thresholds:
                asked = threshold >> (self._common - 1 - first) & 1 if first < self._common else 0
                one = (threshold >> self._common) + asked
                table = [mass * ((1 << self.own) - one) for mass in table] + [mass * one for mass in table]
            total = [sum(masses) for masses in zip(total, table, strict=True)]
        whole = self._common + self.own * len(self.thresholds)
        return [Fraction(mass, 1 << whole) for mass in total]

    @property
    def _common(self) -> int:
        return self.width - self.own

    def _needed(self, threshold: int) -> int:
        """Return the number of own bits that a coin takes: not those below its last digit 1."""
        if threshold & (1 << self._common) - 1:
            return self.own
        head = threshold >> self._common
        return self.own - ((head & -head).bit_length() - 1) if head else 0


def first_ones(bits: Integer) -> list[Wire]:
    """Return the position of the first 1 from the top, as one-hot bits; all bits are 0 if there is no 1.

    It takes n - 1 AND gates for n bits, at depth n - 1. In the form "depth" it takes about n / 2 log2 n, at depth
    log2 n.
    """
    zeros = [~wire for wire in reversed(bits.wires)]
    clear = scan(zeros, Wire.__and__) if bits.graph.form == "depth" else list(accumulate(zeros, Wire.__and__))
    return [before ^ after for before, after in pairwise([Wire(bits.graph, ONE), *clear])]


def chosen(onehot: Sequence[Wire], digits: Sequence[int]) -> Wire | None:
    """Return the public digit at the one-hot position, for free; None if all digits are 0.

    Args:
        onehot: Wires of which one is 1 at most.
        digits: Public digits, 0 or 1, one for each wire.
    """
    wires = [wire for wire, digit in zip(onehot, digits, strict=True) if digit]
    return parity(wires) if wires else None


def digits(number: int, width: int) -> list[int]:
    """Return the binary digits of a number, the highest first.

    Args:
        number: A number from 0 up.
        width: Number of digits; higher digits are left out.
    """
    return [number >> place & 1 for place in reversed(range(width))]


def _coin(random: Integer, limit: Sequence[int], rest: Wire | None) -> Wire:
    """Return whether a uniform number is below a public one; if all their digits are equal, `rest` (None: no)."""
    differ = [wire ^ digit for wire, digit in zip(reversed(random.wires), limit, strict=True)]
    answer = rest
    for block in _blocks(len(limit), 0 if rest is None else rest.depth):
        out, same = _chain(differ[block], limit[block])
        answer = out if answer is None else out ^ (same & answer)
    return Wire(random.graph, ZERO) if answer is None else answer


def _chain(differ: Sequence[Wire], limit: Sequence[int]) -> tuple[Wire, Wire]:
    """Return the limit's digit where the first of some places differs (0 if none does), and whether none differs."""
    same = list(accumulate((~wire for wire in differ), Wire.__and__, initial=Wire(differ[0].graph, ONE)))
    out = chosen([before ^ after for before, after in pairwise(same)], limit)
    return Wire(differ[0].graph, ZERO) if out is None else out, same[-1]


def _blocks(length: int, ready: int) -> Iterator[slice]:
    """Yield blocks that cover `length` places, from the last one.

    Each is ready when the places that follow it are, at depth `ready`.
    """
    while length:
        ready += 1
        yield slice(max(0, length - ready), length)
        length = max(0, length - ready)

"""Secret coins of public bias: a uniform number of a bits is compared with the public integer round(p 2^a).

A coin falls 1 with probability exactly threshold / 2^a, which is wrong by at most 2^-(a + 1).

**One coin.** r < c is decided by the highest bit in which the two differ: the result is c's bit there. Let d_i = r_i ^
c_i and p_i = "the first i bits do not differ". A chain of ANDs gives all p_i. The result is the XOR of those p_(i-1) ^
p_i with c_i = 1, which is free. So a coin takes a - 1 ANDs, one less for each trailing zero of c. A chain of a bits is
a levels deep. A shallower circuit cuts it into blocks, each with a chain of its own, joined as out_1 ^ (same_1 & (out_2
^ (same_2 & ...))). A joint takes one AND, as the longer chain does there. Blocks of n, n - 1, ..., 2, 1 bits are n
levels deep for n (n + 1) / 2 bits: 9 levels for 43 bits.

**Several coins.** The first h bits almost always decide: only with probability 2^-h do they not differ. So each coin
has h bits of its own, and all coins share the following a - h bits and the chain over them: n coins cost n h + a - h -
1 ANDs, not n (a - 1). The bias of each coin stays the same. If at most one coin needs the shared bits, the coins are
independent. So the joint law is that of independent coins within C(n, 2) 2^-2h, a bound on the probability that two
coins need them. About (s + log2 n^2) / 2 bits for h give a distance of 2^-s.
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
    """Coins that compare `width` random bits each; `own` of these belong to one coin, all coins share the others.

    Coin i falls 1 with probability thresholds[i] / 2^width. The coins are independent if `own` equals `width`;
    otherwise within `dependence`. Raise ValueError unless 0 < own <= width, and all thresholds are below 2^width.
    """

    thresholds: tuple[int, ...]
    width: int
    own: int

    def __post_init__(self) -> None:
        if not 0 < self.own <= self.width:
            raise ValueError(
                f"a coin has {self.own} bits of its own, must be from 1 to {self.width}, all bits of a coin"
            )
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
        """Number of uniform bits that all coins together take."""
        return self._common + sum(map(self._needed, self.thresholds))

    def toss(self, random: Integer) -> list[Wire]:
        """Return the results of the coins as wires, from `bits` uniform wires. Raise ValueError for another number."""
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
        """Return the number of own bits that a coin compares: those below the threshold's last 1 cannot decide."""
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
    """Return the public digit at the one-hot position, without AND gates; None if all digits are 0.

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
    """Return whether a uniform number is below a public limit; if all digits are equal, `rest` decides (None: no)."""
    differ = [wire ^ digit for wire, digit in zip(reversed(random.wires), limit, strict=True)]
    answer = rest
    for block in _blocks(len(limit), 0 if rest is None else rest.depth):
        out, same = _chain(differ[block], limit[block])
        answer = out if answer is None else out ^ (same & answer)
    return Wire(random.graph, ZERO) if answer is None else answer


def _chain(differ: Sequence[Wire], limit: Sequence[int]) -> tuple[Wire, Wire]:
    """Return the limit's digit at the first position that differs (0 if none does), and whether no position differs."""
    same = list(accumulate((~wire for wire in differ), Wire.__and__, initial=Wire(differ[0].graph, ONE)))
    out = chosen([before ^ after for before, after in pairwise(same)], limit)
    return Wire(differ[0].graph, ZERO) if out is None else out, same[-1]


def _blocks(length: int, ready: int) -> Iterator[slice]:
    """Yield blocks that cover `length` positions, the last block first.

    Each block is as deep as the result of all blocks behind it, which is ready at depth `ready` at first.
    """
    while length:
        ready += 1
        yield slice(max(0, length - ready), length)
        length = max(0, length - ready)

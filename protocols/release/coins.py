"""Secret coins of public bias: a uniform number of a bits is compared with the public integer round(p 2^a).

The coin falls 1 with probability exactly threshold / 2^a, which is wrong by at most 2^-(a + 1). Cost: at most a - 1
ANDs, one less for each trailing zero of the threshold.

r < c is decided by the first bit, from the top, in which the two differ: it is c's bit there. With d_i = r_i ^ c_i and
p_i = "the first i bits do not differ", a chain of ANDs gives all p_i, and the answer is the XOR of those p_(i-1) ^ p_i
with c_i = 1, for free. A chain of a bits is a - 1 levels deep. Cut into blocks, each with a chain of its own, the
answers join as out_1 ^ (same_1 & (out_2 ^ (same_2 & ...))): one AND a joint where the longer chain had one, so the
number of ANDs stays; and blocks of n, n - 1, ..., 2, 1 bits are all ready when they are needed, n levels deep for
n (n + 1) / 2 bits: 9 levels for 43 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from smc.circuit import Integer, Wire
from smc.circuit.graph import ONE, ZERO


@dataclass(frozen=True)
class Coins:
    """Independent coins, number i falling 1 with probability thresholds[i] / 2^width."""

    thresholds: tuple[int, ...]
    width: int

    @property
    def bits(self) -> int:
        """Uniform bits that all coins take."""
        return sum(random_bits(threshold, self.width) for threshold in self.thresholds)

    def toss(self, random: Integer) -> list[Wire]:
        """The coins, from `bits` uniform wires."""
        wires, place = [], 0
        for threshold in self.thresholds:
            end = place + random_bits(threshold, self.width)
            wires.append(coin(random[place:end], threshold, self.width))
            place = end
        return wires

    def law(self) -> list[Fraction]:
        """The exact probability of each outcome, Fraction[2^coins]: coin i is digit i of the index."""
        table = [Fraction(1)]
        for threshold in self.thresholds:
            one = Fraction(threshold, 1 << self.width)
            table = [mass * (1 - one) for mass in table] + [mass * one for mass in table]
        return table


def random_bits(threshold: int, width: int) -> int:
    """Uniform bits that the coin takes: the width without the threshold's trailing zeros, none for a sure outcome."""
    if not 0 <= threshold <= 1 << width:
        raise ValueError(f"the threshold of a coin of {width} bits is {threshold}, must be from 0 to 2^{width}")
    if threshold in (0, 1 << width):
        return 0
    return width - ((threshold & -threshold).bit_length() - 1)


def coin(random: Integer, threshold: int, width: int) -> Wire:
    """1 with probability threshold / 2^width, from `random_bits(threshold, width)` uniform wires."""
    needed = random_bits(threshold, width)
    if len(random) != needed:
        raise ValueError(f"this coin takes {needed} uniform bits, got {len(random)}")
    if not needed:
        return Wire(random.graph, ONE if threshold else ZERO)
    digits = [threshold >> (width - 1 - place) & 1 for place in range(needed)]  # from the top
    differ = [wire ^ digit for wire, digit in zip(reversed(random.wires), digits, strict=True)]
    answer: Wire | None = None
    for block in reversed(_blocks(needed)):
        out, same = _chain(differ[block], digits[block])
        answer = out if answer is None else out ^ (same & answer)
    assert answer is not None
    return answer


def _chain(differ: list[Wire], digits: list[int]) -> tuple[Wire, Wire]:
    """Of some places: the digit of the first that differs (0 if none does), and whether none does."""
    same = [Wire(differ[0].graph, ONE)]
    for wire in differ:
        same.append(same[-1] & ~wire)
    out = Wire(differ[0].graph, ZERO)
    for digit, (before, after) in zip(digits, pairwise(same), strict=True):
        if digit:
            out = out ^ before ^ after
    return out, same[-1]


def _blocks(length: int) -> list[slice]:
    """Blocks of decreasing length, each one shorter than the one before, that cover `length` places."""
    first = 1
    while first * (first + 1) // 2 < length:
        first += 1
    bounds = [0]
    while bounds[-1] < length:
        bounds.append(min(length, bounds[-1] + max(1, first + 1 - len(bounds))))
    return [slice(low, high) for low, high in pairwise(bounds)]

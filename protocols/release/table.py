"""Noise of any public law on m points: one biased coin for each binary digit, with a bias that depends on higher
digits.

The digits of a point's number are drawn from the highest. Digit l is 1 with the public conditional probability of the
law given the higher digits, so it has up to 2^l thresholds. They are compared without a secret look-up. The position of
the first 1 of a uniform number of a bits is found once (a - 1 ANDs). A coin for *every* public threshold is then the
XOR of some position bits, which is free (`protocols.release.coins`). The drawn digits select one of these coins by a
tree of multiplexers; only its last layer waits for the previous digit. So t digits take less than m + t (a - 1) ANDs,
and t levels more than one coin. A look-up by a decoded index would take 2^t ANDs to decode, t (a - 1) to compare and a
chain of t comparisons. A symmetric law draws |x| and a uniform bit as the sign: t ANDs more.

Statistical distance. Each digit's probability is wrong by at most 2^-(a + 1): with a = s + ceil(log2 t) at most 2^-(s +
1) in all. `missing` is the distance between the weights and the ideal law; the caller states it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from typing_extensions import override

from protocols.release.coins import chosen, digits, first_ones
from protocols.release.laws import SECURITY, Law, check_security
from smc.circuit import Integer, Wire, mux
from smc.circuit.graph import ONE, ZERO
from smc.errors import InputError

LARGEST = 1 << 12  # most points of a table

Row = int | None  # a threshold; None where the probability is 0


@dataclass(frozen=True)
class PublicTable(Law):
    """Law on the points 0, 1, ... with public integer weights. With `symmetric` the sample gets a random sign.

    `missing` is the statistical distance between these weights and the ideal law. Rounding adds at most
    2^-(`security` + 1). Raise InputError for more than 4,096 points, or weights that are negative or all 0.
    """

    weights: tuple[int, ...]
    symmetric: bool = False
    security: int = SECURITY
    missing: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 1 <= len(self.weights) <= LARGEST:
            raise InputError(f"a table of a law has 1 to {LARGEST} points, not {len(self.weights)}")
        if min(self.weights) < 0 or not any(self.weights):
            raise InputError("the weights of a law must not be negative, nor all 0")
        check_security(self.security)

    @property
    def digits(self) -> int:
        """Number t of binary digits that number the points."""
        return (len(self.weights) - 1).bit_length()

    @property
    def precision(self) -> int:
        """Number a of bits of each coin."""
        return self.security + max(0, self.digits - 1).bit_length()

    @property
    @override
    def bits(self) -> int:
        return self.digits * self.precision + (self.least < 0)

    @property
    @override
    def least(self) -> int:
        return -self.greatest if self.symmetric else 0

    @property
    @override
    def greatest(self) -> int:
        return len(self.weights) - 1

    @property
    @override
    def distance(self) -> Fraction:
        return self.missing + Fraction(self.digits, 2 << self.precision)

    @override
    def draw(self, random: Integer) -> Integer:
        fallen: list[Wire] = []
        for level, rows in enumerate(_thresholds(self.weights, self.precision)):
            onehot = first_ones(random[level * self.precision : (level + 1) * self.precision])
            answers = [None if row is None else _answer(onehot, row, self.precision) for row in rows]
            fallen.append(_picked(answers, fallen))
        point = Integer(random.graph, fallen[::-1])
        if not self.least:
            return point
        sign = random[-1]
        flipped = [*(wire ^ sign for wire in point), sign]
        return (Integer(random.graph, flipped) + Integer(random.graph, [sign])).as_signed()

    @override
    def probabilities(self) -> dict[int, Fraction]:
        table = [Fraction(1)]
        for rows in _thresholds(self.weights, self.precision):
            ones = [Fraction(row or 0, 1 << self.precision) for row in rows]
            table = [mass * part for mass, one in zip(table, ones, strict=False) for part in (1 - one, one)]
        points = {value: mass for value, mass in enumerate(table) if mass}
        if not self.symmetric:
            return points
        return {sign * value: mass / (2 if value else 1) for value, mass in points.items() for sign in (-1, 1)}


@lru_cache(maxsize=64)
def _thresholds(weights: tuple[int, ...], precision: int) -> list[list[Row]]:
    """Return the thresholds of each digit of a draw, the highest digit first.

    They are indexed by the number that the higher digits form. `weights` are those of the numbers from 0; a threshold
    has `precision` bits.
    """
    levels: list[list[Row]] = []
    masses = list(weights)
    for _ in range((len(weights) - 1).bit_length()):
        masses += [0] * (len(masses) % 2)
        rows = [(masses[i + 1], masses[i] + masses[i + 1]) for i in range(0, len(masses), 2)]
        levels.insert(0, [_rounded(one << precision, whole) if whole else None for one, whole in rows])
        masses = [whole for _, whole in rows]
    return levels


def _rounded(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)


def _answer(onehot: Sequence[Wire], threshold: int, width: int) -> Wire:
    """Return a coin, 1 with probability threshold / 2^width, from the one-hot position of a uniform number's first 1.

    The coin is the threshold's digit at that position.
    """
    graph = onehot[0].graph
    if threshold == 1 << width:
        return Wire(graph, ONE)
    answer = chosen(onehot, digits(threshold, width))
    return Wire(graph, ZERO) if answer is None else answer


def _picked(answers: Sequence[Wire | None], places: Sequence[Wire]) -> Wire:
    """Return answers[i], where the wires `places` are the digits of i, the highest first; the lowest selects last."""
    row = list(answers)
    for left, place in enumerate(places, 1):
        half = 1 << (len(places) - left)
        upper = [*row[half:], *[None] * half]
        row = [
            low if high is None else high if low is None else mux(place, high, low)
            for low, high in zip(row[:half], upper, strict=False)
        ]
    (answer,) = row
    assert answer is not None, "the table of the law has no point"
    return answer

"""How alike are two rows? The weight of Fellegi and Sunter, as a circuit.

Source: Fellegi, Sunter, "A Theory for Record Linkage", JASA 64 (1969). A *comparison* of a column has levels of
agreement: the texts are equal, or Dice's coefficient of their q-grams (Dice, Ecology 26, 1945) reaches a threshold, or
neither. Each level has a public weight log2(m / u): m is its probability for two rows about one person, u for two
others. A missing value has weight 0. The weight of a pair is the sum over the comparisons.

Weights are sixteenths, so a sum of n comparisons is off by at most n / 32. Dice's coefficient is compared exactly:
2 |A and B| q >= p |A| + p |B| for the threshold p / q. Each party enters p times the size of its own set.

ANDs of a pair, in the form "size": 63 for equality, and 127 + 121 for the size of a common set of 128 bits, then about
25 for each threshold and 10 for each comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from protocols.alignment.grams import SET, TAG, gram_sets, tags
from smc.circuit import Builder, Integer, Netlist, Wire, parity, total
from smc.circuit.kept import kept
from smc.primitives.bits import BitMatrix, from_integers

UNIT = 16  # of a weight of 1


def match_weight(m: float, u: float) -> float:
    """Return log2(m / u).

    Args:
        m: Probability of the level for two rows about one person, above 0.
        u: Probability of the level for rows about two persons, above 0.

    Examples:
        >>> match_weight(0.8, 0.1)
        3.0
    """
    return math.log2(m / u)


@dataclass(frozen=True)
class Level:
    """A level of agreement.

    Attributes:
        least: The least Dice coefficient; None for equal texts.
        weight: Its weight, in sixteenths.
    """

    least: Fraction | None
    weight: int


@dataclass(frozen=True)
class Comparison:
    """A comparison of one column.

    Attributes:
        levels: Levels of agreement, the strictest first.
        other: Weight if no level is reached, in sixteenths.
    """

    levels: tuple[Level, ...]
    other: int

    @property
    def weights(self) -> tuple[int, ...]:
        """The possible weights, 0 for a missing value first."""
        return (0, *(level.weight for level in self.levels), self.other)

    @property
    def thresholds(self) -> list[Fraction]:
        """Least Dice coefficient of each level that has one."""
        return [level.least for level in self.levels if level.least is not None]

    @property
    def tests_equality(self) -> bool:
        """Whether a level needs equal texts."""
        return any(level.least is None for level in self.levels)

    @property
    def widths(self) -> tuple[int, ...]:
        """Bits of the parts of a value: whether it is present, its tag, its set of q-grams, multiples of its size."""
        sets = [SET] if self.thresholds else []
        sizes = [(least.numerator * SET).bit_length() for least in self.thresholds]
        return (1, *([TAG] if self.tests_equality else []), *sets, *sizes)

    def encoded(self, texts: Sequence[str | None]) -> BitMatrix:
        """Return the bits of texts, uint8[sum of widths, texts]; all are 0 for None, a missing text."""
        present = np.array([[text is not None for text in texts]], dtype=np.uint8)
        parts = [present, *([tags(texts)] if self.tests_equality else [])]
        if self.thresholds:
            sets = gram_sets(texts)
            size = sets.sum(axis=0, dtype=np.int64)
            multiples = zip(self.thresholds, self.widths[-len(self.thresholds) :], strict=True)
            parts += [sets, *(from_integers(least.numerator * size, width) for least, width in multiples)]
        return np.concatenate(parts)


def width_of(comparisons: Sequence[Comparison]) -> int:
    """Return the number of bits of a row."""
    return sum(sum(comparison.widths) for comparison in comparisons)


@kept
def pair_weight(comparisons: tuple[Comparison, ...], threshold: int) -> Netlist:
    """Build the circuit of a pair of rows, in the form "size": the form "depth" saves two of some 25 levels.

    Args:
        comparisons: The comparisons of the columns.
        threshold: Least weight of a match, in sixteenths. It is above the sum of the least weights.

    Returns:
        The circuit. Its inputs are the block tag and the row of party 0, then those of party 1. Its output is the
        weight above the least possible one if the tags are equal and the weight reaches the threshold, else 0.
    """
    builder = Builder()
    block, left, other_block, right = (builder.input(width) for width in (TAG, width_of(comparisons)) * 2)
    cut = _parts(left, comparisons), _parts(right, comparisons)
    least = [min(comparison.weights) for comparison in comparisons]
    most = sum(max(comparison.weights) for comparison in comparisons) - sum(least)
    summands = [
        _weight(builder, comparison, offset, *([next(parts) for _ in comparison.widths] for parts in cut))
        for comparison, offset in zip(comparisons, least, strict=True)
    ]
    weight = total(summands, max(1, most.bit_length()))
    stands = (block == other_block) & (weight >= threshold - sum(least))
    builder.output([bit & stands for bit in weight])
    return builder.build()


def _parts(row: Integer, comparisons: Sequence[Comparison]) -> Iterator[Integer]:
    start = 0
    for comparison in comparisons:
        for width in comparison.widths:
            yield row[start : start + width]
            start += width


def _weight(
    builder: Builder, comparison: Comparison, offset: int, left: list[Integer], right: list[Integer]
) -> Integer:
    """Return the weight of a comparison less the offset: one-hot levels select public numbers, without a gate."""
    present = left.pop(0)[0] & right.pop(0)[0]
    equal = (left.pop(0) == right.pop(0)) if comparison.tests_equality else None
    if comparison.thresholds:
        both = [builder.integer([x & y]) for x, y in zip(left.pop(0), right.pop(0), strict=True)]
        common = total(both, SET.bit_length())
    reached: list[Wire] = []  # each level includes the stricter ones
    for level in comparison.levels:
        if level.least is None:
            assert equal is not None
            reached.append(present & equal)
        else:
            bound = left.pop(0).wide_add(right.pop(0))
            reached.append(present & (common * (2 * level.least.denominator) >= bound))
    nothing, steps = builder.constant(0, 1)[0], [*reached, present]
    onehot = [~present, *(after ^ before for before, after in zip([nothing, *steps], steps, strict=False))]
    numbers = [weight - offset for weight in comparison.weights]
    chosen = [
        [wire for wire, number in zip(onehot, numbers, strict=True) if number >> place & 1]
        for place in range(max(1, max(numbers).bit_length()))
    ]
    return builder.integer([parity([nothing, *wires]) for wires in chosen])

"""Estimates of the m and u probabilities of `weights` from one table, on its owner's machine.

*u*, the share of a level among pairs of rows about two persons, is its share among random pairs of rows. *m*, its share
among pairs about one person, follows from the table's own duplicates. Expectation maximisation finds them among the
rows of one block; columns of the blocking rule are left out (Dempster, Laird, Rubin, JRSS B 39, 1977; Winkler, "Using
the EM Algorithm for Weight Computation in the Fellegi-Sunter Model of Record Linkage", ASA 1988). In this model, levels
of different columns are independent. Then u is counted again: each random pair counts by its chance to be no duplicate.

Without duplicates there is nothing to estimate m from, and namesakes would look like duplicates. So a rule counts only
if `LEAST` of its pairs are duplicates with a probability of `SURE`, if these are most of the expected ones, and if most
of them agree somewhat in each column: families differ in forenames.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocols.alignment.grams import gram_sets
from protocols.alignment.weights import Comparison
from protocols.arrays import Numbers
from smc.errors import InputError

PAIRS = 1 << 21  # random pairs, and at most as many of a rule
FEWEST = 100  # rows
LEAST, SURE = 50, 0.9
ROUNDS, STEPS = 3, 200  # of u and m in turn; of expectation maximisation
Texts = Sequence[str | None]
Floats = NDArray[np.floating[Any]]
Shares = list[Floats]  # of each column, the share of each level, `else` last
Levels = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Estimate:
    """Estimated probabilities, rounded to two digits.

    Attributes:
        m: For each column the m probabilities of its levels.
        u: For each column the u probabilities of its levels.
        is_own: Whether a column's m is from the table. Without enough duplicates it is the given one.
        duplicates: Expected number of duplicates in the blocks of the rule that finds the most.
    """

    m: list[list[float]]
    u: list[list[float]]
    is_own: list[bool]
    duplicates: float


def levels(comparison: Comparison, texts: Texts, left: Numbers, right: Numbers) -> Levels:
    """Return the level of each pair of rows, as the circuit decides it: int8[pairs], 0 for a missing value.

    Args:
        comparison: The comparison of the column.
        texts: The column's texts.
        left: Index of the first row of each pair.
        right: Index of the second row.
    """
    code_of = {text: code for code, text in enumerate(dict.fromkeys([None, *texts]))}
    codes = np.array([code_of[text] for text in texts])
    left, right = codes[left], codes[right]
    sets = np.packbits(gram_sets([*code_of]), axis=0).T.copy().view(np.uint64)  # uint64[texts, 2]
    size = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
    common = np.bitwise_count(sets[left] & sets[right]).sum(axis=1, dtype=np.int64)
    found = np.full(len(left), len(comparison.levels) + 1, dtype=np.int8)
    for number, level in reversed([*enumerate(comparison.levels, 1)]):
        if level.least is None:
            found[left == right] = number
        else:
            found[2 * common * level.least.denominator >= level.least.numerator * (size[left] + size[right])] = number
    found[(left == 0) | (right == 0)] = 0
    return found


def pairs_in_blocks(blocks: Texts, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Return the pairs of rows that have one block, at most `PAIRS`, as two arrays of row indices.

    Args:
        blocks: The block of each row; None for no block.
        rng: Source of the order of rows, which decides on the pairs beyond the bound.
    """
    code_of = {block: code for code, block in enumerate(dict.fromkeys([None, *blocks]))}
    codes = np.array([code_of[block] for block in blocks])
    rows = rng.permutation(np.flatnonzero(codes))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    found, distance = [np.zeros((2, 0), dtype=np.int64)], 1
    while sum(some.shape[1] for some in found) < PAIRS:
        one_block = codes[rows[:-distance]] == codes[rows[distance:]]
        if not one_block.any():
            break
        found.append(np.stack([rows[:-distance][one_block], rows[distance:][one_block]]))
        distance += 1
    left, right = np.concatenate(found, axis=1)[:, :PAIRS]
    return left, right


@dataclass(frozen=True)
class _Patterns:
    """Pairs of rows with equal levels: int64[columns, patterns], the number of pairs, the levels of each column."""

    levels: Levels
    counts: Floats
    sizes: list[int]

    @classmethod
    def of(cls, compared: Sequence[tuple[Comparison, Texts]], left: Numbers, right: Numbers) -> _Patterns:
        every = [levels(*one, left, right) for one in compared]
        sizes = [len(one.levels) + 1 for one, _ in compared]
        shape = [size + 1 for size in sizes]
        found, counts = np.unique(np.ravel_multi_index(every, shape), return_counts=True)
        return cls(np.stack(np.unravel_index(found, shape)), counts.astype(np.float64), sizes)

    def sums(self, weights: Floats) -> Shares:
        """Return the sum of the weights at each level, and a half more: no share is 0."""
        columns = zip(self.levels, self.sizes, strict=True)
        return [np.bincount(found, weights, size + 1)[1:] + 0.5 for found, size in columns]

    def chances(self, m: Shares, u: Shares, columns: Iterable[int], share: float) -> Floats:
        """Return the probability of each pattern to be about one person, if a share of all pairs is."""
        odds = np.full(len(self.counts), share / (1 - share))
        for column in columns:
            odds *= np.array([1.0, *(m[column] / u[column])])[self.levels[column]]
        return odds / (1 + odds)


def _normal(sums: Shares) -> Shares:
    return [one / one.sum() for one in sums]


def _duplicates(pairs: _Patterns, columns: set[int], first: Shares, u: Shares) -> tuple[Shares, float] | None:
    """Return the levels of the duplicates of a rule and their number; None if they are few, chance, or families."""
    m, share, weights, chances = first, 0.1, pairs.counts, pairs.counts
    if len(columns) < 2 or not weights.sum():
        return None
    for _ in range(STEPS):
        chances = pairs.chances(m, u, columns, share)
        weights = pairs.counts * chances
        m, share = _normal(pairs.sums(weights)), min(float(weights.sum() / pairs.counts.sum()), 0.999)
    sure = weights[chances >= SURE].sum()
    if sure < LEAST or 2 * sure < weights.sum() or any(m[column][-1] > 0.5 for column in columns):
        return None
    return pairs.sums(weights), float(weights.sum())


def estimate(
    comparisons: Mapping[str, Comparison],
    texts: Mapping[str, Texts],
    rules: Sequence[tuple[Texts, set[str]]],
    first: Shares,
) -> Estimate:
    """Return the estimates from a table.

    Args:
        comparisons: The comparison of each column.
        texts: The texts of each column, in their normal forms.
        rules: For each blocking rule the blocks of the rows, and the columns of the rule.
        first: The m probabilities of each comparison with which the estimate begins.

    Raises:
        InputError: The table has too few rows.
    """
    compared, rows = [(one, texts[name]) for name, one in comparisons.items()], len(next(iter(texts.values())))
    if rows < FEWEST:
        raise InputError(f"{rows:,} rows, fewer than {FEWEST}: weights from them would describe single people")
    rng = np.random.default_rng(0)  # so repetitions give equal numbers
    left = rng.integers(0, rows, PAIRS)
    random = _Patterns.of(compared, left, (left + rng.integers(1, rows, PAIRS)) % rows)
    of_rules = [
        (
            _Patterns.of(compared, *pairs_in_blocks(blocks, rng)),
            {column for column, name in enumerate(comparisons) if name not in named},
        )
        for blocks, named in rules
    ]
    is_same: Floats = np.zeros(len(random.counts))
    for _ in range(ROUNDS):
        u = _normal(random.sums(random.counts * (1 - is_same)))
        sums: Shares = [np.zeros(size) for size in random.sizes]
        number = 0.0
        for pairs, columns in of_rules:
            if (found := _duplicates(pairs, columns, first, u)) is not None:
                number = max(number, found[1])
                for column in columns:
                    sums[column] += found[0][column]
        m = [one / one.sum() if one.any() else start for one, start in zip(sums, first, strict=True)]
        is_same = random.chances(m, u, range(len(m)), 2 * number / (rows * (rows - 1)))
    ms, us = ([[float(f"{share:.2g}") for share in one] for one in shares] for shares in (m, u))
    return Estimate(ms, us, [bool(one.any()) for one in sums], number)

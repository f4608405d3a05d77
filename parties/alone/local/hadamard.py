"""Hadamard response: reports of about log2 k bits; over many categories, the error is within twice the least possible.

The k categories are spread evenly over B blocks. In its block, a category has a row, from 1 on, of the
Sylvester-Hadamard matrix of order b. A report is a block and a number below b. The b / 2 numbers at which a category's
row is +1 are the category's half:

    p = e^eps / (e^eps + 2B - 1) that a report is in the true half; uniform within it, and uniform outside

Rows are orthogonal, and in another block a row is +1 as often as -1. So the sum of a category's row over the reports of
its block is, in expectation, n (e^eps - 1) / (e^eps + 2B - 1) times its share. A fast transform gives all sums. If B
divides k, the variances have the mean (e^eps + 2B - 1)^2 / (B (e^eps - 1)^2 n), less the mean squared share over n,
whatever the shares are. B = (e^eps - 1) / 2 minimises it. A category in the block of a frequent one has a greater
variance. Source: J. Acharya, Z. Sun, H. Zhang, AISTATS 2019, where B is a power of two and blocks are filled one after
the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.alone.local.coins import ONE, Coins, below, falls
from parties.alone.local.mechanism import Estimates, Names, Reports, Requested
from parties.alone.local.outcomes import OneOutcome
from parties.alone.local.packing import to_bytes


@dataclass(frozen=True)
class HadamardResponse(OneOutcome):
    """Hadamard response over the categories `names`."""

    names: Names
    requested_epsilon: Requested
    name: ClassVar[str] = "hadamard"
    about: ClassVar[Literal["categories"]] = "categories"

    @cached_property
    def blocks(self) -> int:
        """Number of blocks of categories, B."""
        return max(1, min(round(math.expm1(self.requested_epsilon) / 2), len(self.names)))

    @property
    def order(self) -> int:
        """Size b of a block's Hadamard matrix: a power of two above the number of categories in any block."""
        return 1 << (-(-len(self.names) // self.blocks)).bit_length()

    @property
    @override
    def outcomes(self) -> int:
        return self.blocks * self.order

    @cached_property
    def _truth(self) -> int:
        """Threshold of the coin with probability p, rounded towards more privacy."""
        return math.floor(ONE * (1 - 1 / (math.exp(self.requested_epsilon) / (2 * self.blocks - 1) + 1)))

    @property
    @override
    def epsilon(self) -> float:
        return math.log(self._truth * (2 * self.blocks - 1) / (ONE - self._truth))

    @property
    def _scale(self) -> float:
        """Factor from the mean of a row to a share: (e^eps + 2B - 1) / (e^eps - 1)."""
        others = 2 * self.blocks - 1
        return others / (self._truth / ONE * (others + 1) - 1)

    @property
    @override
    def variance(self) -> float:
        """Variance for many categories of which none is frequent."""
        return self._scale**2 / self.blocks

    @property
    @override
    def width(self) -> int:
        return -(-(self.outcomes - 1).bit_length() // 8)

    def _places(self, values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return values % self.blocks, values // self.blocks + 1

    @override
    def report(self, values: Any, coins: Coins) -> Reports:
        words = coins.lasting("hadamard", values.astype(np.uint64), 3)
        block, row = self._places(values)
        true = falls(words[:, 0], self._truth)
        drawn = below(words[:, 1], words[:, 2], (2 * self.blocks - 1) * self.order)
        # half 0 is the other half of the true block; each other block has two
        answers, half_index = drawn % self.order, drawn // self.order
        home = true | (half_index == 0)
        other = (half_index - 1) // 2
        other += other >= block
        minus = np.bitwise_count(answers & row) & 1 == 1
        wrong = home & (minus == true)
        answers = np.where(wrong, answers ^ (row & -row), answers)  # flipping that bit changes the row's sign
        return to_bytes(np.where(home, block, other) * self.order + answers, self.width)

    @override
    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        del candidates
        total, sums, half = int(tally.sum()), tally, 1
        while half < self.order:  # the fast Walsh-Hadamard transform of each block
            pairs = sums.reshape(-1, 2, half)
            sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
            half *= 2
        block, row = self._places(np.arange(len(self.names)))
        by_block = sums.reshape(self.blocks, self.order)
        with np.errstate(invalid="ignore", divide="ignore"):
            seen = by_block[block, row] / np.float64(total)  # the mean of +1, -1, and 0 in other blocks
            spread = np.sqrt((by_block[block, 0] / np.float64(total) - seen**2) / total)
        return Estimates(self.names, self._scale * seen, self._scale * spread)

"""Hadamard response: a report of log2 k bits that is as good as k bits.

Category v has row v + 1 of the Sylvester-Hadamard matrix of order K, a power of two above k. Half of the numbers below
K have +1 in that row; a person says one of those with probability e^eps / (e^eps + 1), one of the others otherwise, all
of a half alike. Rows are orthogonal, so the sum of row v + 1 over all reports is n (2p - 1) times the share of v in
expectation; a fast transform gives all of them. Source: J. Acharya, Z. Sun, H. Zhang, AISTATS 2019.
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
from parties.alone.local.estimation import binomial
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

    @property
    def order(self) -> int:
        """Of the matrix."""
        return 1 << len(self.names).bit_length()

    @property
    @override
    def outcomes(self) -> int:
        return self.order

    @cached_property
    def _truth(self) -> int:
        return math.floor(ONE * (1 - 1 / (math.exp(self.requested_epsilon) + 1)))

    @property
    def epsilon(self) -> float:
        """Of one report."""
        return math.log(self._truth / (ONE - self._truth))

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return -(-self.order.bit_length() // 8)

    def report(self, values: Any, coins: Coins) -> Reports:
        """Report categories, int64[rows]."""
        words = coins.lasting("hadamard", values.astype(np.uint64), 3)
        answers, row = below(words[:, 1], words[:, 2], self.order), values + 1
        minus = np.bitwise_count(answers & row) & 1 == 1
        wrong = minus == falls(words[:, 0], self._truth)
        return to_bytes(np.where(wrong, answers ^ (row & -row), answers), self.width)  # that bit turns the row's sign

    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        """Return the share of each category."""
        del candidates
        total, sums = int(tally.sum()), tally.copy()
        half = 1
        while half < len(sums):  # the fast Walsh-Hadamard transform
            pairs = sums.reshape(-1, 2, half)
            sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
            half *= 2
        plus = (total + sums[1 : len(self.names) + 1]) // 2  # reports in each row's half of +1
        return binomial(self.names, plus, np.full(len(plus), total), self._truth / ONE, 0.5)

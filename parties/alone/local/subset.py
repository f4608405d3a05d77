"""Subset selection: report a random set of d of k categories, likelier with the person's category than any other.

    p = d e^eps / (d e^eps + k - d) that the set contains the person's category; the others are drawn uniformly

d = k / (e^eps + 1), rounded, at least one. For k categories and this epsilon, many answers then have the least error of
all mechanisms (M. Ye, A. Barg, IEEE Transactions on Information Theory 2018; S. Wang and others, 2016). With d = 1 it
is direct response. A set with category v and without w is p (k - d) / ((1 - p) d) = e^eps times as likely for v as for
w.
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

from parties.alone.local.coins import ONE, WORD_BITS, Coins, falls
from parties.alone.local.estimation import absent, binomial
from parties.alone.local.mechanism import Estimates, Mechanism, Names, Reports, Requested
from parties.alone.local.packing import known, pack, unpack


@dataclass(frozen=True)
class SubsetSelection(Mechanism):
    """Subset selection over the categories `names`."""

    names: Names
    requested_epsilon: Requested
    name: ClassVar[str] = "subset"
    about: ClassVar[Literal["categories"]] = "categories"

    @cached_property
    def size(self) -> int:
        """Number of categories in a set, d."""
        return max(1, round(len(self.names) / (math.exp(self.requested_epsilon) + 1)))

    @cached_property
    def _truth(self) -> int:
        """Threshold of the coin with probability p, rounded towards more privacy."""
        odds = self.size * math.exp(self.requested_epsilon) / (len(self.names) - self.size)
        return math.floor(ONE * (1 - 1 / (odds + 1)))

    @property
    @override
    def epsilon(self) -> float:
        return math.log(self._truth * (len(self.names) - self.size) / ((ONE - self._truth) * self.size))

    @property
    def _chances(self) -> tuple[float, float]:
        truth = self._truth / ONE
        return truth, (truth * (self.size - 1) + (1 - truth) * self.size) / (len(self.names) - 1)

    @property
    @override
    def variance(self) -> float:
        return absent(*self._chances)

    @property
    def width(self) -> int:
        """Bytes of a report: a bit for each category."""
        return -(-len(self.names) // 8)

    @override
    def report(self, values: Any, coins: Coins) -> Reports:
        count, rows = len(self.names), np.arange(len(values))
        words = coins.lasting("subset", values.astype(np.uint64), 1 + 2 * count)
        ranks = words[:, 1 : 1 + count].astype(np.uint64) << np.uint64(WORD_BITS) | words[:, 1 + count :]
        ranks[rows, values] = np.iinfo(np.uint64).max  # one's own category comes last, so that the first d are others
        order = np.argsort(ranks, axis=1, kind="stable")
        chosen = np.zeros((len(values), count), dtype=np.bool_)
        np.put_along_axis(chosen, order[:, : self.size], True, axis=1)
        true = falls(words[:, 0], self._truth)
        chosen[rows[true], order[true, self.size - 1]] = False  # replaced by one's own category
        chosen[rows[true], values[true]] = True
        return pack(chosen)

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count the sets that contain each category, and the reports, int64[k + 1]."""
        bits = unpack(reports, len(self.names))
        known(np.abs(bits.sum(axis=1, dtype=np.int64) - self.size), 1)
        return np.append(bits.sum(axis=0, dtype=np.int64), len(reports))

    @override
    def count(self, tally: NDArray[np.int64]) -> int:
        return int(tally[-1])

    @override
    def possible(self, tally: NDArray[np.int64]) -> bool:
        """Return whether the tally is possible if each report is a set of d categories."""
        return bool((tally[:-1] <= tally[-1]).all() and tally[:-1].sum() == self.size * tally[-1])

    @override
    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        del candidates
        return binomial(self.names, tally[:-1], np.full(len(self.names), tally[-1]), *self._chances)

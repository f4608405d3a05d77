"""Mechanisms for numbers: the mean from one bit a person, a histogram from d bits a person.

*One bit* for x in [low, high], u = (x - low) / (high - low):

    P(1) = 1 / (e^eps + 1) + u (e^eps - 1) / (e^eps + 1)

P(1) is linear in u, so the mean of bits is linear in the mean of u. If answers are memoised, u is first rounded to 0 or
1 at the person's own lasting, uniform point; the bits for 0 and for 1 are lasting, too.

*d bits*: a person draws d of k buckets once. For each of them, the report has a bit: whether the bucket holds x,
flipped with probability 1 / (e^(eps/2) + 1), since another x changes two of the bits.

Source: B. Ding, J. Kulkarni, S. Yekhanin, NIPS 2017. A number outside the bounds counts as the nearer bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from parties.alone.local.coins import ONE, Coins, falls
from parties.alone.local.estimation import absent, binomial
from parties.alone.local.mechanism import Estimates, High, Low, Mechanism, Reports, Requested, Size, check_bounds
from parties.alone.local.packing import from_bytes, known, pack, to_bytes, unpack
from protocols.arrays import Floats
from smc.errors import InputError

INDEX_BYTES = 2  # of a bucket's index


@dataclass(frozen=True)
class OneBitMean(Mechanism):
    """Estimator of the mean of numbers between public bounds, from one bit a person."""

    low: Low
    high: High
    requested_epsilon: Requested
    memoise: Annotated[bool, Field(strict=True, description="whether answers are memoised")] = False
    name: ClassVar[str] = "mean"
    about: ClassVar[Literal["numbers"]] = "numbers"
    unit: ClassVar[Literal["mean"]] = "mean"

    @override
    def check(self) -> None:
        check_bounds(self.low, self.high)

    @cached_property
    def _least(self) -> int:
        """Threshold of the coin at u = 0; at u = 1 the threshold is ONE minus this."""
        return math.ceil(ONE / (math.exp(self.requested_epsilon) + 1))

    @property
    @override
    def width(self) -> int:
        return 1

    @property
    @override
    def epsilon(self) -> float:
        return math.log((ONE - self._least) / self._least)

    @property
    @override
    def variance(self) -> float:
        """Variance in the middle, where both bits are equally likely."""
        return ((self.high - self.low) / 2 / (1 - 2 * self._least / ONE)) ** 2

    @override
    def report(self, values: Any, coins: Coins) -> Reports:
        """Return one report for each number: a random bit in one byte."""
        share = np.clip((values - self.low) / (self.high - self.low), 0, 1)
        if self.memoise:
            point = coins.lasting("point", None, 1)[:, 0]
            share = falls(point, np.round(share * ONE).astype(np.uint64)).astype(np.float64)
        ends = share.astype(np.uint64) if self.memoise else None
        words = (coins.lasting("bits", ends, 1) if self.memoise else coins.fresh(1))[:, 0]
        thresholds = np.round(self._least + share * (ONE - 2 * self._least)).astype(np.uint64)
        return falls(words, thresholds).astype(np.uint8)[:, None]

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count ones and reports, int64[2]."""
        known(reports, 2)
        return np.array([reports.sum(dtype=np.int64), len(reports)])

    @override
    def count(self, tally: NDArray[np.int64]) -> int:
        return int(tally[1])

    @override
    def possible(self, tally: NDArray[np.int64]) -> bool:
        return bool(tally[0] <= tally[1])

    @override
    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        del candidates
        least, scale = self._least / ONE, self.high - self.low
        shares = binomial(("mean",), tally[:1], tally[1:], 1 - least, least, scale)
        return Estimates(shares.names, shares.values + self.low, shares.deviations)


@dataclass(frozen=True)
class BitHistogram(Mechanism):
    """Estimator of the shares of `buckets` equal parts of [low, high], `per_report` of which a person reports on."""

    low: Low
    high: High
    buckets: Annotated[Size, Field(description="equal parts of low to high")]
    per_report: Annotated[int, Field(strict=True, ge=1, alias="told", description="buckets that a person reports on")]
    requested_epsilon: Requested
    name: ClassVar[str] = "histogram"
    about: ClassVar[Literal["numbers"]] = "numbers"

    @override
    def check(self) -> None:
        check_bounds(self.low, self.high)
        if self.per_report > self.buckets:
            raise InputError(
                f"told: is {self.per_report}, more than the {self.buckets} buckets; choose at most this number"
            )

    @cached_property
    def _flip(self) -> int:
        return math.ceil(ONE / (math.exp(self.requested_epsilon / self._changed) + 1))

    @property
    def _changed(self) -> int:
        """Most bits of a report that change when x moves to another bucket."""
        return min(2, self.per_report)

    @property
    @override
    def epsilon(self) -> float:
        return self._changed * math.log((ONE - self._flip) / self._flip)

    @property
    @override
    def variance(self) -> float:
        """Variance of a bucket's share, given that `per_report` of `buckets` reports have the bucket."""
        return absent(1 - self._flip / ONE, self._flip / ONE) * self.buckets / self.per_report

    @property
    def width(self) -> int:
        """Bytes of a report: the indices of its buckets, and their bits."""
        return INDEX_BYTES * self.per_report - (-self.per_report // 8)

    def buckets_of(self, values: Floats) -> NDArray[np.int64]:
        """Return the bucket of each number, int64[rows]."""
        share = (values - self.low) / (self.high - self.low)
        return np.clip(np.floor(share * self.buckets), 0, self.buckets - 1).astype(np.int64)

    @override
    def report(self, values: Any, coins: Coins) -> Reports:
        """Return one report for each number: `per_report` chosen buckets with a random bit for each."""
        buckets = self.buckets_of(values)
        order = coins.lasting("buckets", None, self.buckets)
        chosen = np.argsort(order, axis=1, kind="stable")[:, : self.per_report]
        words = np.take_along_axis(coins.lasting("bits", buckets.astype(np.uint64), self.buckets), chosen, axis=1)
        bits = falls(words, self._flip) ^ (chosen == buckets[:, None])
        indices = to_bytes(chosen.reshape(-1), INDEX_BYTES).reshape(len(values), -1)
        return np.concatenate([indices, pack(bits)], axis=1)

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count the ones of each bucket, then the reports that have each bucket: int64[2 * buckets]."""
        split = INDEX_BYTES * self.per_report
        chosen = from_bytes(np.ascontiguousarray(reports[:, :split]).reshape(-1, INDEX_BYTES))
        bits = unpack(reports[:, split:], self.per_report).reshape(-1)
        known(chosen, self.buckets)
        size = self.buckets
        return np.concatenate([np.bincount(chosen[bits == 1], minlength=size), np.bincount(chosen, minlength=size)])

    @override
    def count(self, tally: NDArray[np.int64]) -> int:
        return int(tally[self.buckets :].sum() // self.per_report)

    @override
    def possible(self, tally: NDArray[np.int64]) -> bool:
        """Return whether the tally is possible if each report has `per_report` different buckets."""
        ones, reported = tally[: self.buckets], tally[self.buckets :]
        return bool(
            (ones <= reported).all() and reported.sum() % self.per_report == 0 and (reported <= self.count(tally)).all()
        )

    @override
    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        del candidates
        edges = np.linspace(self.low, self.high, self.buckets + 1)
        names = tuple(f"{a:g} to {b:g}" for a, b in pairwise(edges))
        flip = self._flip / ONE
        return binomial(names, tally[: self.buckets], tally[self.buckets :], 1 - flip, flip)

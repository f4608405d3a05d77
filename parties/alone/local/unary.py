"""Unary encoding: one bit for each category, each flipped independently.

A bit that is 1 is sent as 1 with probability p, one that is 0 with probability q; eps = ln(p (1 - q) / ((1 - p) q)).
*symmetric* (SUE, used by RAPPOR): p = e^(eps/2) / (e^(eps/2) + 1), q = 1 - p. *optimised* (OUE): p = 1/2, q = 1 /
(e^eps + 1), the least variance of rare categories. Source: T. Wang, J. Blocki, N. Li, S. Jha, USENIX Security 2017.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from parties.alone.local.coins import ONE, Coins, falls
from parties.alone.local.estimation import absent, binomial
from parties.alone.local.mechanism import Estimates, Mechanism, Names, Reports, Requested
from parties.alone.local.packing import pack, unpack


@dataclass(frozen=True)
class UnaryEncoding(Mechanism):
    """Unary encoding of the categories `names`."""

    names: Names
    requested_epsilon: Requested
    optimised: Annotated[bool, Field(strict=True, description="false for the symmetric form")] = True
    name: ClassVar[str] = "unary"
    about: ClassVar[Literal["categories"]] = "categories"

    @cached_property
    def _thresholds(self) -> tuple[int, int]:
        """Thresholds of the coins for a bit 1 and for a bit 0, both rounded towards more privacy."""
        if self.optimised:
            return ONE // 2, math.ceil(ONE / (math.exp(self.requested_epsilon) + 1))
        zero = math.ceil(ONE / (math.exp(self.requested_epsilon / 2) + 1))
        return ONE - zero, zero

    @property
    @override
    def epsilon(self) -> float:
        if_set, if_unset = self._thresholds
        return math.log(if_set * (ONE - if_unset) / ((ONE - if_set) * if_unset))

    @property
    @override
    def variance(self) -> float:
        return absent(*(each / ONE for each in self._thresholds))

    @property
    def width(self) -> int:
        """Bytes of a report: a bit for each category."""
        return -(-len(self.names) // 8)

    @override
    def report(self, values: Any, coins: Coins) -> Reports:
        words = coins.lasting("unary", values.astype(np.uint64), len(self.names))
        if_set, if_unset = self._thresholds
        bits = falls(words, if_unset)
        rows = np.arange(len(values))
        bits[rows, values] = falls(words[rows, values], if_set)
        return pack(bits)

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count the ones of each bit, and the reports, int64[k + 1]."""
        return np.append(unpack(reports, len(self.names)).sum(axis=0, dtype=np.int64), len(reports))

    @override
    def count(self, tally: NDArray[np.int64]) -> int:
        return int(tally[-1])

    @override
    def possible(self, tally: NDArray[np.int64]) -> bool:
        """Return whether no bit is set more often than there are reports."""
        return bool((tally[:-1] <= tally[-1]).all())

    @override
    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        del candidates
        if_set, if_unset = self._thresholds
        return binomial(self.names, tally[:-1], np.full(len(tally) - 1, tally[-1]), if_set / ONE, if_unset / ONE)

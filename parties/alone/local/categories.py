"""Direct randomised response: report the true category with the greater probability, any other with the lesser.

    p = e^eps / (e^eps + k - 1) for the true category, (1 - p) / (k - 1) for each other

With two categories and eps = ln 3, the classic case, the truth is reported three times in four. Sources: S. Warner,
JASA 1965; P. Kairouz, S. Oh, P. Viswanath, NIPS 2014 (k categories). Discloses the report, with the epsilon stated;
nothing else is sent.
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
from parties.alone.local.estimation import absent, binomial
from parties.alone.local.mechanism import Estimates, Names, Reports, Requested
from parties.alone.local.outcomes import OneOutcome
from parties.alone.local.packing import to_bytes


@dataclass(frozen=True)
class DirectResponse(OneOutcome):
    """Randomised response over the categories `names`, two or more."""

    names: Names
    requested_epsilon: Requested  # epsilon asked for; the coin's threshold is rounded towards privacy
    name: ClassVar[str] = "direct"
    about: ClassVar[Literal["categories"]] = "categories"

    @cached_property
    def _truth(self) -> int:
        exact = math.exp(self.requested_epsilon) / (math.exp(self.requested_epsilon) + len(self.names) - 1)
        return math.floor(exact * ONE)

    @property
    def _chances(self) -> tuple[float, float]:
        truth = self._truth / ONE
        return truth, (1 - truth) / (len(self.names) - 1)

    @property
    @override
    def outcomes(self) -> int:
        return len(self.names)

    @property
    @override
    def epsilon(self) -> float:
        truth, other = self._chances
        return math.log(truth / other)

    @property
    @override
    def variance(self) -> float:
        return absent(*self._chances)

    @property
    def width(self) -> int:
        """Bytes of a report: the category's index."""
        return max(1, ((len(self.names) - 1).bit_length() + 7) // 8)

    @override
    def report(self, values: Any, coins: Coins) -> Reports:
        words = coins.lasting("direct", values.astype(np.uint64), 3)
        other = below(words[:, 1], words[:, 2], len(self.names) - 1)
        other += other >= values
        return to_bytes(np.where(falls(words[:, 0], self._truth), values, other), self.width)

    @override
    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        del candidates
        return binomial(self.names, tally, np.full(len(tally), tally.sum()), *self._chances)

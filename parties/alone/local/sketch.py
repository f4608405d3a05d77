"""Count-mean sketch: frequencies of texts that need not be listed in advance.

A device draws one of r rows once. It marks the position that the row's hash function gives the text among m bits, and
flips each bit with probability 1 / (e^(eps/2) + 1). The collector counts, for a candidate, how often its positions are
marked. Another text has the same position with probability 1/m, which the estimate subtracts:

    share = (m z - 1) / (m - 1),  z: the mean over reports of the marked positions, corrected for the flips

Source: Apple, "Learning with Privacy at Scale", 2017. The estimate is unbiased over the hash functions. Its deviation
is measured between the rows, whose functions are independent. It therefore includes flips, collisions and the sampling
of persons.
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

from parties.alone.local.coins import ONE, Coins, below, falls
from parties.alone.local.estimation import absent
from parties.alone.local.grouped import GROUP_BYTES, GroupedBits
from parties.alone.local.hashing import all_places, digests_of, places
from parties.alone.local.mechanism import Estimates, Reports, Requested, Size
from parties.alone.local.packing import pack, to_bytes


@dataclass(frozen=True)
class CountMeanSketch(GroupedBits):
    """A sketch of `rows` rows, two or more, of `bits` bits."""

    rows: Annotated[Size, Field(description="rows of the sketch, each with its own hash function")]
    bits: Annotated[Size, Field(description="bits of a row")]
    requested_epsilon: Requested
    name: ClassVar[str] = "sketch"
    about: ClassVar[Literal["texts"]] = "texts"

    @property
    @override
    def groups(self) -> int:
        return self.rows

    @cached_property
    def _flip(self) -> int:
        return math.ceil(ONE / (math.exp(self.requested_epsilon / 2) + 1))

    @property
    def epsilon(self) -> float:
        """Epsilon of one report: another text changes two bits."""
        return 2 * math.log((ONE - self._flip) / self._flip)

    @property
    @override
    def variance(self) -> float:
        """Variance from flips and from collisions with other texts, none of them frequent."""
        meets = (1 - 1 / self.bits) / self.bits
        return (absent(1 - self._flip / ONE, self._flip / ONE) + meets) * (self.bits / (self.bits - 1)) ** 2

    @override
    def report(self, values: Any, coins: Coins) -> Reports:
        digests = digests_of(values)
        drawn = coins.lasting("row", None, 2)
        row = below(drawn[:, 0], drawn[:, 1], self.rows)
        bits = falls(coins.lasting("bits", digests, self.bits), self._flip)
        bits[np.arange(len(row)), places(digests, row, 1, self.bits)[:, 0]] ^= True
        return np.concatenate([to_bytes(row, GROUP_BYTES), pack(bits)], axis=1)

    @override
    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        table = tally.reshape(self.rows, self.bits + 1)
        reports = table[:, -1]
        positions = all_places(candidates, self.rows, 1, self.bits)[:, :, 0]
        flip, weight = self._flip / ONE, reports / reports.sum()
        marked = (table[np.arange(self.rows), positions] / np.maximum(reports, 1) - flip) / (1 - 2 * flip)
        scale = self.bits / (self.bits - 1)
        mean = (marked * weight).sum(axis=1)
        spread = ((marked - mean[:, None]) ** 2 * weight**2).sum(axis=1) * self.rows / (self.rows - 1)
        return Estimates(tuple(candidates), scale * (mean - 1 / self.bits), scale * np.sqrt(spread))

"""Count-mean sketch: how often any text was said, texts not being listed beforehand.

A person's device draws one of r rows once, marks the place that the row's hash function gives the text among m bits,
and flips each bit with probability 1 / (e^(eps/2) + 1). Whoever collects asks of a candidate how often its places were
marked; other texts meet it there with chance 1/m, which is taken off:

    share = (m z - 1) / (m - 1),  z: the mean over reports of the marked places, freed from the flips

Source: Apple, "Learning with Privacy at Scale", 2017. The estimate is unbiased over the hash functions; its
deviation is measured between the rows, whose functions are independent, so it holds flips,
collisions and the chance of who was asked.
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
from parties.alone.local.hashing import all_places, digests_of, places
from parties.alone.local.mechanism import Estimates, Mechanism, Reports
from parties.alone.local.packing import from_bytes, known, pack, to_bytes, unpack

ROW_BYTES = 2


@dataclass(frozen=True)
class CountMeanSketch(Mechanism):
    """A sketch of `rows` rows, two or more, of `bits` bits."""

    rows: int
    bits: int
    requested_epsilon: float
    about: ClassVar[Literal["texts"]] = "texts"

    @cached_property
    def _flip(self) -> int:
        return math.ceil(ONE / (math.exp(self.requested_epsilon / 2) + 1))

    @property
    def epsilon(self) -> float:
        """Of one report: another text changes two bits."""
        return 2 * math.log((ONE - self._flip) / self._flip)

    @property
    def width(self) -> int:
        """Bytes of a report: the row, and its bits."""
        return ROW_BYTES - (-self.bits // 8)

    def report(self, values: Any, coins: Coins) -> Reports:
        """Report texts, one a row."""
        digests = digests_of(values)
        drawn = coins.lasting("row", None, 2)
        row = below(drawn[:, 0], drawn[:, 1], self.rows)
        bits = falls(coins.lasting("bits", digests, self.bits), self._flip)
        bits[np.arange(len(row)), places(digests, row, 1, self.bits)[:, 0]] ^= True
        return np.concatenate([to_bytes(row, ROW_BYTES), pack(bits)], axis=1)

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count for each row the ones of each bit and the reports, int64[rows (bits + 1)]."""
        row = known(from_bytes(reports[:, :ROW_BYTES]), self.rows)
        table = np.zeros((self.rows, self.bits + 1), dtype=np.int64)
        order = np.argsort(row, kind="stable")
        starts = np.searchsorted(row[order], np.arange(self.rows + 1))
        bits = unpack(reports[:, ROW_BYTES:], self.bits)[order]
        for number in range(self.rows):
            part = bits[starts[number] : starts[number + 1]]
            table[number, :-1], table[number, -1] = part.sum(axis=0, dtype=np.int64), len(part)
        return table.reshape(-1)

    def count(self, tally: NDArray[np.int64]) -> int:
        """Count the reports of a tally."""
        return int(tally.reshape(self.rows, -1)[:, -1].sum())

    @override
    def possible(self, tally: NDArray[np.int64]) -> bool:
        """See `Mechanism.possible`: no bit is set more often than there are reports."""
        table = tally.reshape(self.rows, -1)
        return bool((table <= table[:, -1:]).all())

    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        """Return the share of each candidate."""
        table = tally.reshape(self.rows, self.bits + 1)
        reports = table[:, -1]
        where = all_places(candidates, self.rows, 1, self.bits)[:, :, 0]
        flip, weight = self._flip / ONE, reports / reports.sum()
        marked = (table[np.arange(self.rows), where] / np.maximum(reports, 1) - flip) / (1 - 2 * flip)
        scale = self.bits / (self.bits - 1)
        mean = (marked * weight).sum(axis=1)
        spread = ((marked - mean[:, None]) ** 2 * weight**2).sum(axis=1) * self.rows / (self.rows - 1)
        return Estimates(tuple(candidates), scale * (mean - 1 / self.bits), scale * np.sqrt(spread))

"""What a way of answering is: how a value becomes a report, how reports become estimates, and what it gives away."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from parties.alone.local.coins import Coins

Reports = NDArray[np.uint8]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimates:
    """Estimates from reports: a share (or a mean) of each name, and its standard deviation; both unbiased."""

    names: tuple[str, ...]
    values: Floats
    deviations: Floats

    def intervals(self, deviations: float = 1.959964) -> Floats:
        """Lower and upper ends, float64[names, 2]; by default they hold the truth 95 times in 100."""
        return self.values[:, None] + self.deviations[:, None] * np.array([-deviations, deviations])


class Mechanism(ABC):
    """A way of answering one question. All rows are handled at once.

    `epsilon`: the local differential privacy of one report, computed from the coins as they are tossed. `lasting`: that
    of all reports a person sends on one unchanged value, with memoised coins.
    """

    about: ClassVar[Literal["categories", "numbers", "texts"]]  # what it takes

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Of one report."""

    @property
    def lasting(self) -> float:
        """Of all reports on one value; that of one report if the report is memoised as it stands."""
        return self.epsilon

    @property
    @abstractmethod
    def width(self) -> int:
        """Bytes of a report."""

    @abstractmethod
    def report(self, values: NDArray[np.int64] | Floats | Sequence[str], coins: Coins) -> Reports:
        """Report rows: categories int64[rows], numbers float64[rows], or texts; return uint8[rows,
        width]."""

    @abstractmethod
    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Return counts that add up over files and collectors and say all that `estimate` needs."""

    @abstractmethod
    def count(self, tally: NDArray[np.int64]) -> int:
        """Count the reports of a tally."""

    def possible(self, tally: NDArray[np.int64]) -> bool:
        """Return whether any reports have this tally, whose numbers are none below 0."""
        return True

    @abstractmethod
    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        """Return shares of categories or candidates, or the mean, from added-up tallies."""

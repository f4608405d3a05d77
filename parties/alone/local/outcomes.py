"""Base class of mechanisms whose report is one of several outcomes, as an integer."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.alone.local.mechanism import Mechanism, Reports
from parties.alone.local.packing import from_bytes, known


class OneOutcome(Mechanism):
    """A mechanism whose report is an integer below `outcomes`."""

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """Number of different reports."""

    @override
    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Return the number of reports of each outcome, int64[outcomes]."""
        return np.bincount(known(from_bytes(reports), self.outcomes), minlength=self.outcomes).astype(np.int64)

    @override
    def count(self, tally: NDArray[np.int64]) -> int:
        return int(tally.sum())

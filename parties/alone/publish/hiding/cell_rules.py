"""Which cells of a table tell too much of somebody, and how far from the truth a reader must be left.

Rules as in Hundepool et al., "Statistical Disclosure Control" (2012), chapter 4. Each row is one respondent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.hiding.tabulation import Tabulated
from parties.base.arrays import Counts
from smc.errors import InputError


@dataclass(frozen=True)
class Needs:
    """`up`, `down` int64[rows, columns], as the table: how much more, and less, each cell must be able to be.

    Both are 0 for a cell that tells nothing; a cell cannot be less than 0, so `down` is never above its value.
    """

    up: Counts
    down: Counts

    @property
    def sensitive(self) -> NDArray[np.bool_]:
        """The cells that must not be published, bool[rows, columns]."""
        return self.up > 0


@dataclass(frozen=True)
class CellRules:
    """A cell of 1 to `threshold` - 1 rows is sensitive; so is one of which its largest rows are too large a part.

    `dominance` (n, k): the n largest are more than k% of the sum. `p_percent`: the second largest could estimate the
    largest to within p%. `margin`: for a sum of too few rows, the share of it, in percent, by which a reader must
    be left in doubt; a count of too few rows must be able to be anything from 0 to the threshold.
    """

    threshold: int | None = None
    dominance: tuple[int, float] | None = None
    p_percent: float | None = None
    margin: float = 20.0

    @property
    def words(self) -> str:
        """For a record."""
        rules = [] if self.threshold is None else [f"cells of fewer than {self.threshold} rows"]
        if self.dominance is not None:
            rules.append(f"sums of which the {self.dominance[0]} largest are over {self.dominance[1]:g}%")
        if self.p_percent is not None:
            rules.append(f"sums whose largest could be estimated to within {self.p_percent:g}%")
        return "hidden: " + ", ".join(rules)

    def check(self, sums: bool) -> None:
        """Raise `InputError` if there is no rule, a number is out of range, or a rule about sums is used on counts."""
        if self.threshold is None and self.dominance is None and self.p_percent is None:
            raise InputError("no rule: give a threshold, a dominance, or a p-percent, or a base to round to")
        if self.threshold is not None and self.threshold < 2:
            raise InputError(f"the threshold must be at least 2, not {self.threshold}")
        if not sums and (self.dominance is not None or self.p_percent is not None):
            raise InputError("dominance and p-percent are about sums: say which column is summed")
        if self.dominance is not None:
            n, k = self.dominance
            if not 1 <= n <= 100 or not 0 < k < 100:
                raise InputError(f"dominance: n must be 1 to 100 and k between 0 and 100, not {n},{k:g}")
        if self.p_percent is not None and not 0 < self.p_percent <= 100:
            raise InputError(f"p-percent must be above 0 and at most 100, not {self.p_percent:g}")
        if not 0 < self.margin <= 100:
            raise InputError(f"the margin must be above 0 and at most 100, not {self.margin:g}")

    @property
    def largest(self) -> int:
        """The number of a cell's largest contributions that the rules look at."""
        return max(2, self.dominance[0] if self.dominance is not None else 0)

    def needs(self, table: Tabulated, sums: bool) -> Needs:
        """Return what the rules ask of each cell, totals too."""
        up: NDArray[np.float64] = np.zeros(table.counts.shape)
        down: NDArray[np.float64] = np.zeros(table.counts.shape)
        values = table.values
        if self.threshold is not None:
            few = (table.counts > 0) & (table.counts < self.threshold)
            doubt = np.maximum(values * self.margin / 100, 1)
            up[few] = (doubt if sums else self.threshold - values)[few]
            down[few] = (doubt if sums else values)[few]
        lacking = []
        if self.dominance is not None:
            n, k = self.dominance
            lacking.append(table.largest[:n].sum(axis=0) * 100 / k - values)
        if self.p_percent is not None:
            others = values - table.largest[:2].sum(axis=0)
            lacking.append(table.largest[0] * self.p_percent / 100 - others)
        for lack in lacking:
            up, down = np.maximum(up, lack), np.maximum(down, lack)
        return Needs(_whole(up), np.minimum(_whole(down), values))


def _whole(amounts: NDArray[np.float64]) -> Counts:
    """Return the next whole numbers, but for what the arithmetic of doubles adds to one."""
    return np.ceil(np.round(amounts, 6)).astype(np.int64)

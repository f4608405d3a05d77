"""Sensitivity rules of table cells, and the uncertainty that a reader must be left with.

Rules as in Hundepool et al., "Statistical Disclosure Control" (2012), chapter 4. Each row is one respondent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.hiding.tabulation import Tabulated
from protocols.arrays import Counts
from smc.errors import InputError


@dataclass(frozen=True)
class Needs:
    """Required uncertainty of each cell: possible increase `up` and decrease `down`, int64[rows, columns].

    Both are 0 for a cell that is not sensitive. A cell is never negative, so `down` is at most its value.
    """

    up: Counts
    down: Counts

    @property
    def sensitive(self) -> NDArray[np.bool_]:
        """Sensitive cells, which must not be published, bool[rows, columns]."""
        return self.up > 0


@dataclass(frozen=True)
class CellRules:
    """Rules by which a cell is sensitive: it has few rows, or few rows dominate its sum. None: no such rule.

    Attributes:
        threshold: a cell of 1 to `threshold` - 1 rows is sensitive; a count must then be possible from 0 to the
            threshold
        dominance: (n, k): a sum is sensitive if its n largest contributions exceed k% of it
        p_percent: a sum is sensitive if the second largest contributor could estimate the largest to within p%
        margin: required uncertainty of a sum of too few rows, in percent of it
    """

    threshold: int | None = None
    dominance: tuple[int, float] | None = None
    p_percent: float | None = None
    margin: float = 20.0

    @property
    def words(self) -> str:
        """Description of the rules, for records."""
        rules = [] if self.threshold is None else [f"cells of fewer than {self.threshold} rows"]
        if self.dominance is not None:
            rules.append(f"sums of which the {self.dominance[0]} largest are over {self.dominance[1]:g}%")
        if self.p_percent is not None:
            rules.append(f"sums whose largest could be estimated to within {self.p_percent:g}%")
        return "hidden: " + ", ".join(rules)

    def check(self, sums: bool) -> None:
        """Raise InputError if there is no rule, a number is out of range, or a rule on sums is used for counts."""
        if self.threshold is None and self.dominance is None and self.p_percent is None:
            raise InputError("no rule: give a threshold, a dominance, or a p-percent, or a base to round to")
        if self.threshold is not None and self.threshold < 2:
            raise InputError(f"the threshold must be at least 2, not {self.threshold}")
        if not sums and (self.dominance is not None or self.p_percent is not None):
            raise InputError("dominance and p-percent are rules for sums; name the column to sum")
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
        """Number of a cell's largest contributions that the rules use."""
        return max(2, self.dominance[0] if self.dominance is not None else 0)

    def needs(self, table: Tabulated, sums: bool) -> Needs:
        """Return the required uncertainty of each cell, including totals.

        Args:
            table: the table
            sums: whether its values are sums, not counts
        """
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
    """Return amounts rounded up to integers; an excess below 10^-6 is taken as a rounding error."""
    return np.ceil(np.round(amounts, 6)).astype(np.int64)

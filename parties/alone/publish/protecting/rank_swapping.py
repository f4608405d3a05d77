"""Rank swapping: each value changes places with one that is at most P percent of the rows away by rank.

Moore, "Controlled data-swapping techniques for masking public use microdata sets" (1996). The values of a column stay
what they are, so every statistic of one column stays; how columns depend on each other is blurred.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from parties.alone.publish.protecting.method import Columns, Method
from parties.alone.publish.protecting.rows import Rows
from parties.base.arrays import Counts


class RankSwapping(Method):
    """`p`: the farthest rank, in percent of the rows with a value."""

    columns: Columns
    p: Annotated[float, Field(strict=True, gt=0, le=100)] = 5.0

    def run(self, rows: Rows, random: np.random.Generator) -> tuple[Rows, dict[str, Any]]:
        """Return the rows with each column's values exchanged; missing values stay where they are."""
        changed, alone = {}, {}
        for name in self.columns:
            numbers = rows.numbers(name)
            present = np.flatnonzero(~np.isnan(numbers))
            mixed = random.permutation(present)  # ties are ranked by coins
            order = mixed[np.argsort(numbers[mixed], kind="stable")]
            partner = partners(len(order), int(len(order) * self.p / 100), random)
            column = rows.column(name).copy()
            column[order] = column[order[partner]]
            changed[name] = column
            alone[name] = int((partner == np.arange(len(order))).sum())
        return rows.replaced(changed), {"not_swapped": alone}


def partners(number: int, window: int, random: np.random.Generator) -> Counts:
    """Return whom each rank changes places with, int64[number]: at most `window` away, itself if nobody is left."""
    partner, free = np.arange(number), np.ones(number, dtype=bool)
    for rank in range(number):
        if not free[rank]:
            continue
        candidates = np.flatnonzero(free[rank + 1 : rank + 1 + window])
        if len(candidates):
            other = rank + 1 + int(random.choice(candidates))
            partner[rank], partner[other] = other, rank
            free[other] = False
    return partner

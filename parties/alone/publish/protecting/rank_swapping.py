"""Rank swapping: each value is exchanged with a value whose rank differs by at most P percent of the rows.

Moore, "Controlled data-swapping techniques for masking public use microdata sets" (1996). The values of a column stay,
and with them every statistic of one column; dependencies between columns are blurred.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.alone.publish.protecting.method import Columns, Method
from parties.alone.publish.protecting.rows import Rows
from parties.base.arrays import Counts


class RankSwapping(Method):
    """Method that exchanges values whose ranks differ by at most `p` percent of the rows with a value."""

    columns: Columns
    p: Annotated[float, Field(strict=True, gt=0, le=100)] = 5.0

    @override
    def run(self, rows: Rows, random: np.random.Generator) -> tuple[Rows, dict[str, Any]]:
        """Return the rows with each column's values exchanged; missing values stay."""
        changed, not_swapped = {}, {}
        for name in self.columns:
            numbers = rows.numbers(name)
            present = np.flatnonzero(~np.isnan(numbers))
            mixed = random.permutation(present)  # ties are ranked at random
            order = mixed[np.argsort(numbers[mixed], kind="stable")]
            partner = partners(len(order), int(len(order) * self.p / 100), random)
            column = rows.column(name).copy()
            column[order] = column[order[partner]]
            changed[name] = column
            not_swapped[name] = int((partner == np.arange(len(order))).sum())
        return rows.replaced(changed), {"not_swapped": not_swapped}


def partners(number: int, window: int, random: np.random.Generator) -> Counts:
    """Return the rank with which each rank is exchanged, int64[number]: at most `window` away, or itself.

    Args:
        number: number of ranks
        window: greatest distance
        random: source of randomness
    """
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

"""Targeted record swapping, and the confidentiality edit before tabulation: pairs of rows exchange their areas.

Two rows that agree in `similar` and lie in different areas exchange their area. So every table without the area stays,
and so does the number of rows of each area with each combination of `similar`; other figures of an area become
uncertain. Targeted swapping takes rows of small classes first (Shlomo, Tudor, Groom, "Data swapping for protecting
census tables", 2010; recordSwap in sdcMicro). The edit of the census of 1990 takes random rows, more of them in small
areas, before tables are made (Griffin, Navarro, Flores-Baez, "Disclosure avoidance for the 1990 census", 1989).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from parties.alone.publish.protecting.method import AtLeastTwo, Method, Share
from parties.alone.publish.protecting.rows import Rows
from parties.sources.settings import Name
from protocols.arrays import Counts
from smc.errors import InputError


class RecordSwapping(Method):
    """Swap areas, `column`, between rows alike in `similar`.

    Rows in classes of fewer than `k` rows are swapped if a partner is found, others until the share `rate` is swapped.
    """

    column: Name
    similar: tuple[Name, ...] = ()
    rate: Share = 0.05
    k: AtLeastTwo = 3

    @override
    def run(self, rows: Rows, random: np.random.Generator) -> tuple[Rows, dict[str, Any]]:
        """Return the rows with areas exchanged; raise InputError if there is only one area."""
        at_risk = rows.class_sizes(rows.quasi) < self.k
        mixed = random.permutation(len(rows))
        wanted = mixed[np.argsort(~at_risk[mixed], kind="stable")]
        least = int(at_risk.sum())
        return swapped(rows, self.column, self.similar, wanted, least, round(self.rate * len(rows)), random)


class ConfidentialityEdit(Method):
    """Swap areas, `column`, between rows alike in `similar`: random rows, `rate` on average, more in small areas."""

    column: Name
    similar: tuple[Name, ...] = ()
    rate: Share = 0.05

    @override
    def run(self, rows: Rows, random: np.random.Generator) -> tuple[Rows, dict[str, Any]]:
        """Return the rows with areas exchanged; raise InputError if there is only one area."""
        sizes = rows.class_sizes([self.column])
        areas = (1 / sizes).sum()
        probability = np.minimum(1.0, self.rate * len(rows) / areas / sizes)
        wanted = random.permutation(np.flatnonzero(random.random(len(rows)) < probability))
        return swapped(rows, self.column, self.similar, wanted, len(wanted), len(wanted), random)


def swapped(
    rows: Rows,
    name: str,
    similar: tuple[str, ...],
    candidates: Counts,
    least: int,
    most: int,
    random: np.random.Generator,
) -> tuple[Rows, dict[str, Any]]:
    """Return the rows with areas exchanged, and figures for the report.

    Args:
        rows: the rows
        name: column of the area
        similar: columns in which exchanged rows agree
        candidates: indices of rows to swap, in their order
        least: number of first rows of `candidates` that are always swapped, if possible
        most: number of swapped rows after which others stay
        random: source of randomness

    Raises:
        InputError: `similar` has the area, or there is only one area
    """
    if name in similar:
        raise InputError("similar: contains the swapped column; remove it")
    column = rows.column(name)
    areas = np.unique(column.astype(str), return_inverse=True)[1]
    if not len(areas) or areas.max() == 0:
        raise InputError(f"column {name}: all rows have one value to swap; name another column")
    partner = partners(areas, rows.codes(similar), candidates, least, most, random)
    without_partner = int((partner[candidates[:least]] == candidates[:least]).sum())
    figures = {"swapped": int((partner != np.arange(len(rows))).sum()), "without_partner": without_partner}
    return rows.replaced({name: column[partner]}), figures


def partners(
    areas: Counts, alike: Counts, wanted: Counts, least: int, most: int, random: np.random.Generator
) -> Counts:
    """Return the index of each row's partner in the swap, int64[rows]: a similar row of another area, or itself.

    Args:
        areas: area of each row, int64[rows]
        alike: class of similar rows of each row, int64[rows]
        wanted: indices of rows to swap, in their order
        least: number of first rows of `wanted` that are always swapped, if possible
        most: number of swapped rows after which others stay
        random: source of randomness
    """
    partner, done = np.arange(len(areas)), 0
    mixed = random.permutation(len(areas))
    order = mixed[np.lexsort((areas[mixed], alike[mixed]))]  # by class, then by area; random within both
    starts = np.searchsorted(alike[order], np.arange(alike.max(initial=0) + 2))
    free = np.ones(len(areas), dtype=bool)
    for turn, row in enumerate(wanted.tolist()):
        if turn >= least and done >= most:
            break
        if not free[row]:
            continue
        peers = order[starts[alike[row]] : starts[alike[row] + 1]]
        candidates = peers[free[peers] & (areas[peers] != areas[row])]
        if len(candidates):
            other = int(random.choice(candidates))
            partner[row], partner[other] = other, row
            free[row] = free[other] = False
            done += 2
    return partner

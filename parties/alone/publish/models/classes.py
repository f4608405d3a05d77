"""Equivalence classes: rows with equal generalised quasi-identifiers, as counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.cells import Cells
from parties.alone.publish.hierarchy import Hierarchy, ValueCodes
from parties.base.text import listed, quoted
from parties.tables.delimited import MISSING
from protocols.arrays import Counts
from smc.errors import InputError

MOST_COUNTS = 1 << 27  # a gigabyte of counts


@dataclass(frozen=True, eq=False)
class Layout:
    """Layout of a table of counts: a column of all rows, a column for each sensitive value, a column of public rows.

    `whole` int64[columns] are the counts of the whole table.
    """

    sensitive: tuple[Hierarchy, ...]
    public: bool
    whole: Counts

    @property
    def width(self) -> int:
        """Number of columns."""
        return 1 + sum(len(h.values) for h in self.sensitive) + self.public

    def place(self, column: str) -> slice:
        """Return the columns of a count table that hold a sensitive column; raise InputError for another column."""
        start = 1
        for hierarchy in self.sensitive:
            if hierarchy.column == column:
                return slice(start, start + len(hierarchy.values))
            start += len(hierarchy.values)
        names = listed(h.column for h in self.sensitive) or "none"
        raise InputError(f"{quoted(column)} is not a sensitive column of the plan; the sensitive columns are: {names}")

    def hierarchy(self, column: str) -> Hierarchy:
        """Return the hierarchy of a sensitive column."""
        self.place(column)
        return next(h for h in self.sensitive if h.column == column)


@dataclass(frozen=True, eq=False)
class Classes:
    """Counts of rows of each class by sensitive value, int64[classes, columns]; `Layout` describes the columns.

    A class without rows has rows of the public table only.
    """

    counts: Counts
    layout: Layout

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def sizes(self) -> Counts:
        """Number of rows of each class, int64[classes]."""
        return self.counts[:, 0]

    @property
    def public(self) -> Counts:
        """Number of public rows of each class, int64[classes]; InputError without a public table."""
        if not self.layout.public:
            raise InputError("presence needs a public table: name it as `public` in the plan")
        return self.counts[:, -1]

    def histogram(self, column: str) -> Counts:
        """Return the rows of each class by the value of a sensitive column, int64[classes, values]."""
        return self.counts[:, self.layout.place(column)]

    def known(self, column: str) -> Counts:
        """Return the `histogram` of a column without its missing values, which do not make a class more diverse."""
        return self.histogram(column)[:, self._is_known(column)]

    def whole(self, column: str) -> Counts:
        """Return the rows of the whole table by the value of a sensitive column, int64[values]."""
        return self.layout.whole[self.layout.place(column)]

    def known_whole(self, column: str) -> Counts:
        """Return the rows of the whole table by the known values of a sensitive column, int64[known values]."""
        return self.whole(column)[self._is_known(column)]

    def known_hierarchy(self, column: str) -> Hierarchy:
        """Return the hierarchy of a sensitive column with the groups of its known values only."""
        hierarchy, is_known = self.layout.hierarchy(column), self._is_known(column)
        return replace(hierarchy, groups=tuple(level[is_known] for level in hierarchy.groups))

    def _is_known(self, column: str) -> NDArray[np.bool_]:
        return np.array([value != MISSING for value in self.layout.hierarchy(column).values], dtype=np.bool_)


def layout_of(cells: Cells) -> Layout:
    """Return the layout of the counts of this table: its sensitive columns, and whether it has a public one."""
    whole = [np.array([cells.rows], dtype=np.int64)]
    for hierarchy, codes in zip(cells.sensitive_hierarchies, cells.sensitive, strict=True):
        whole.append(_histogram(codes, cells.counts, len(hierarchy.values)))
    if cells.public is not None:
        whole.append(np.array([cells.public[1].sum()], dtype=np.int64))
    return Layout(cells.sensitive_hierarchies, cells.public is not None, np.concatenate(whole))


def counted(cells: Cells, layout: Layout, groups: Sequence[int] | ValueCodes | Counts, number: int) -> Classes:
    """Return the classes of grouped cells, without public rows. Raise InputError if there are too many counts.

    Args:
        cells: the cells
        layout: layout of the counts
        groups: group of each cell
        number: number of groups
    """
    places = np.asarray(groups, dtype=np.int64)
    if number * layout.width > MOST_COUNTS:
        raise InputError(
            f"{number} classes with {layout.width} counts each are too many to keep: give the sensitive columns ranges"
        )
    counts = np.zeros((number, layout.width), dtype=np.int64)
    counts[:, 0] = _histogram(places, cells.counts, number)
    start = 1
    for hierarchy, codes in zip(layout.sensitive, cells.sensitive, strict=True):
        values = len(hierarchy.values)
        counts[:, start : start + values] = _histogram(places * values + codes, cells.counts, number * values).reshape(
            number, values
        )
        start += values
    return Classes(counts, layout)


def _histogram(codes: ValueCodes | Counts, counts: Counts, size: int) -> Counts:
    """Return the sum of counts for each code; doubles are exact below 2^53."""
    return np.bincount(codes, weights=counts, minlength=size).astype(np.int64)

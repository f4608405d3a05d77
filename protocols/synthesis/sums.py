"""Sums of one table over several sets of columns, and the reverse: work shared by the marginals of a clique.

A column is summed out once for all marginals without it, and from the smaller table the next one: all pairs of five
columns take three sums of the whole table, not ten. The reverse traverses the same tree from its leaves: tables of few
columns are added to those of more, and only the widest to the whole.

Tables are kept from one use to the next, so nothing is allocated. Each sum runs over the middle one of three axes, in
numpy's own order: equal tables give equal sums on one machine, for any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

Set = tuple[int, ...]
Table = NDArray[np.float64]
FEW = 4  # up to this many values are added one by one


def ordered(columns: Iterable[int], domains: Sequence[int]) -> Set:
    """Return the columns in the order of their axes here.

    Columns with the fewest values come first, so that sums run along long axes.

    Args:
        columns: Indices of the columns.
        domains: Number of categories of each column.
    """
    return tuple(sorted(columns, key=lambda column: (domains[column], column)))


def turned(table: Table, axes: Set, new_axes: Set) -> Table:
    """Return the table with its axes in another order.

    Args:
        table: the table
        axes: its columns in order
        new_axes: the columns in the new order
    """
    return table.transpose([axes.index(column) for column in new_axes])


class Margins:
    """A table by some columns, and its marginals by several sets of columns, none empty; all in the order of `columns`.

    `tables` has float64 arrays by their columns, to be filled and read: `whole`, and the required ones. `whole` may be
    shared with other objects.
    """

    def __init__(
        self, columns: Set, domains: Sequence[int], new_axes: Iterable[Set], whole: Table | None = None
    ) -> None:
        shape = [domains[column] for column in columns]
        self.whole = np.zeros(shape) if whole is None else whole
        self.tables = {columns: self.whole}
        self._domains = domains
        filled_sets = set(new_axes)
        edges: list[tuple[Set, Set]] = []  # a table, and a smaller one that is summed from it
        for wide, narrow in _tree(columns, filled_sets - {columns}, domains):
            edges += self._chain(wide, narrow)
        self._sums = [self._three_axes(*edge) for edge in edges]
        self._additions = []  # source, target, and whether the target is filled by then
        for (wide, _), (source, target) in zip(reversed(edges), reversed(self._sums), strict=True):
            self._additions.append((target[:, None, :], source, wide in filled_sets))
            filled_sets.add(wide)
        self._blank = columns not in filled_sets

    def sum(self) -> None:
        """Fill all marginals from the whole table."""
        for source, target in self._sums:
            _sum(source, target)

    def spread(self) -> None:
        """Fill the whole table with the sum of all required tables, each repeated along its missing axes.

        The required tables are overwritten.
        """
        for source, target, filled in self._additions:
            if filled:
                np.add(target, source, out=target)
            else:
                np.copyto(target, source)
        if self._blank:
            self.whole.fill(0)

    def _chain(self, wide: Set, narrow: Set) -> Iterator[tuple[Set, Set]]:
        """Create the missing tables on the way from table `wide` to `narrow`.

        Yield each with the table that it is summed from. A step sums neighbouring axes, most cells first.
        """
        while wide != narrow:
            run = max(_runs(wide, narrow), key=self._cells)
            less = tuple(column for column in wide if column not in run)
            if less not in self.tables:
                self.tables[less] = np.zeros([self._domains[column] for column in less])
                yield wide, less
            wide = less

    def _cells(self, columns: Set) -> int:
        return prod(self._domains[column] for column in columns)

    def _three_axes(self, wide: Set, narrow: Set) -> tuple[Table, Table]:
        (run,) = _runs(wide, narrow)
        before = self._cells(wide[: wide.index(run[0])])
        return self.tables[wide].reshape(before, self._cells(run), -1), self.tables[narrow].reshape(before, -1)


def _sum(source: Table, target: Table) -> None:
    """Sum `source` over the middle one of its three axes, into `target`."""
    _, many, after = source.shape
    if after > 1 or many > FEW:
        np.einsum("ijk->ik", source, out=target)
        return
    np.copyto(target, source[:, 0])
    for place in range(1, many):
        np.add(target, source[:, place], out=target)


def _tree(columns: Set, new_axes: set[Set], domains: Sequence[int]) -> Iterator[tuple[Set, Set]]:
    """Yield tables and the smaller ones summed from them, until all those of `new_axes` are included.

    Its columns identify a table. The column that most of the required tables lack is summed out first, for these.
    """
    rest = sorted(new_axes)
    while rest:
        dropped = max(columns, key=lambda column: (sum(column not in subset for subset in rest), domains[column]))
        served = [subset for subset in rest if dropped not in subset]
        narrow = tuple(column for column in columns if any(column in subset for subset in served))
        yield columns, narrow
        yield from _tree(narrow, set(served) - {narrow}, domains)
        rest = [subset for subset in rest if dropped in subset]


def _runs(wide: Set, narrow: Set) -> list[Set]:
    """Return the columns of `wide` that `narrow` lacks, neighbours grouped."""
    runs: list[list[int]] = [[]]
    for column in wide:
        if column not in narrow:
            runs[-1].append(column)
        elif runs[-1]:
            runs.append([])
    return [tuple(run) for run in runs if run]

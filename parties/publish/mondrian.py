"""Mondrian: the table is cut in two again and again, each part where it is widest, as long as all parts fit the models.

K. LeFevre, D. DeWitt, R. Ramakrishnan, "Mondrian Multidimensional K-Anonymity", 2006. Numbers are cut at the median of
the rows, groups of a hierarchy into those one level below. Strict: equal values go to the same side. Relaxed: the rows
of the median itself are divided, so that both sides are equally large.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from parties.publish.cells import Cells, Counts
from parties.publish.classes import Classes, Layout, counted, layout_of
from parties.publish.fulldomain import unreachable
from parties.publish.models import Model, fitting
from parties.publish.partition import Partition, around, numbers_of
from smc.errors import InputError

Part = tuple[Counts, Counts]  # cells by number, and how many rows of each


class Space:
    """The cells of a table, those of the public table too, as points in a space with a dimension a quasi-identifier."""

    def __init__(self, cells: Cells, numeric: Sequence[bool]) -> None:
        self.layout: Layout = layout_of(cells)
        public = cells.public
        self.own = len(cells.counts)
        if public is not None:
            none = np.zeros((len(cells.sensitive), len(public[1])), dtype=np.int32)
            cells = Cells(
                cells.hierarchies,
                cells.sensitive_hierarchies,
                np.concatenate([cells.quasi, public[0]], axis=1),
                np.concatenate([cells.sensitive, none], axis=1),
                np.concatenate([cells.counts, np.zeros(len(public[1]), dtype=np.int64)]),
            )
        self.cells = cells
        self.public = np.zeros(len(cells.counts), dtype=np.int64)
        if public is not None:
            self.public[self.own :] = public[1]
        self.numbers = numbers_of(cells, numeric)
        self.widths = [None if x is None else max(float(np.ptp(x)), 1e-300) for x in self.numbers]

    @property
    def whole(self) -> Part:
        """All cells."""
        return np.arange(len(self.cells.counts)), self.cells.counts

    def classes(self, parts: Sequence[Part]) -> Classes:
        """The parts as classes."""
        members = np.concatenate([part[0] for part in parts])
        cells = Cells(
            self.cells.hierarchies,
            self.cells.sensitive_hierarchies,
            self.cells.quasi[:, members],
            self.cells.sensitive[:, members],
            np.concatenate([part[1] for part in parts]),
        )
        groups = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        found = counted(cells, self.layout, groups, len(parts))
        if self.layout.public:
            found.counts[:, -1] = np.bincount(groups, weights=self.public[members], minlength=len(parts))
        return found

    def widths_of(self, part: Part) -> list[float]:
        """The share of each dimension that a part takes up."""
        found = []
        for hierarchy, codes, values, width in zip(
            self.cells.hierarchies, self.cells.quasi, self.numbers, self.widths, strict=True
        ):
            own = codes[part[0]]
            if values is None or width is None:
                level, group = hierarchy.common(own)
                found.append(float(hierarchy.penalties[level][group]))
            else:
                found.append(float(np.ptp(values[own])) / width)
        return found

    def partition(self, parts: Sequence[Part]) -> Partition:
        """The parts as the classes of a partition of the table's own rows."""
        boxes = [around(self.cells, part[0], self.numbers) for part in parts]
        members = np.concatenate([part[0] for part in parts])
        counts = np.concatenate([part[1] for part in parts])
        classes = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        kept = np.flatnonzero((members < self.own) & (counts > 0))
        kept = kept[np.argsort(members[kept], kind="stable")]
        public = None
        if self.layout.public:
            public = np.bincount(classes, weights=self.public[members], minlength=len(parts)).astype(np.int64)
        return Partition(members[kept], classes[kept], counts[kept], boxes, public)


def mondrian(cells: Cells, models: Sequence[Model], numeric: Sequence[bool] = (), relaxed: bool = False) -> Partition:
    """The partition. `numeric` says of each quasi-identifier whether its values are cut as numbers.

    `InputError` if the table as a whole does not fit, or if relaxed classes, which overlap, shall bound presence.
    """
    space = Space(cells, numeric or [False] * len(cells.hierarchies))
    whole = space.classes([space.whole])
    if not cells.rows:
        raise InputError("the table has no rows")
    if relaxed and any(model.name == "presence" for model in models):
        raise InputError("presence needs classes that do not overlap: use mondrian, or an algorithm on the lattice")
    if not fitting(whole, models).all():
        raise unreachable(whole, models, 0)
    open_, closed = [space.whole], []
    while open_:
        part = open_.pop()
        for parts in _cuts(space, part, relaxed):
            if fitting(space.classes(parts), models).all():
                open_ += parts
                break
        else:
            closed.append(part)
    return space.partition(closed)


def _cuts(space: Space, part: Part, relaxed: bool) -> Iterator[list[Part]]:
    """The ways to cut a part, the widest dimension first."""
    widths = space.widths_of(part)
    for dimension in sorted(range(len(widths)), key=lambda i: (-widths[i], i)):
        if widths[dimension] == 0:
            return
        values = space.numbers[dimension]
        codes = space.cells.quasi[dimension][part[0]]
        if values is None:
            hierarchy = space.cells.hierarchies[dimension]
            groups = hierarchy.groups[hierarchy.common(codes)[0] - 1][codes]
            yield [(part[0][groups == group], part[1][groups == group]) for group in np.unique(groups)]
        elif relaxed:
            yield halves(part, np.argsort(values[codes], kind="stable"), (int(part[1].sum()) + 1) // 2)
        else:
            yield from _medians(part, values[codes])


def _medians(part: Part, x: np.ndarray) -> Iterator[list[Part]]:
    """The cuts of numbers above the median and below it; no side is without cells."""
    values, places = np.unique(x, return_inverse=True)
    before = np.cumsum(np.bincount(places, weights=part[1]))
    median = int(np.searchsorted(before, before[-1] / 2))
    for last in (median, median - 1):
        if 0 <= last < len(values) - 1:
            left = places <= last
            yield [(part[0][left], part[1][left]), (part[0][~left], part[1][~left])]


def halves(part: Part, order: Counts, rows: int) -> list[Part]:
    """The first `rows` rows of a part in an order of its cells, and the others; the cell where they meet is divided."""
    cells, counts = part[0][order], part[1][order]
    before = np.cumsum(counts) - counts
    left = np.clip(rows - before, 0, counts)
    return [(cells[left > 0], left[left > 0]), (cells[counts > left], (counts - left)[counts > left])]

"""Cells of a table as points in a space that is cut into boxes, with those of the public table if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from parties.alone.publish.cells import Cells
from parties.alone.publish.hierarchy import ValueCodes
from parties.alone.publish.models.classes import Classes, Layout, counted, layout_of
from parties.alone.publish.models.model import PrivacyModel
from parties.alone.publish.recoding.partition import Box, Partition, around, numbers_of
from protocols.arrays import Counts

Part: TypeAlias = "tuple[Counts, Counts]"  # cells by index, and the rows of each


class Space:
    """Space with a dimension for each quasi-identifier; only sensitive columns of the models are counted."""

    def __init__(self, cells: Cells, models: Sequence[PrivacyModel], numeric: Sequence[bool]) -> None:
        cells = cells.of_sensitive({model.column for model in models})
        quasi, sensitive, counts, public = cells.quasi, cells.sensitive, cells.counts, cells.public
        self.own = len(counts)
        if public is not None:
            others = len(public[1])
            quasi = np.concatenate([quasi, public[0]], axis=1)
            sensitive = np.pad(sensitive, ((0, 0), (0, others)))
            counts = np.concatenate([counts, np.zeros(others, dtype=np.int64)])
        self.cells = replace(cells, quasi=quasi, sensitive=sensitive, counts=counts, public=None)
        self.layout: Layout = layout_of(replace(self.cells, public=public))
        self.public = np.zeros(len(counts) if public is not None else 0, dtype=np.int64)
        if public is not None:
            self.public[self.own :] = public[1]
        self.numbers = numbers_of(cells, numeric)
        self.widths = [None if x is None else max(float(np.ptp(x)), 1e-300) for x in self.numbers]

    @property
    def whole(self) -> Part:
        """The part with all cells, the public table's included."""
        return np.arange(len(self.cells.counts)), self.cells.counts

    def classes(self, members: Counts | ValueCodes, counts: Counts, groups: Counts, number: int) -> Classes:
        """Return the row counts of classes whose rows are given as pieces; a piece is all or some rows of one cell.

        Args:
            members: cell of each piece
            counts: rows of each piece
            groups: class of each piece
            number: number of classes
        """
        cells = Cells(
            self.cells.hierarchies,
            self.cells.sensitive_hierarchies,
            self.cells.quasi[:, :0],  # classes are counted by their groups
            self.cells.sensitive[:, members],
            counts,
        )
        classes = counted(cells, self.layout, groups, number)
        if self.layout.public:
            classes.counts[:, -1] = np.bincount(groups, weights=self.public[members], minlength=number)
        return classes

    def of_parts(self, parts: Sequence[Part]) -> Classes:
        """Return the counts of rows by sensitive value in each class; each part is a class."""
        return self.classes(*_joined(parts), len(parts))

    def around(self, parts: Sequence[Part]) -> Partition:
        """Return the partition whose classes are parts, each in the smallest box around it."""
        boxes = [around(self.cells, part[0], self.numbers) for part in parts]
        return self.partition(*_joined(parts), boxes)

    def partition(self, members: ValueCodes, counts: Counts, classes: ValueCodes, boxes: list[Box]) -> Partition:
        """Return the partition of this table's rows; pieces of cells that only the public table has are left out.

        Args:
            members: cell of each piece; a piece is all or some rows of one cell
            counts: rows of each piece
            classes: index of the class of each piece
            boxes: published values of each class
        """
        public = None
        if self.layout.public:
            weights = self.public[members]
            public = np.bincount(classes, weights=weights, minlength=len(boxes)).astype(np.int64)
        published = np.flatnonzero((members < self.own) & (counts > 0))
        published = published[np.argsort(members[published], kind="stable")]
        return Partition(members[published], classes[published], counts[published], boxes, public)


def _joined(parts: Sequence[Part]) -> tuple[Counts, Counts, Counts]:
    groups = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]), groups


def halves(part: Part, order: Counts, rows: int) -> list[Part]:
    """Split a part after `rows` rows in an order of its cells; the cell in the middle is divided.

    Args:
        part: the part
        order: order of its cells
        rows: rows of the first half
    """
    cells, counts = part[0][order], part[1][order]
    before = np.cumsum(counts) - counts
    left_rows = np.clip(rows - before, 0, counts)
    return [
        (cells[left_rows > 0], left_rows[left_rows > 0]),
        (cells[counts > left_rows], (counts - left_rows)[counts > left_rows]),
    ]

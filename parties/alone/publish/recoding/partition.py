"""Partition of a table: the class of each row, and the published values of each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from parties.alone.publish.cells import Cells, Finder
from parties.alone.publish.hierarchy import Hierarchy, ValueCodes
from parties.alone.publish.models.classes import Classes, Layout, counted
from parties.alone.publish.models.model import Fits
from parties.alone.publish.recoding.lattice import Node
from parties.alone.publish.recoding.rollup import Rollup
from parties.alone.publish.rules import number
from parties.tables.texts import TextColumn
from protocols.arrays import Counts
from smc.errors import InputError

SUPPRESSED = -1
OVERLAPS = "presence needs classes that do not overlap; set algorithm to mondrian, flash, samarati or incognito"


@dataclass(frozen=True)
class Span:
    """Published value of a class in a column: a group of a hierarchy, a range `low` to `high`, or a set of values."""

    label: str
    level: int = 0
    low: float = 0.0
    high: float = 0.0
    numeric: bool = False
    values: tuple[str, ...] = ()

    def holds(self, hierarchy: Hierarchy, value: str) -> bool:
        """Return whether the span includes a value.

        Args:
            hierarchy: hierarchy of the column
            value: the value
        """
        if self.numeric:
            x = number(value)
            return x is not None and self.low <= x <= self.high
        if self.values:
            return value in self.values
        code = hierarchy.index[value]
        return hierarchy.labels[self.level][hierarchy.groups[self.level][code]] == self.label

    def share(self, hierarchy: Hierarchy, width: float) -> float:
        """Return the normalised certainty penalty: the span's share of the column.

        Args:
            hierarchy: hierarchy of the column
            width: range of all numbers of the column
        """
        if self.numeric:
            return (self.high - self.low) / width if width else 0.0
        if self.values:
            inside = sum(value in self.values for value in hierarchy.values)
            return inside / len(hierarchy.values) if len(self.values) > 1 else 0.0
        place = hierarchy.labels[self.level].index(self.label)
        return float(hierarchy.penalties[self.level][place])


Box: TypeAlias = tuple[Span, ...]  # one span for each quasi-identifier


@dataclass(frozen=True, eq=False)
class Partition:
    """Pieces of cells in classes: of cell `cells[i]`, `counts[i]` rows belong to class `classes[i]`, or are suppressed.

    All three are int[pieces], by cell. `boxes` are the published values of each class. `public` int64[boxes] are the
    public rows of each class, if there is a public table.
    """

    cells: ValueCodes
    classes: ValueCodes
    counts: Counts
    boxes: list[Box]
    public: Counts | None = None

    def count(self, cells: Cells, layout: Layout) -> Classes:
        """Return the counts of the classes, without suppressed rows.

        Args:
            cells: the table
            layout: layout of the counts
        """
        published = self.classes != SUPPRESSED
        part = Cells(
            cells.hierarchies,
            cells.sensitive_hierarchies,
            cells.quasi[:, :0],  # classes are counted by their groups
            cells.sensitive[:, self.cells[published]],
            self.counts[published],
        )
        classes = counted(part, layout, self.classes[published], len(self.boxes))
        if self.public is not None:
            classes.counts[:, -1] = self.public
        return classes

    def published(self, cells: Cells) -> dict[str, TextColumn]:
        """Return the published rows by column.

        Args:
            cells: the table
        """
        pieces = np.repeat(np.arange(len(self.classes)), self.counts)
        pieces = pieces[self.classes[pieces] != SUPPRESSED]
        columns = cells.texts(self.cells[pieces])
        for h, spans in zip(cells.hierarchies, zip(*self.boxes, strict=True), strict=True):
            labels, of_class = TextColumn.of(span.label for span in spans).unique()
            columns[h.column] = TextColumn.among(labels.tolist(), of_class[self.classes[pieces]])
        return columns

    @property
    def suppressed(self) -> int:
        """Number of suppressed rows."""
        return int(self.counts[self.classes == SUPPRESSED].sum())


def at_node(cells: Cells, rollup: Rollup, node: Node, fits: Fits) -> Partition:
    """Return the partition at a node of the lattice; classes that do not fit are suppressed.

    Args:
        cells: the table
        rollup: classes of rows at each node
        node: levels of the hierarchies, one for each quasi-identifier
        fits: whether each class fits, bool[classes]
    """
    groups = rollup.groups(node)
    numbers = np.full(groups.shape[1], SUPPRESSED, dtype=np.int64)
    numbers[fits] = np.arange(int(fits.sum()))
    finder = Finder(groups, [len(h.labels[level]) for h, level in zip(cells.hierarchies, node, strict=True)])
    coded = np.stack(
        [h.groups[level][column] for h, level, column in zip(cells.hierarchies, node, cells.quasi, strict=True)]
    )
    classes = numbers[finder.find(coded)]
    boxes = [
        tuple(Span(h.labels[n][g], n) for h, n, g in zip(cells.hierarchies, node, group, strict=True))
        for group in groups.T[fits].tolist()
    ]
    public = rollup.classes(node).public[fits] if cells.public is not None else None
    return Partition(np.arange(len(classes)), classes, cells.counts, boxes, public)


def tightened(cells: Cells, partition: Partition) -> Partition:
    """Return the same classes with local recoding: each class gets the smallest box that contains its rows.

    Args:
        cells: Distinct rows of the table, coded.
        partition: The classes before.
    """
    if cells.public is not None:
        raise InputError("local recoding discloses who is absent, so presence cannot be bounded: set local = false")
    members: list[list[int]] = [[] for _ in partition.boxes]
    for cell, place in zip(partition.cells.tolist(), partition.classes.tolist(), strict=True):
        if place != SUPPRESSED:
            members[place].append(cell)
    boxes = [
        around(cells, np.array(class_members, dtype=np.int64), [None] * len(cells.hierarchies))
        for class_members in members
    ]
    return Partition(partition.cells, partition.classes, partition.counts, boxes)


def around(cells: Cells, members: Counts, numbers: Sequence[np.ndarray | None]) -> Box:
    """Return the smallest box around cells.

    Args:
        cells: the table
        members: indices of the cells
        numbers: values of each column as numbers, if it is numeric
    """
    spans = []
    for hierarchy, codes, values in zip(cells.hierarchies, cells.quasi, numbers, strict=True):
        member_codes = codes[members]
        if values is None:
            level, group = hierarchy.common(member_codes)
            spans.append(Span(hierarchy.labels[level][group], level))
            continue
        spans.append(range_of(float(values[member_codes].min()), float(values[member_codes].max())))
    return tuple(spans)


def range_of(low: float, high: float) -> Span:
    """Return the span of a range of numbers.

    Args:
        low: Smallest number of the range.
        high: Largest number of the range.
    """
    label = f"{low:.12g}" if low == high else f"[{low:.12g}, {high:.12g}]"
    return Span(label, 0, low, high, True)


def numbers_of(cells: Cells, is_numeric: Sequence[bool]) -> list[np.ndarray | None]:
    """Return the values of each selected column as numbers, float64[values]; None if some are not numbers.

    Args:
        cells: Distinct rows of the table, coded.
        is_numeric: For each column, whether its values are returned.
    """
    numbers: list[np.ndarray | None] = []
    for hierarchy, want in zip(cells.hierarchies, is_numeric, strict=True):
        values = [number(value) for value in hierarchy.values] if want else [None]
        numbers.append(None if None in values else np.array(values, dtype=np.float64))
    return numbers


def certainty(cells: Cells, partition: Partition) -> dict[str, float]:
    """Return the average normalised certainty penalty of each column, from 0 to 1; a suppressed row costs 1.

    Args:
        cells: Distinct rows of the table, coded.
        partition: The classes and their boxes.
    """
    sizes = np.bincount(partition.classes + 1, weights=partition.counts, minlength=len(partition.boxes) + 1)
    penalties_by_column = {}
    columns = list(zip(*partition.boxes, strict=True)) or [()] * len(cells.hierarchies)
    for hierarchy, column in zip(cells.hierarchies, columns, strict=True):
        spans = {id(span): span for span in column}
        numeric = any(span.numeric for span in spans.values())
        used = [x for x in map(number, hierarchy.values) if x is not None] if numeric else [0.0]
        width = max(used) - min(used)
        shares = {place: span.share(hierarchy, width) for place, span in spans.items()}
        penalties = [1.0, *(shares[id(span)] for span in column)]
        penalties_by_column[hierarchy.column] = float(np.dot(penalties, sizes) / max(1.0, sizes.sum()))
    return penalties_by_column

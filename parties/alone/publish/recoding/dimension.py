"""One dimension of the space that Mondrian cuts: numbers cut between values, or a hierarchy cut into groups.

Values are numbered so that those of a group are adjacent at every level. The lowest and the highest number of a box
then give its width, and the group that holds it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.cells import Cells
from parties.alone.publish.hierarchy import Hierarchy, ValueCodes
from parties.alone.publish.recoding.boxes import Boxes
from parties.alone.publish.recoding.partition import Span, range_of
from parties.base.arrays import Floats


class Dimension:
    """Dimension `place` of the space: a column whose distinct values are numbered.

    `values` float64[numbers] are the column's numbers if it is cut as numbers, else None. `width` is the range of all
    values.
    """

    def __init__(
        self, place: int, hierarchy: Hierarchy, codes: ValueCodes, values: Floats | None, width: float | None
    ) -> None:
        self._place = place
        self._hierarchy = hierarchy
        self._width = width or 1.0
        self.values: Floats | None = None
        if values is not None:
            self.values, numbers = np.unique(values, return_inverse=True)
        else:
            order = np.lexsort(hierarchy.groups)
            numbers = np.empty(len(order), dtype=np.int64)
            numbers[order] = np.arange(len(order))
            self._groups = np.stack([group[order] for group in hierarchy.groups])  # [levels, numbers]
        is_identity = np.array_equal(numbers, np.arange(len(numbers)))
        self._numbers = codes if is_identity else numbers.astype(codes.dtype)[codes]

    def numbers(self, boxes: Boxes) -> ValueCodes:
        """Return the number of each piece's cell."""
        numbers: ValueCodes = self._numbers[boxes.members] if boxes.numbers is None else boxes.numbers[self._place]
        return numbers

    def extents(self, boxes: Boxes) -> tuple[ValueCodes, ValueCodes]:
        """Return the lowest and the highest number in each box, both [boxes]."""
        numbers = self.numbers(boxes)
        return np.minimum.reduceat(numbers, boxes.starts), np.maximum.reduceat(numbers, boxes.starts)

    def widths(self, low: ValueCodes, high: ValueCodes) -> Floats:
        """Return the share of the dimension that each box covers, float64[boxes].

        Args:
            low: lowest number of each box
            high: highest number of each box
        """
        if self.values is not None:
            shares: Floats = (self.values[high] - self.values[low]) / self._width
            return shares
        levels = self._levels(low, high)
        groups = self._groups[levels, low]
        widths = np.zeros(len(low))
        for level, penalties in enumerate(self._hierarchy.penalties):
            here = levels == level
            widths[here] = penalties[groups[here]]
        return widths

    def keys(self, boxes: Boxes, low: ValueCodes, high: ValueCodes) -> ValueCodes:
        """Return the key of each piece by which its box may be cut.

        It is the piece's number, or its group one level below the lowest group that holds the whole box.

        Args:
            boxes: the boxes
            low: lowest number of each box
            high: highest number of each box
        """
        numbers = self.numbers(boxes)
        if self.values is not None:
            return numbers
        below = np.repeat(self._levels(low, high) - 1, boxes.sizes)
        groups: ValueCodes = self._groups[below, numbers]
        return groups

    def spans(self, low: ValueCodes, high: ValueCodes) -> list[Span]:
        """Return the spans of boxes with these extents; equal spans are one object.

        Args:
            low: lowest number of each box
            high: highest number of each box
        """
        size = self._hierarchy.values
        pairs, places = np.unique(low.astype(np.int64) * len(size) + high, return_inverse=True)
        lows, highs = pairs // len(size), pairs % len(size)
        if self.values is not None:
            spans = [range_of(float(a), float(b)) for a, b in zip(self.values[lows], self.values[highs], strict=True)]
        else:
            levels = self._levels(lows, highs)
            groups = self._groups[levels, lows]
            labels = self._hierarchy.labels
            spans = [Span(labels[n][g], n) for n, g in zip(levels.tolist(), groups.tolist(), strict=True)]
        return [spans[place] for place in places.tolist()]

    def _levels(self, low: ValueCodes, high: ValueCodes) -> NDArray[np.int64]:
        """Return the lowest level at which each pair of numbers is in one group."""
        levels = np.full(len(low), len(self._groups) - 1)
        for level in reversed(range(len(self._groups) - 1)):
            levels[self._groups[level, low] == self._groups[level, high]] = level
        return levels


def dimensions(cells: Cells, numbers: Sequence[Floats | None], widths: Sequence[float | None]) -> list[Dimension]:
    """Return a dimension for each quasi-identifier.

    Args:
        cells: the table
        numbers: values of each column as numbers, if it is cut as numbers
        widths: range of each column's numbers
    """
    columns = zip(cells.hierarchies, cells.quasi, numbers, widths, strict=True)
    return [Dimension(i, *column) for i, column in enumerate(columns)]

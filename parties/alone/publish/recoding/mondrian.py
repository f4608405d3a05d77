"""Mondrian: recursive bisection of the table, each part where it is widest, as long as all parts fit the models.

K. LeFevre, D. DeWitt, R. Ramakrishnan, "Mondrian Multidimensional K-Anonymity", 2006. Numbers are cut at the median of
the rows, groups of a hierarchy into those one level below. Strict: equal values go to the same side. Relaxed: the rows
of the median itself are divided, so that both sides are equally large.

Many boxes are cut at once: one sort orders the values of each, one count covers all their parts. So ten million cells
take a minute, and little more memory than the cells themselves.

Values are numbered so that those of a group are adjacent at every level. The lowest and the highest number of a box
then give its width, and the group that holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.cells import Cells, grouped
from parties.alone.publish.hierarchy import Hierarchy, ValueCodes
from parties.alone.publish.models.model import KAnonymity, PrivacyModel, fitting
from parties.alone.publish.recoding.boxes import Boxes, joined
from parties.alone.publish.recoding.fulldomain import unreachable
from parties.alone.publish.recoding.partition import OVERLAPS, Partition, Span, range_of
from parties.alone.publish.recoding.space import Space
from protocols.arrays import Counts, Floats
from smc.errors import InputError


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


PIECES = 1 << 18  # pieces of boxes cut at once, unless one box has more
COUNTS = 1 << 22  # most counts of the parts of boxes cut at once


def mondrian(
    cells: Cells, models: Sequence[PrivacyModel], numeric: Sequence[bool] = (), relaxed: bool = False
) -> Partition:
    """Return the partition of the rows into boxes by Mondrian.

    Args:
        cells: the table
        models: the models to be satisfied
        numeric: for each quasi-identifier, whether its values are cut as numbers; empty: none
        relaxed: whether the rows of a median are divided

    Raises:
        InputError: the whole table does not fit, or relaxed classes, which overlap, would have to bound presence
    """
    if not cells.rows:
        raise InputError("the table has no rows; give a table with rows")
    if relaxed and any(model.name == "presence" for model in models):
        raise InputError(OVERLAPS)
    space = Space(cells, models, numeric or [False] * len(cells.hierarchies))
    members, counts = space.whole
    whole = space.classes(members, counts, np.zeros(len(members), dtype=np.int64), 1)
    if not fitting(whole, models).all():
        raise unreachable(whole, models, 0)
    return _Cutter(space, models, relaxed).partition()


class _Cutter:
    def __init__(self, space: Space, models: Sequence[PrivacyModel], relaxed: bool) -> None:
        self._space = space
        self._models = models
        self._relaxed = relaxed
        k = max([model.k for model in models if isinstance(model, KAnonymity)], default=1)
        self._least = 0 if space.layout.public else 2 * k  # least rows of a box that can be cut
        self._dimensions = dimensions(space.cells, space.numbers, space.widths)

    def partition(self) -> Partition:
        members, counts = self._space.whole
        open_ = [Boxes(members.astype(np.int32), counts, np.zeros(1, dtype=np.int64))]
        closed: list[Boxes] = []
        most = max(1, COUNTS // (2 * self._space.layout.width))
        while open_:
            boxes = open_.pop()
            if boxes.numbers is None and len(boxes.members) <= PIECES:
                boxes = replace(boxes, numbers=np.stack([d.numbers(boxes) for d in self._dimensions]))
            done, cut = self._cut(boxes)
            closed.append(replace(done, numbers=None))
            if len(cut.starts):
                open_ += cut.batches(most, PIECES)
        final = joined(closed)
        spans = [dimension.spans(*dimension.extents(final)) for dimension in self._dimensions]
        classes = np.repeat(np.arange(len(final.starts), dtype=np.int32), final.sizes)
        return self._space.partition(final.members, final.counts, classes, list(zip(*spans, strict=True)))

    def _cut(self, boxes: Boxes) -> tuple[Boxes, Boxes]:
        """Return boxes that cannot be cut, and the parts of the others, each cut in the widest possible dimension."""
        extents = [dimension.extents(boxes) for dimension in self._dimensions]
        widths = np.stack([d.widths(*extent) for d, extent in zip(self._dimensions, extents, strict=True)])
        order = np.argsort(-widths, axis=0, kind="stable")
        rows = np.add.reduceat(boxes.counts, boxes.starts)
        remaining, small = np.flatnonzero(rows >= self._least), np.flatnonzero(rows < self._least)
        parts = []
        for turn in order:
            chosen = turn[remaining]
            is_wide = widths[chosen, remaining] > 0
            still_remaining = [remaining[~is_wide]]
            for i in np.unique(chosen[is_wide]):
                those = remaining[is_wide & (chosen == i)]
                low, high = (end[those] for end in extents[i])
                cut_parts, failed = self._cut_at(self._dimensions[i], boxes.of(those), low, high)
                parts.append(cut_parts)
                still_remaining.append(those[failed])
            remaining = np.concatenate(still_remaining)
        none = boxes.of(np.zeros(0, dtype=np.int64))
        return boxes.of(np.sort(np.concatenate([small, remaining]))), joined(parts) if parts else none

    def _cut_at(
        self, dimension: Dimension, boxes: Boxes, low: ValueCodes, high: ValueCodes
    ) -> tuple[Boxes, NDArray[np.bool_]]:
        """Return the parts of boxes cut along a dimension, and the boxes that cannot be cut, bool[boxes].

        `low` and `high` are the ends of each box.
        """
        box = np.repeat(np.arange(len(boxes.starts), dtype=np.int32), boxes.sizes)
        keys = dimension.keys(boxes, low, high)
        order, begins = grouped([box, keys], [len(boxes.starts), int(keys.max()) + 1])
        ranked = boxes.at(order, boxes.starts)
        keys = keys[order]
        if dimension.values is None:
            return self._keep(ranked, box, begins)
        if self._relaxed:
            return self._keep(*_halved(ranked, box))
        cut_parts, failed = self._keep(ranked, box, _begins(keys > _medians(ranked, keys, box)[box], box))
        some = np.flatnonzero(failed)
        again = failed[box]
        others, keys, box = ranked.of(some), keys[again], (np.cumsum(failed) - 1)[box[again]]
        if len(some):
            more, still = self._keep(others, box, _begins(keys >= _medians(others, keys, box)[box], box))
            cut_parts, failed[some] = joined([cut_parts, more]), still
        return cut_parts, failed

    def _keep(self, boxes: Boxes, box: ValueCodes, begins: Counts) -> tuple[Boxes, NDArray[np.bool_]]:
        """Return the parts of the boxes that can be cut, and the boxes that cannot, bool[boxes].

        A box can be cut if it has several parts and all of them fit the models. Parts begin at the pieces `begins`;
        `box` has the box of each piece.
        """
        group = np.zeros(len(box), dtype=np.int64)
        group[begins] = 1
        group = np.cumsum(group) - 1
        owner = box[begins]
        classes = self._space.classes(boxes.members, boxes.counts, group, len(begins))
        number = np.bincount(owner, minlength=len(boxes.starts))
        misfits = np.bincount(owner[~fitting(classes, self._models)], minlength=len(boxes.starts))
        failed = (misfits > 0) | (number < 2)
        parts = replace(boxes, starts=begins)
        return parts.of(np.flatnonzero(~failed[owner])), failed


def _before(boxes: Boxes) -> tuple[Counts, Counts]:
    """Return the number of rows before each piece in its box, and the number of rows of each box."""
    before = np.cumsum(boxes.counts) - boxes.counts
    before -= np.repeat(before[boxes.starts], boxes.sizes)
    return before, np.add.reduceat(boxes.counts, boxes.starts)


def _medians(boxes: Boxes, keys: ValueCodes, box: ValueCodes) -> ValueCodes:
    """Return the median key of each box; `keys` and `box` have the key and the box of each piece."""
    before, rows = _before(boxes)
    short = 2 * (before + boxes.counts) < rows[box]
    medians: ValueCodes = keys[boxes.starts + np.add.reduceat(short, boxes.starts, dtype=np.int64)]
    return medians


def _begins(right: NDArray[np.bool_], box: ValueCodes) -> Counts:
    return np.flatnonzero(np.concatenate([[True], (right[1:] != right[:-1]) | (box[1:] != box[:-1])]))


def _halved(boxes: Boxes, box: ValueCodes) -> tuple[Boxes, ValueCodes, Counts]:
    """Return the boxes, each cut into halves that differ by at most one row; a piece across the middle is divided."""
    before, rows = _before(boxes)
    remaining = np.clip(((rows + 1) // 2)[box] - before, 0, boxes.counts)
    divided = (remaining > 0) & (remaining < boxes.counts)
    places = np.repeat(np.arange(len(box)), 1 + divided)
    first = np.cumsum(1 + divided) - 1 - divided
    counts = boxes.counts[places]
    counts[first[divided]] = remaining[divided]
    counts[first[divided] + 1] -= remaining[divided]
    right = remaining[places] == 0
    right[first[divided] + 1] = True
    box = box[places]
    starts = np.searchsorted(box, np.arange(len(boxes.starts)))
    return boxes.at(places, starts, counts), box, _begins(right, box)

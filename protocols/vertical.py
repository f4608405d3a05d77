"""Counts and sums over vertically partitioned rows: each party has some columns of every row.

Ideal functionality. Inputs: each party's columns of the same rows, in one order; one party, the *class owner*, has the
classes too. The trees so far are public. Output: additive shares modulo 2^64 of the numbers that a `LevelCounts` of all
columns has. Leakage: nothing but the sizes, which follow from the public trees, the domains and the number of rows.

Each of several trees has rows of its own: the n-th of m trees has the rows n, n + m, n + 2 m and so on. Both parties
know which, so nothing about a row follows from its tree.

A row is in a node if its values agree with the splits on the path. So its bit for a node is the product of two bits:
whether the splits on the first party's columns agree, and whether those on the second party's do. Each number is then
an inner product of a bit vector of either party (`smc.arithmetic.inner`):

- by classes, and by a column of the class owner: the other party has the bit of the node; the class owner the vector of
  all its cells (value, class), zero outside the node;
- by a column of the other party: the class owner has one bit a class, of the node and that class; the other party the
  vector of its values.

Numbers that follow from others are not counted, see `protocols.joint_counts`.

Cost of a level with m counted nodes, R rows, c classes and V values of a party's columns less one each: m R (1 + c) OTs
and m R (c + c V_owner + c V_other) words of 16 bits for up to 65,535 rows, else 32.

*Sums* (`VerticalCounts.sums`). A box is a set of values for some columns. A row's bit for a box is the product of two
bits, one of each party. Each number is the sum of a public weight of the class over the rows in a box: the class owner
has the vector of weights, zero outside its part of the box, and the other party its bit. Boxes with one part of the
other party share their OTs. A box with columns of one party alone is counted by that party, and nothing is sent.
Output: additive shares modulo 2^64 of the sums. Leakage: the sizes. Cost for n different parts of the other party: n R
OTs, and R words for each number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from protocols.counts import Indices
from protocols.joint_counts import Box, JointCounts, Numbers, Path, Place
from protocols.tree import child_of
from smc.engines import Engine
from smc.errors import InputError


@dataclass(frozen=True)
class Columns:
    """Public description of vertically partitioned rows, equal at both parties.

    `owners` has the party of each attribute, and `class_owner` that of the class: 0 or 1. In a `Box`, the class is the
    column behind the last attribute. `rows` is the number of rows, and `trees` the number of trees that share them.
    """

    domains: tuple[int, ...]
    classes: int
    owners: tuple[int, ...]
    class_owner: int
    rows: int
    trees: int = 1

    def of(self, party: int) -> list[int]:
        """Return the attributes of a party."""
        return [attribute for attribute, owner in enumerate(self.owners) if owner == party]

    def rows_of(self, tree: int) -> int:
        """Return the number of rows of a tree."""
        return len(range(tree, self.rows, self.trees))


class VerticalCounts(JointCounts):
    """Joint counts of rows that both parties have in one order; see `JointCounts` for their use."""

    def __init__(self, engine: Engine, columns: Columns, values: Indices, labels: Indices | None) -> None:
        """Keep a party's own columns.

        Args:
            engine: The engine of this session.
            columns: The public description.
            values: Category indices of this party's attributes in schema order, int[rows, own attributes]; private.
            labels: The classes, int[rows], at the class owner; else None.

        Raises:
            InputError: The shapes do not fit the description, or an index is outside its domain.
        """
        own = columns.of(engine.party)
        if (labels is not None) != (engine.party == columns.class_owner):
            raise InputError("the class column must be at the party that the job names, and only there")
        if values.shape != (columns.rows, len(own)) or (labels is not None and labels.shape != (columns.rows,)):
            raise InputError(f"own columns have shape {values.shape}, expected ({columns.rows}, {len(own)})")
        checked = [(values[:, place], columns.domains[attribute]) for place, attribute in enumerate(own)]
        for column, size in checked if labels is None else [*checked, (labels, columns.classes)]:
            if len(column) and not (column.min() >= 0 and column.max() < size):
                raise InputError(f"a category index is outside 0..{size - 1}")
        super().__init__(engine, columns.domains, columns.classes, np.uint16 if columns.rows < 1 << 16 else np.uint32)
        self._columns = columns
        self._own = {attribute: values[:, place].astype(np.int64, copy=False) for place, attribute in enumerate(own)}
        self._labels = None if labels is None else labels.astype(np.int64, copy=False)
        if self._labels is not None:
            self._own[len(columns.domains)] = self._labels

    @override
    def sums(self, boxes: Sequence[Box], weights: Indices | None = None) -> Indices:
        columns, width = self._columns, 1 if weights is None else weights.shape[1]
        found = np.zeros((len(boxes), width), dtype=np.int64)
        by_other: dict[tuple[tuple[int, bytes], ...], list[int]] = {}  # boxes, by the other party's part of them
        everything = slice(0, columns.rows)
        for place, box in enumerate(boxes):
            parties = {self._owner(a) for a in box} | ({columns.class_owner} if weights is not None else set())
            if len(parties) == 2:
                other = [a for a in sorted(box) if self._owner(a) != columns.class_owner]
                by_other.setdefault(tuple((a, box[a].tobytes()) for a in other), []).append(place)
            elif self._engine.party in (parties or {columns.class_owner}):
                found[place] = self._weighed(box, everything, weights).sum(axis=0)
        if by_other:
            with self._engine.session.phase("counts"):
                order = [place for places in by_other.values() for place in places]
                found[order] = self._products(boxes, list(by_other.values()), weights).reshape(-1, width)
        return found

    @override
    def distinct_boxes(self, number: int, columns: int) -> Indices:
        del columns  # a box costs the same whatever its columns
        return self._products([{}] * number, [[place] for place in range(number)], None)

    def _owner(self, attribute: int) -> int:
        return (*self._columns.owners, self._columns.class_owner)[attribute]

    def _products(self, boxes: Sequence[Box], groups: list[list[int]], weights: Indices | None) -> Indices:
        """Return shares of the sums of boxes in groups: those of a group have one part of the other party."""
        inner, rows, kind = self._engine.inner, self._columns.rows, self._kind
        if weights is not None:
            bound = rows * int(weights.max(initial=0))
            kind = np.uint64 if weights.min(initial=0) < 0 or bound >> 32 else np.uint32 if bound >> 16 else np.uint16
        width = 1 if weights is None else weights.shape[1]
        sizes = [(rows, width * len(group)) for group in groups]

        def vectors(number: int, part: slice) -> Numbers:
            return np.hstack([self._weighed(boxes[place], part, weights).astype(kind) for place in groups[number]])

        def bits(number: int, part: slice) -> Numbers:
            return self._in_box(boxes[groups[number][0]], part).astype(np.uint8)

        is_owner = self._engine.party == self._columns.class_owner
        shares = inner.owned(sizes, vectors, kind) if is_owner else inner.chosen(sizes, bits, kind)
        return inner.lifted(np.concatenate(shares)).astype(np.int64)

    def _weighed(self, box: Box, part: slice, weights: Indices | None) -> Indices:
        """Return the weights of rows in this party's part of a box, int64[rows, sums]; 0 for other rows."""
        inside = self._in_box(box, part)[:, None].astype(np.int64)
        if weights is None:
            return inside
        assert self._labels is not None
        return inside * weights[self._labels[part]]

    def _in_box(self, box: Box, part: slice) -> NDArray[np.bool_]:
        """Return which rows are in this party's part of a box."""
        inside = np.ones(part.stop - part.start, dtype=np.bool_)
        for attribute, values in box.items():
            if attribute in self._own:
                inside &= values[self._own[attribute][part]]
        return inside

    @override
    def _counted(self, places: list[Place], attributes: bool) -> list[list[Numbers]]:
        columns, inner, kind = self._columns, self._engine.inner, self._kind
        classes, is_owner = columns.classes, self._engine.party == columns.class_owner
        left = [place.left if attributes else () for place in places]
        of_owner = [[a for a in each if columns.owners[a] == columns.class_owner] for each in left]
        of_other = [[a for a in each if columns.owners[a] != columns.class_owner] for each in left]
        rows = [columns.rows_of(place.tree) for place in places]
        first = [(count, classes * (1 + self._cells(each))) for count, each in zip(rows, of_owner, strict=True)]
        second = [
            (count, self._cells(each)) for count, each in zip(rows, of_other, strict=True) for _ in range(classes)
        ]

        def vectors_of_owner(number: int, part: slice) -> Numbers:
            labels, place = self._column(len(columns.domains), places[number].tree, part), places[number]
            return self._vectors(place, of_owner[number], part, labels, classes)

        def vectors_of_other(number: int, part: slice) -> Numbers:
            number //= classes
            return self._vectors(places[number], of_other[number], part)

        def bits_of_owner(number: int, part: slice) -> Numbers:
            number, label = divmod(number, classes)
            labels = self._column(len(columns.domains), places[number].tree, part)
            return (self._inside(places[number], part) & (labels == label)).astype(np.uint8)

        def bits_of_other(number: int, part: slice) -> Numbers:
            return self._inside(places[number], part).astype(np.uint8)

        if is_owner:
            whole = inner.owned(first, vectors_of_owner, kind)
            others = inner.chosen(second, bits_of_owner, kind)
        else:
            whole = inner.chosen(first, bits_of_other, kind)
            others = inner.owned(second, vectors_of_other, kind)
        return [
            self._assembled(whole[i], others[i * classes : (i + 1) * classes], of_owner[i], of_other[i], place.path)
            if attributes
            else [whole[i]]
            for i, place in enumerate(places)
        ]

    def _assembled(
        self, whole: Numbers, others: list[Numbers], of_owner: list[int], of_other: list[int], path: Path
    ) -> list[Numbers]:
        """Return a node's tables from its inner products."""
        classes, cells, done = self._columns.classes, {}, 0
        rows = np.vstack([whole[classes:].reshape(-1, classes), np.stack(others, axis=1)])
        for attribute in (*of_owner, *of_other):
            size = self._columns.domains[attribute] - 1
            cells[attribute], done = rows[done : done + size], done + size
        return self._completed(whole[:classes], cells, path)

    def _cells(self, attributes: Sequence[int]) -> int:
        return sum(self._columns.domains[attribute] - 1 for attribute in attributes)

    def _column(self, attribute: int, tree: int, part: slice) -> Indices:
        """Return an own column of some rows of a tree."""
        return self._own[attribute][tree :: self._columns.trees][part]

    def _inside(self, place: Place, part: slice) -> NDArray[np.bool_]:
        """Return which rows agree with the splits on this party's columns."""
        inside = np.ones(part.stop - part.start, dtype=np.bool_)
        for attribute, edge, child in place.path:
            if attribute in self._own:
                inside &= child_of(edge, self._column(attribute, place.tree, part)) == child
        return inside

    def _vectors(
        self,
        place: Place,
        attributes: Sequence[int],
        part: slice,
        labels: Indices | None = None,
        classes: int = 1,
    ) -> Numbers:
        """Return the vector of each row: 1 at its class, if any, and at its values but the last; 0 for rows outside."""
        inside = self._inside(place, part)
        first = 0 if labels is None else 1
        vectors = np.zeros((len(inside), classes * (first + self._cells(attributes))), dtype=self._kind)
        rows, label = np.arange(len(inside)), np.zeros(len(inside), dtype=np.int64) if labels is None else labels
        if labels is not None:
            vectors[rows, label] = inside
        start = first
        for attribute in attributes:
            values, size = self._column(attribute, place.tree, part), self._columns.domains[attribute]
            shown = values < size - 1
            vectors[rows[shown], (start + values[shown]) * classes + label[shown]] = inside[shown]
            start += size - 1
        return vectors

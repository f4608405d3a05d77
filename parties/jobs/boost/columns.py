"""Splits by columns: a number or ordered value below an edge, or a category equal to a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from parties.base.text import quoted
from parties.jobs.kind import Document
from parties.jobs.release.values import read
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from parties.tables.types import NumberType, OrderedType, type_of
from protocols.arrays import Numbers
from smc.errors import InputError

MOST_BINS = 256
MOST_SPLITS = 4096  # candidates of a node

Bins = NDArray[np.uint8]


@dataclass(frozen=True)
class Column:
    """A column to predict from: the bin of each of its categories, and the bins' labels.

    With `edges`, bin i >= 1 begins at edges[i - 1]. Otherwise each bin is one of `values`, in their order if
    `ordered`.
    """

    name: str
    bins: tuple[int, ...]
    edges: tuple[float, ...] | None = None
    values: tuple[str, ...] = ()
    ordered: bool = True

    @property
    def size(self) -> int:
        """Number of bins."""
        return len(self.values) if self.edges is None else len(self.edges) + 1

    @property
    def cuts(self) -> range:
        """Bins that define splits: the bins below it against the rest if `ordered`, else the bin against all others."""
        return range(1, self.size) if self.ordered or self.size == 2 else range(self.size)

    @property
    def document(self) -> Document:
        """Column in the form of a model file."""
        if self.edges is not None:
            return {"edges": list(self.edges), **({"values": list(self.values)} if self.values else {})}
        return {"values": list(self.values), "ordered": self.ordered}

    @classmethod
    def of(cls, name: str, categories: Sequence[str], numeric: bool, bins: int) -> Column:
        """Return a column of the schema. Raise InputError if it has too many values.

        Args:
            name: Name of the column.
            categories: Values in the schema.
            numeric: Whether the settings name it as a column of numbers.
            bins: Largest number of bins of a column of numbers.
        """
        kind = type_of(categories)
        present = [category for category in categories if category != MISSING or not isinstance(kind, OrderedType)]
        if isinstance(kind, NumberType) and not numeric:
            edges = tuple(float(edge) for edge in kind.cuts.numbers)
            places = tuple(0 if category == MISSING else present.index(category) for category in categories)
            return cls(name, _few(name, places), edges, tuple(present))
        if numeric:
            numbers = read(name, tuple(categories), "a number", "numeric")
            size = -(-len(numbers.ordered) // bins)
            starts = [number for number, _ in numbers.ordered[size::size]]
            at = [0 if n is None else sum(n >= start for start in starts) for n in numbers.numbers]
            return cls(name, tuple(at), tuple(map(float, starts)))
        if isinstance(kind, OrderedType):  # a missing value comes first
            values = (*([MISSING] if MISSING in categories else []), *present)
            return cls(name, _few(name, tuple(map(values.index, categories))), values=values)
        return cls(name, _few(name, tuple(range(len(categories)))), values=tuple(categories), ordered=False)


def _few(name: str, places: tuple[int, ...]) -> tuple[int, ...]:
    if max(places, default=0) >= MOST_BINS:
        raise InputError(
            f"columns: {quoted(name)} has {len(places):,} values, more than {MOST_BINS}; group them in the schema, "
            f"give the column edges, or leave it out"
        )
    return places


@dataclass(frozen=True)
class Features:
    """The columns to predict from. A node's candidate splits are numbered column after column."""

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, schema: Schema, names: Sequence[str], numeric: Sequence[str], bins: int) -> Features:
        """Return the features of a schema. Raise InputError if they make too many candidate splits, or none.

        Args:
            schema: The schema.
            names: Columns to predict from.
            numeric: Columns of numbers.
            bins: Largest number of bins of a column of numbers.
        """
        features = cls(tuple(Column.of(name, schema.attributes[name], name in numeric, bins) for name in names))
        if not 1 <= len(features.candidates) <= MOST_SPLITS:
            raise InputError(
                f"columns: they make {len(features.candidates):,} splits to compare, not 1 to {MOST_SPLITS:,}; "
                f"choose other columns, other edges or other bins"
            )
        return features

    @cached_property
    def candidates(self) -> tuple[tuple[int, int], ...]:
        """Column index and bin of each candidate split."""
        return tuple((place, cut) for place, column in enumerate(self.columns) for cut in column.cuts)

    @property
    def size(self) -> int:
        """Number of bins of the column with the most bins."""
        return max(column.size for column in self.columns)

    def codes(self, columns: Sequence[Numbers]) -> Bins:
        """Return the bins of rows, uint8[rows, columns], from each column's category indices, int64[rows]."""
        tables = [np.array(column.bins, dtype=np.uint8) for column in self.columns]
        return np.stack([table.take(codes) for table, codes in zip(tables, columns, strict=True)], axis=1)

    def left(self, sums: Numbers) -> Numbers:
        """Return each candidate's sums over its first child, int64[nodes, candidates, 2].

        `sums` are the slopes and curvatures summed in each bin, int64[nodes, columns, bins, 2].
        """
        below = sums.cumsum(axis=2)
        parts = [
            below[:, column_index, :-1][:, : column.size - 1]
            if column.ordered
            else sums[:, column_index, list(column.cuts)]
            for column_index, column in enumerate(self.columns)
        ]
        return np.concatenate(parts, axis=1)

"""Rows in memory for the methods of disclosure control: columns of text, parsed as numbers on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.rules import number
from parties.base.text import instead, quoted
from parties.tables.delimited import MISSING
from protocols.arrays import Counts, Floats
from smc.errors import InputError

Column = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Rows:
    """Published rows.

    Attributes:
        columns: text of each row by column, object[rows], `?` for a missing value
        quasi: the quasi-identifiers
        weights: number of people for whom each row stands, float[rows]
        origins: index of each row in the source, int64[rows]
        place: name of the source, for messages
    """

    columns: Mapping[str, Column]
    quasi: tuple[str, ...]
    weights: Floats
    origins: Counts
    place: str

    def __len__(self) -> int:
        return len(self.origins)

    def column(self, name: str) -> Column:
        """Return a column; raise InputError if it is not published."""
        if name not in self.columns:
            raise InputError(f"there is no published column {quoted(name)}{instead(name, self.columns)}")
        return self.columns[name]

    def codes(self, names: Sequence[str]) -> Counts:
        """Return a code for each row, int64[rows], equal for rows that agree in some columns."""
        codes = np.zeros(len(self), dtype=np.int64)
        for name in names:
            values, coded = np.unique(self.column(name).astype(str), return_inverse=True)
            codes = np.unique(codes * len(values) + coded, return_inverse=True)[1]
        return codes

    def class_sizes(self, names: Sequence[str]) -> Counts:
        """Return the number of rows that agree with each row in some columns, int64[rows]."""
        codes = self.codes(names)
        return np.bincount(codes, minlength=1)[codes]

    def numbers(self, name: str) -> Floats:
        """Return a column as float[rows], NaN for a missing value; raise InputError if a value is not a number."""
        texts, codes = np.unique(self.column(name).astype(str), return_inverse=True)
        parsed = [np.nan if text == MISSING else number(text) for text in texts.tolist()]
        for text, value in zip(texts.tolist(), parsed, strict=True):
            if value is None or np.isinf(value):
                raise InputError(f"{self.place}, column {quoted(name)}: {quoted(text)} is not a number; correct it")
        return np.array(parsed, dtype=np.float64)[codes]

    def matrix(self, names: Sequence[str]) -> Floats:
        """Return columns as float[rows, columns]; raise InputError for missing values, which would stay unchanged."""
        columns = [self.numbers(name) for name in names]
        for name, column in zip(names, columns, strict=True):
            if lacking := int(np.isnan(column).sum()):
                rows = "1 row has" if lacking == 1 else f"{lacking} rows have"
                raise InputError(f"{self.place}, column {quoted(name)}: {rows} no value; fill them, or leave them out")
        return np.stack(columns, axis=1)

    def replaced(self, columns: Mapping[str, Column]) -> Rows:
        """Return the rows with some columns replaced or added."""
        return replace(self, columns={**self.columns, **columns})

    def taken(self, places: Counts, weights: Floats) -> Rows:
        """Return the selected rows with other weights.

        Args:
            places: indices of the rows
            weights: their weights, float[places]
        """
        columns = {name: column[places] for name, column in self.columns.items()}
        return replace(self, columns=columns, weights=weights, origins=self.origins[places])


def spelled(numbers: Floats) -> Column:
    """Return numbers as texts of twelve digits, `?` for NaN."""
    values, codes = np.unique(numbers, return_inverse=True)
    texts: list[Any] = [MISSING if np.isnan(x) else f"{x + 0.0:.12g}" for x in values.tolist()]
    return np.array(texts, dtype=object)[codes]

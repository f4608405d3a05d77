"""Naive Bayes classifier as a result: the learnt counts, and its predictions.

The probability of a class is proportional to its count, and within a class the probability of each value to its own
count. Both counts are raised by 1, so that nothing is impossible (Laplace's rule of succession). Columns are taken as
independent within each class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parties.base.text import printable
from parties.models.linear import LinearModel, Weights
from parties.tables.delimited import Columns


@dataclass(frozen=True)
class NaiveBayesModel:
    """Naive Bayes model: numbers of rows by class; and by column, value and class, in the order of `classes`."""

    target: str
    classes: Mapping[str, int]
    columns: Mapping[str, Mapping[str, Sequence[int]]]

    @classmethod
    def parse(cls, fields: object) -> NaiveBayesModel:
        """Return the model in a job's result, or in the content of its file. Raise ValueError if it is invalid."""
        content = fields if isinstance(fields, dict) else {}
        target, classes, columns = (content.get(name) for name in ("target", "classes", "columns"))
        if not isinstance(target, str) or not isinstance(columns, dict) or not columns:
            raise ValueError("it has no target, or no columns")
        if not isinstance(classes, dict) or not classes or not all(map(_is_count, classes.values())):
            raise ValueError("classes: must be an object with the number of rows of each class")
        for column, values in columns.items():
            tables = list(values.values()) if isinstance(values, dict) else []
            fits = [isinstance(counts, list) and len(counts) == len(classes) for counts in tables]
            if not tables or not all(fits) or not all(_is_count(count) for counts in tables for count in counts):
                raise ValueError(f"columns.{printable(column)}: must have for each value the rows of each class")
        return cls(target, classes, columns)

    @property
    def form(self) -> LinearModel:
        """The model as a linear one: scores add up the logarithms of a class's count and of its cells' chances."""
        first = tuple(math.log(count + 1) for count in self.classes.values())
        columns = {name: Weights(table) for name, table in self.logarithms.items()}
        return LinearModel(self.target, tuple(self.classes), first, columns)

    def predict(self, rows: Columns) -> list[str]:
        """Return the most probable class of each row, the first in a tie. Raise InputError for an unknown cell."""
        return self.form.predict(rows)

    @property
    def logarithms(self) -> dict[str, dict[str, list[float]]]:
        """Logarithms of the probabilities P(value | class), for every column and value, by class."""
        return {column: self._logarithms(column) for column in self.columns}

    def _logarithms(self, column: str) -> dict[str, list[float]]:
        values = self.columns[column]
        totals = [sum(counts) + len(values) for counts in zip(*values.values(), strict=True)]
        return {
            value: [math.log((count + 1) / total) for count, total in zip(counts, totals, strict=True)]
            for value, counts in values.items()
        }


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62

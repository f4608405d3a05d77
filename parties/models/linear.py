"""A linear model as a result: what each value adds to a row's score, and what it says of rows.

A row is of the second class if the intercept and what its cells add are above 0 in all; of a target of numbers that is
the number, moved to the nearer bound. A number outside the bounds
that are in the model counts as the nearer one; a missing one adds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from parties.base.text import did_you_mean, listed, printable, quoted
from parties.tables.delimited import MISSING, Columns
from smc.errors import InputError


@dataclass(frozen=True)
class Slope:
    """A column of numbers in the sum: weight (x - middle), for x within the bounds."""

    weight: float
    middle: float
    least: float
    greatest: float

    def added(self, x: float) -> float:
        """Return what this number adds."""
        return self.weight * (min(max(x, self.least), self.greatest) - self.middle)


Column: TypeAlias = Slope | Mapping[str, float]  # of categories: what each adds


@dataclass(frozen=True)
class LinearModel:
    """What a row's score is made of, and the two classes, the second of which a score above 0 stands for.

    Or, with `bounds` of the target, no classes: then a score is a number.
    """

    target: str
    classes: tuple[str, str] | None
    intercept: float
    columns: Mapping[str, Column]
    bounds: tuple[float, float] | None = None

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> LinearModel:
        """Check the result of a job, or the content of a file of it. ValueError names what is wrong."""
        target, classes, intercept, columns = (fields.get(n) for n in ("target", "classes", "intercept", "columns"))
        if not isinstance(target, str) or not isinstance(columns, dict):
            raise ValueError("it has no target, or no columns")
        bounds = [fields.get(name) for name in ("least", "greatest")]
        if classes is None:
            if not all(map(_is_number, bounds)):
                raise ValueError("it has neither classes nor bounds")
        elif not isinstance(classes, list) or len(classes) != 2 or not all(isinstance(name, str) for name in classes):
            raise ValueError("classes: must be two names")
        if not _is_number(intercept):
            raise ValueError("intercept: must be a number")
        parsed = {name: _column(f"columns.{printable(str(name))}", column) for name, column in columns.items()}
        start = float(intercept)  # type: ignore[arg-type]
        if classes is None:
            return cls(target, None, start, parsed, (float(bounds[0]), float(bounds[1])))  # type: ignore[arg-type]
        return cls(target, (classes[0], classes[1]), start, parsed)

    @property
    def numeric(self) -> tuple[str, ...]:
        """The columns whose cells are numbers."""
        return tuple(name for name, column in self.columns.items() if isinstance(column, Slope))

    def predict(self, rows: Columns) -> list[str]:
        """Return the class of every row, or its number; only columns of the model are needed.

        `InputError` if a column is missing, or names the line of a value that the model does not know.
        """
        scores = self.scores(rows)
        if self.classes is not None:
            return [self.classes[score > 0] for score in scores]
        assert self.bounds is not None
        least, greatest = self.bounds
        return [f"{min(max(score, least), greatest):.6g}" for score in scores]

    def scores(self, rows: Columns) -> list[float]:
        """Return the score of every row; see `predict`."""
        rows.require(list(self.columns))
        return [self.score(rows, row) for row in range(len(rows.lines))]

    def score(self, rows: Columns, row: int) -> float:
        """Return the intercept and what the cells of a row add."""
        return self.intercept + sum(self._added(rows, row, name, column) for name, column in self.columns.items())

    def _added(self, rows: Columns, row: int, name: str, column: Column) -> float:
        text = rows.values[name][row]
        if isinstance(column, Slope):
            return 0.0 if text == MISSING else column.added(_number(text, rows.where(row, name)))
        if text not in column:
            hint, known = did_you_mean(text, column), listed(column)
            where = rows.where(row, name)
            raise InputError(f"{where}: the model does not know {quoted(text)}{hint}; known: {known}")
        return column[text]


def score(predicted: Sequence[str], actual: Sequence[str]) -> dict[str, float | int] | None:
    """Return the root of the mean square error, R2 and the number of rows; None if no row's number is known."""
    pairs = [(float(p), float(a)) for p, a in zip(predicted, actual, strict=True) if _is_text_of_number(a)]
    if not pairs:
        return None
    mean = math.fsum(a for _, a in pairs) / len(pairs)
    off, spread = math.fsum((p - a) ** 2 for p, a in pairs), math.fsum((a - mean) ** 2 for _, a in pairs)
    return {"rmse": math.sqrt(off / len(pairs)), "r2": 1 - off / spread if spread else 0.0, "rows": len(pairs)}


def _is_text_of_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _column(where: str, fields: Any) -> Column:
    known = fields if isinstance(fields, dict) else {}
    weights = known.get("weights")
    if isinstance(weights, dict) and weights and all(map(_is_number, weights.values())):
        return {str(value): float(weight) for value, weight in weights.items()}
    numbers = [known.get(name) for name in ("weight", "middle", "least", "greatest")]
    if not all(map(_is_number, numbers)):
        raise ValueError(f"{where}: must have a weight for each value, or weight, middle, least and greatest")
    return Slope(*map(float, numbers))  # type: ignore[arg-type]


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where}: {quoted(text)} is no number, and the model takes this column as numbers")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

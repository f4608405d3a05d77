"""Linear model: each cell of a row adds to its scores.

A number outside the model's bounds counts as the nearer bound; a missing one adds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.models.scored import Margins, Scored, columns_of, head, is_number, number, unknown_value
from parties.tables.delimited import MISSING


@dataclass(frozen=True)
class Slope:
    """Numeric column of a linear model: it adds weight (x - middle) to the score, with x limited to the bounds."""

    weight: float
    middle: float
    least: float
    greatest: float

    @property
    def values(self) -> Mapping[str, Any]:
        """Empty: each cell is a number."""
        return {}

    def added(self, x: float) -> float:
        """Return the term that a number adds to the score."""
        return self.weight * (min(max(x, self.least), self.greatest) - self.middle)

    def read(self, text: str) -> Sequence[float]:
        """Return the term that a cell adds to the score. Raise ValueError if the cell is not a number."""
        return (0.0 if text == MISSING else self.added(number(text)),)


@dataclass(frozen=True)
class Weights:
    """Categorical column of a linear model: the term that each category adds to every score."""

    values: Mapping[str, Sequence[float]]

    def read(self, text: str) -> Sequence[float]:
        """Return the terms that a cell adds to the scores. Raise ValueError if the model does not know the cell."""
        if text not in self.values:
            raise unknown_value(text, self.values)
        return self.values[text]


@dataclass(frozen=True)
class Exposure:
    """Column of the time at risk: it adds its logarithm to the score, within the bounds."""

    least: float
    greatest: float

    @property
    def values(self) -> Mapping[str, Any]:
        """Empty: each cell is a number."""
        return {}

    def read(self, text: str) -> Sequence[float]:
        """Return the term that a cell adds to the score. Raise ValueError if the cell is not a number."""
        return (0.0 if text == MISSING else math.log(min(max(number(text), self.least), self.greatest)),)


Column: TypeAlias = Slope | Weights | Exposure


@dataclass(frozen=True)
class LinearModel(Scored):
    """Linear model: each score of a row is a constant plus one addend for each column.

    `classes` is None for a model of a number, which `bounds` limit. With `log` the score is the number's logarithm.
    """

    target: str
    classes: tuple[str, ...] | None
    intercepts: tuple[float, ...]
    columns: Mapping[str, Column]
    bounds: tuple[float, float] | None = None
    log: bool = False

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> LinearModel:
        """Return the model in a job's result, or in the content of its file. Raise ValueError if it is invalid."""
        fields = content(fields)
        if "intercept" not in fields and isinstance(fields.get("reason"), str):
            raise ValueError(f"it has no coefficients: {fields['reason']}")
        target_fields = head(fields, only_two=True)
        if not is_number(fields.get("intercept")):
            raise ValueError("intercept: must be a number")
        columns, log = columns_of(fields, _column), fields.get("log") is True and "classes" not in fields
        return cls(intercepts=(float(fields["intercept"]),), columns=columns, log=log, **target_fields)

    @property
    @override
    def width(self) -> int:
        return len(self.intercepts)

    @override
    def margins_of(self, cells: Mapping[str, NDArray[Any]], rows: int) -> Margins:
        margins = np.tile(np.array(self.intercepts), (rows, 1))
        for name in self.columns:
            margins += cells[name].reshape(margins.shape)
        return margins.T

    @override
    def numbers(self, margins: Margins) -> Margins:
        return super().numbers(np.exp(np.minimum(margins, 700)) if self.log else margins)


def content(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the model in a file's content: a regression with intervals has it as one field."""
    model = fields.get("model")
    return model if isinstance(model, dict) else fields


def score(predicted: Sequence[str], actual: Sequence[str]) -> dict[str, float | int] | None:
    """Return the root of the mean square error, R2 and the number of rows; None if no row has a number.

    Args:
        predicted: Predicted numbers, as texts.
        actual: Numbers of the target column, as texts; other texts are left out.
    """
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
    if isinstance(weights, dict) and weights and all(map(is_number, weights.values())):
        return Weights({str(value): (float(weight),) for value, weight in weights.items()})
    numbers: list[Any] = [known.get(name) for name in ("weight", "middle", "least", "greatest")]
    if known.get("exposure") is True and all(map(is_number, numbers[2:])) and numbers[2] > 0:
        return Exposure(*map(float, numbers[2:]))
    if not all(map(is_number, numbers)):
        raise ValueError(f"{where}: must have a weight for each value, or weight, middle, least and greatest")
    return Slope(*map(float, numbers))

"""Base class of models that give a row scores, which stand for a class or a number."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.base.text import did_you_mean, listed, printable, quoted
from parties.tables.delimited import Columns
from parties.tables.texts import PIECE, TextColumn
from smc.errors import InputError

Margins = NDArray[np.float64]


class Scored(ABC):
    """A model whose scores decide a row's class: the largest score wins; with one score, above 0 means the second
    class.

    With `bounds` of the target there are no classes: the number is the score, or e^score in a linear model with `log`,
    moved to the nearer bound.
    """

    target: str
    classes: tuple[str, ...] | None
    columns: Mapping[str, Any]  # each with its known `values`, and `read` for a cell
    bounds: tuple[float, float] | None

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of scores that the model gives a row."""

    @abstractmethod
    def margins_of(self, cells: Mapping[str, NDArray[Any]], rows: int) -> Margins:
        """Return the scores, float64[scores, rows].

        Args:
            cells: Results of each column's `read` for all rows.
            rows: Number of rows.
        """

    @property
    def numeric(self) -> tuple[str, ...]:
        """Columns whose cells are read as numbers."""
        return tuple(name for name, column in self.columns.items() if not column.values)

    def margins(self, rows: Columns) -> Margins:
        """Return the scores of all rows, float64[scores, rows]; only the model's columns are needed.

        Raise InputError if a column is missing, or for the first line with a value that the model does not know.
        """
        rows.require(list(self.columns))
        cells, unknown = {}, []
        for place, (name, column) in enumerate(self.columns.items()):
            texts, read_cells = TextColumn.of(rows.values[name]), list[Any]()
            try:
                for text in texts.texts:
                    read_cells.append(column.read(text))
            except ValueError as error:
                unknown.append((texts.index(text), place, f"{rows.where(texts.index(text), name)}: {error}"))
            else:
                cells[name] = np.array(read_cells), texts.codes
        if unknown:
            raise InputError(min(unknown)[-1])
        parts, number = [], len(rows.lines)
        for start in range(0, max(1, number), PIECE):
            end = min(start + PIECE, number)
            parts.append(self.margins_of({n: values[c[start:end]] for n, (values, c) in cells.items()}, end - start))
        return np.concatenate(parts, axis=1)

    def predict(self, rows: Columns) -> list[str]:
        """Return the class or number of every row. Raise InputError as `margins` does."""
        margins = self.margins(rows)
        if self.bounds is not None:
            return [f"{number:.6g}" for number in self.numbers(margins).tolist()]
        assert self.classes is not None
        is_second = len(margins) == 1 and len(self.classes) == 2
        best = (margins[0] > 0).astype(np.int64) if is_second else margins.argmax(axis=0)
        return [self.classes[place] for place in best.tolist()]

    def numbers(self, margins: Margins) -> Margins:
        """Return the predicted number of each row, float64[rows], within the bounds."""
        assert self.bounds is not None
        return np.clip(margins[0], *self.bounds)

    def scores(self, rows: Columns) -> list[float] | None:
        """Return the score of every row; None if the model gives a row several scores."""
        return self.margins(rows)[0].tolist() if self.width == 1 else None

    def chances(self, margins: Margins) -> NDArray[np.float64]:
        """Return the predicted probability of every class for each row, float64[rows, classes]."""
        if len(margins) == 1:
            margins = np.concatenate([np.zeros_like(margins), margins])
        margins = np.clip(margins, -1e300, 1e300)  # so that no difference of two is undefined
        powers = np.exp(margins - margins.max(axis=0))
        chances: NDArray[np.float64] = (powers / powers.sum(axis=0)).T
        return chances


def unknown_value(text: str, known: Mapping[str, Any]) -> ValueError:
    """Return the error for a text that the model does not know.

    Args:
        text: The unknown text.
        known: Values of the column in the model.
    """
    return ValueError(f"the model does not know {quoted(text)}{did_you_mean(text, known)}; known: {listed(known)}")


def number(text: str) -> float:
    """Return the number in a cell. Raise ValueError if it is not finite."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{quoted(text)} is not a number; the model reads this column as numbers")
    return value


def is_number(value: Any) -> bool:
    """Return whether a JSON value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def head(fields: Mapping[str, Any], *, only_two: bool = False) -> dict[str, Any]:
    """Return the target with its classes, or with its bounds. Raise ValueError if they are invalid.

    Args:
        fields: Content of the model file.
        only_two: Whether a classifier must have exactly two classes.
    """
    target, classes, columns = (fields.get(name) for name in ("target", "classes", "columns"))
    if not isinstance(target, str) or not isinstance(columns, dict):
        raise ValueError("it has no target, or no columns")
    if classes is None:
        bounds: list[Any] = [fields.get(name) for name in ("least", "greatest")]
        if not all(map(is_number, bounds)):
            raise ValueError("it has neither classes nor bounds")
        return {"target": target, "classes": None, "bounds": (float(bounds[0]), float(bounds[1]))}
    is_list = isinstance(classes, list) and all(isinstance(name, str) for name in classes)
    if not is_list or len(classes) < 2 or (only_two and len(classes) > 2):
        raise ValueError(f"classes: must be two names{'' if only_two else ' or more'}")
    return {"target": target, "classes": tuple(classes), "bounds": None}


def columns_of(fields: Mapping[str, Any], parse: Callable[[str, Any], Any]) -> dict[str, Any]:
    """Return the parsed columns of a model, by name.

    Args:
        fields: Content of the model's file.
        parse: Parser of a column's path in the file and its content.
    """
    return {name: parse(f"columns.{printable(str(name))}", column) for name, column in fields["columns"].items()}

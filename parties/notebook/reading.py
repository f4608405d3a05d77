"""Rows of a notebook: the columns of X, the classes, and the schema that lists their categories."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from parties.base.settings import validated
from parties.notebook import binning
from parties.notebook.binning import Bins, Edges
from parties.tables import categories
from parties.tables.categories import Column
from parties.tables.delimited import MISSING
from parties.tables.schema import MAX_PROPOSED_VALUES, Schema
from parties.tables.types import Domain, IntegerType, RealType
from smc.errors import InputError

NUMBERS = (int, float, np.integer, np.floating)
OWN_ROWS, OWN_RANGES = "own rows", 5  # the schema taken from your rows, and the ranges of a column of its numbers
TARGET = "class"  # default name of the target


def own_domain(column: Column) -> tuple[str, ...]:
    """Return a column's values by your own rows: its categories; of numbers each whole one if few, or equal ranges."""
    kinds = set(map(type, column.cells)) - {type(None)}
    if not kinds or not all(issubclass(kind, NUMBERS) and kind is not bool for kind in kinds):
        return column.domain()
    numbers = [float(cell) for cell in column.cells if cell is not None and not math.isnan(cell)]
    if not numbers:
        return column.domain()
    low, high = min(numbers), max(numbers)
    high = high if low < high else low + max(1.0, abs(low))
    missing = len(numbers) < len(column.cells)
    if high - low < MAX_PROPOSED_VALUES and all(number.is_integer() for number in numbers):
        return Domain(IntegerType(low=int(low), high=int(high), missing=missing))
    unit = Decimal(10) ** (math.floor(math.log10(high - low)) - 2)  # bounds and edges have three digits or four
    least, count = math.floor(low / float(unit)), math.ceil(high / float(unit)) - math.floor(low / float(unit))
    edges = [(least + count * part // OWN_RANGES) * unit for part in range(OWN_RANGES + 1)]
    fields = {"low": edges[0], "high": edges[-1], "edges": edges[1:-1], "missing": missing}
    return Domain(validated(RealType, fields))


class Reading(BaseEstimator):  # type: ignore[misc]
    """Mixin of classifiers that reads rows in memory."""

    schema: Schema | Path | str | None
    target: str | None
    bins: Bins
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    edges_: Mapping[str, Edges]  # of the columns that are binned
    _by_name: bool  # whether columns of a frame are found by their names
    _order: tuple[str, ...]  # columns of X that `fit` has read

    def _read(self, X: Any, y: Any, schema: Schema | None) -> tuple[Schema, str, list[Column], NDArray[Any]]:
        """Return the schema, the target's name, the attributes' columns and the classes of rows in memory."""
        table = categories.frame(X)
        self._check_target(table, y, schema)
        target = self._target_name(y) if schema is None else schema.choose_target(self.target)
        self._by_name = schema is not None or y is None
        if y is None:
            assert table is not None
            y = categories.select(table, [target]).get_column(target).to_numpy()
            X = table.drop(target).to_native()
        labels = column_or_1d(y, warn=True)
        columns, rows = self._columns(X, None if schema is None else schema.features(target), reset=True)
        check_consistent_length(labels, range(rows))
        if self.bins is not None and not isinstance(self.bins, Mapping):
            self.edges_ = binning.own_edges(columns, int(self.bins))
        columns = self._binned(columns)
        binning.refuse_measurements(columns, {} if schema is None else schema.attributes)
        if schema is not None:
            return schema, target, columns, labels
        if not rows:
            raise InputError("there are no rows to learn from; give at least one")
        check_classification_targets(labels)
        attributes = {column.name: self._domain(column) for column in columns}
        if target in attributes:
            raise InputError(f"X has a column {target!r} beside y: drop it, or give another target=NAME")
        classes = tuple(dict.fromkeys(map(categories.spell, np.unique(labels).tolist())))
        return Schema({**attributes, target: classes}, target), target, columns, labels

    def _check_target(self, table: categories.Frame | None, y: Any, schema: Schema | None) -> None:
        """Raise ValueError without a target: neither `y`, nor a column of a frame that a parameter or schema names."""
        if y is None and (table is None or (schema is None and self.target is None)):
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None (or a frame with target=NAME)")

    def _binned(self, columns: list[Column]) -> list[Column]:
        return [
            binning.binned(column, self.edges_[column.name]) if column.name in self.edges_ else column
            for column in columns
        ]

    def _domain(self, column: Column) -> tuple[str, ...]:
        """Return the categories of a column of your rows; a binned column has all bins, with or without rows."""
        if column.name not in self.edges_:
            return column.domain()
        missing = tuple(text for text in column.domain() if text == MISSING)
        return (*binning.bin_labels(self.edges_[column.name]), *missing)

    def _target_name(self, y: Any) -> str:
        name = getattr(y, "name", None)
        return self.target or (name if isinstance(name, str) and name else TARGET)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True  # a missing value is a category
        return tags

    def _columns(
        self, X: Any, names: Sequence[str] | None, reset: bool, wanted: Container[str] | None = None
    ) -> tuple[list[Column], int]:
        """Return the columns of X under these names, or only the `wanted` ones, and the number of rows.

        With a public schema, or if `fit` got X and y in one frame, a frame's columns are selected by name. Otherwise a
        frame must have the columns that it had in `fit`, in their order, as usual in scikit-learn. `reset` stores names
        and number of the columns.
        """
        table = categories.frame(X)
        if table is None:
            least = 0 if names is not None else 1
            cells = validate_data(
                self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=least
            )
            width = cells.shape[1]
            if names is not None and len(names) != width:
                raise InputError(f"X has {width} columns; give {len(names)}, one for each attribute of the schema")
            names = names or self._column_names()
            return categories.array_columns(cells, names, names if wanted is None else wanted), len(cells)
        rows = len(table)
        if names is not None and self._by_name:
            table = categories.select(table, names)
        validate_data(self, table.to_native(), reset=reset, skip_check_array=True)
        names = names or self._column_names()
        return categories.frame_columns(table, names, names if wanted is None else wanted), rows

    def _column_names(self) -> list[str]:
        """Return the columns' names in `fit`; for arrays x0, x1, ... as in scikit-learn."""
        named = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(self.n_features_in_)] if named is None else list(named)

    def _take_names(self, names: Sequence[str]) -> None:
        self._by_name, self._order = True, tuple(names)
        self.feature_names_in_, self.n_features_in_ = np.array(names, dtype=object), len(names)

"""Features from a schema, and a party's distinct rows as features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from parties.base.text import quoted
from parties.jobs.release import values
from parties.jobs.settings import check_names
from parties.tables.schema import Schema
from protocols.arrays import Numbers
from protocols.counts import Indices
from protocols.counts import Rows as Source
from protocols.regression.features import Column, Features
from protocols.regression.moments import Moments
from protocols.regression.rows import RowStream, TrainingRows
from smc.errors import InputError

MOST_FEATURES = 10_000


def features_of(
    schema: Schema, target: str, columns: Sequence[str] | None, numeric: Sequence[str] | None, classifies: bool = True
) -> tuple[Features, Schema]:
    """Return the features of the columns in the schema's order, and the schema of these columns and the target.

    Args:
        schema: The full schema.
        target: Name of the target.
        columns: Columns to predict from; None for all but the target.
        numeric: Columns that are read as numbers.
        classifies: Whether the target must have two classes.

    Raises:
        InputError: A column is wrong, there are too many features, or the target does not have two classes.
    """
    predictors = schema.features(target)
    for key, names in (("columns", columns or ()), ("numeric", numeric or ())):
        if target in names:
            raise InputError(f"{key}: {quoted(target)} is the target; name other columns")
        check_names(key, names, predictors)
    chosen = predictors if columns is None else tuple(name for name in predictors if name in columns)
    if not chosen:
        raise InputError("columns: name at least one besides the target")
    for name in numeric or ():
        if name not in chosen:
            raise InputError(
                f"numeric: {quoted(name)} is not one of the columns to predict from; name it in columns too"
            )
    if classifies:
        classes_of(schema, target)
    features = Features(tuple(_column(schema, name, name in (numeric or ())) for name in chosen))
    if features.number > MOST_FEATURES:
        raise InputError(
            f"columns: they make {features.number:,} features, more than {MOST_FEATURES:,}; name fewer columns "
            f"(--columns)"
        )
    return features, Schema(schema.only([*chosen, target]).attributes)


def classes_of(schema: Schema, target: str) -> tuple[str, str]:
    """Return the two classes, the negative one first. Raise InputError if there are not two.

    Args:
        schema: The agreed schema.
        target: Name of the class column.
    """
    classes = schema.attributes[target]
    if len(classes) != 2:
        raise InputError(
            f"target: {quoted(target)} has {len(classes)} classes, but a linear classifier needs two; "
            f"choose two with where"
        )
    return classes[0], classes[1]


def rows_of(source: Source, features: Features) -> TrainingRows:
    """Return a party's distinct rows with targets and counts, in an order that depends only on these values.

    Args:
        source: Source with the features' columns in their order.
        features: The features.
    """
    lines = source.distinct()
    return _rows(lines[np.lexsort(lines.T)], features)


def target_of(schema: Schema, target: str) -> tuple[Column, tuple[bool, ...]]:
    """Return a numeric target, and whether each of its values is a number.

    Raise InputError unless all values are numbers or missing.

    Args:
        schema: The agreed schema.
        target: Name of the column of numbers.
    """
    column = _column(schema, target, True, "target")
    numbers = values.read(target, column.values, "a number", "target").numbers
    return column, tuple(number is not None for number in numbers)


@dataclass(frozen=True, eq=False)
class OwnMoments:
    """Moments of a party's rows in units of 2^-28, without noise, and the number of rows."""

    sums: Numbers
    total: int


def moments_of(source: Source, moments: Moments) -> OwnMoments:
    """Return the second moments of a party's rows.

    Args:
        source: The rows: the features' columns in order, then the target.
        moments: Features, target and units of the moments.
    """
    return OwnMoments(*moments.sums(source.batches()))


def stream_of(source: Source, features: Features) -> RowStream:
    """Return a party's rows as feature vectors, in pieces.

    Args:
        source: The rows: the features' columns in order, then the target.
        features: Map from values to features.
    """
    total = sum(int(lines[:, -1].sum()) for lines in source.batches())
    return RowStream(features, lambda: (_rows(lines, features) for lines in source.batches()), total)


def _rows(lines: Indices, features: Features) -> TrainingRows:
    assert lines.shape[1] == len(features.columns) + 2
    signs = np.where(lines[:, -2] == 1, 1.0, -1.0)
    return TrainingRows(features, lines[:, :-2], signs, lines[:, -1])


def _column(schema: Schema, name: str, numeric: bool, key: str = "numeric") -> Column:
    categories = schema.attributes[name]
    if not numeric:
        return Column(name, categories)
    numbers = values.read(name, categories, "a number", key)
    middle, half = numbers.middle, (numbers.greatest - numbers.least) / 2 or Fraction(1)
    scaled = tuple(Fraction(0) if number is None else (number - middle) / half for number in numbers.numbers)
    return Column(name, categories, scaled, middle, half)

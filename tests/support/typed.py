"""A table of typed columns, mapped by renaming, value maps and ranges, and what its rows mean, said in plain Python."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow

from parties.sources import ColumnSettings
from parties.tables.schema import Schema
from protocols.counts import RowCounts

SCHEMA = Schema(
    {
        "code": ("0", "1", "-7", "?"),  # whole numbers
        "sex": ("male", "female", "?"),  # whole numbers that are mapped
        "yes": ("true", "false", "?"),
        "half": ("0", "2", "0.5", "?"),  # floating-point, whole or not
        "price": ("1", "2", "other", "?"),  # decimals
        "day": ("2024-02-29", "1969-12-31", "?"),
        "age": ("child", "?", "adult", "old"),  # whole numbers in ranges; 999 is a code
        "bmi": ("low", "normal", "high", "?"),  # floating-point in ranges
        "cost": ("cheap", "dear", "?"),  # decimals in ranges
        "text": ("small", "large", "unknown"),  # numbers as text in ranges; missing ones belong to the last range
        "class": ("a", "b"),
    },
    "class",
)
TARGET = "class"
COLUMNS = {
    "sex": ColumnSettings(column="Geschlecht", values={"1": "male", "2": "female", "3": "?"}),
    "price": ColumnSettings(values={"9": "other"}),
    "age": ColumnSettings(edges=(18, 65), values={"999": "?"}),
    "bmi": ColumnSettings(edges=(18.5, 25)),
    "cost": ColumnSettings(edges=(2.5,)),
    "text": ColumnSettings(edges=(10, 20.5), missing="unknown"),
}
TYPES = {
    "code": pyarrow.int64(),
    "Geschlecht": pyarrow.int16(),
    "yes": pyarrow.bool_(),
    "half": pyarrow.float64(),
    "price": pyarrow.decimal128(10, 2),
    "day": pyarrow.date32(),
    "age": pyarrow.int32(),
    "bmi": pyarrow.float64(),
    "cost": pyarrow.decimal128(10, 2),
    "text": pyarrow.string(),
    "class": pyarrow.string(),
}
# Values that each column may hold: every category, and the edges of ranges from both sides.
POOLS: dict[str, list[Any]] = {
    "code": [0, 1, -7, None],
    "Geschlecht": [1, 2, 3, None],
    "yes": [True, False, None],
    "half": [0.0, -0.0, 2.0, 0.5, None, math.nan],
    "price": [Decimal("1.00"), Decimal("2.00"), Decimal("9.00"), None],
    "day": [datetime.date(2024, 2, 29), datetime.date(1969, 12, 31), None],
    "age": [-1, 0, 17, 18, 64, 65, 2**31 - 1, 999, None],
    "bmi": [-1e300, 18.4999, 18.5, 24.9999, 25.0, 1e300, math.inf, -math.inf, math.nan, None],
    "cost": [Decimal("2.49"), Decimal("2.50"), Decimal("-1.00"), None],
    "text": ["9.99", " 10 ", "+10.0", "1e1", "20.49", "20.5", ".5", "-3", "1E+2", "", "  ", "?", None],
    "class": ["a", "b", " b\t"],
}
# What each means, pool by pool.
MEANINGS: dict[str, list[int]] = {
    "code": [0, 1, 2, 3],
    "Geschlecht": [0, 1, 2, 2],
    "yes": [0, 1, 2],
    "half": [0, 0, 1, 2, 3, 3],
    "price": [0, 1, 2, 3],
    "day": [0, 1, 2],
    "age": [0, 0, 0, 2, 2, 3, 3, 1, 1],
    "bmi": [0, 0, 1, 1, 2, 2, 2, 0, 3, 3],
    "cost": [0, 1, 0, 2],
    "text": [0, 1, 1, 1, 1, 2, 0, 0, 2, 2, 2, 2, 2],
    "class": [0, 1, 1],
}


def table(choices: list[list[int]]) -> pyarrow.Table:
    """Rows given as places in the pools."""
    columns = (
        zip(POOLS.items(), zip(*choices, strict=True), strict=True) if choices else ((p, ()) for p in POOLS.items())
    )
    return pyarrow.table(
        {name: pyarrow.array([pool[i] for i in places], TYPES[name]) for (name, pool), places in columns}
    )


def counts(choices: list[list[int]]) -> RowCounts:
    """The counts of those rows by their meanings."""
    meanings = list(MEANINGS.values())
    rows = np.array([[meanings[k][i] for k, i in enumerate(row)] for row in choices], dtype=int).reshape(
        -1, len(meanings)
    )
    sizes = [len(values) for values in SCHEMA.attributes.values()]
    return RowCounts(sizes[:-1], sizes[-1], rows[:, :-1], rows[:, -1])


def every_value() -> list[list[int]]:
    """Rows in which every value of every pool occurs."""
    longest = max(map(len, POOLS.values()))
    return [[(i + k) % len(pool) for k, pool in enumerate(POOLS.values())] for i in range(2 * longest)]

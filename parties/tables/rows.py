"""A party's rows as indices into the value lists of the schema, checked before any connection is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from parties.base.text import did_you_mean, listed, quoted
from parties.tables.delimited import MISSING, Columns
from parties.tables.spellings import readings
from parties.tables.texts import TextColumn
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.tables.schema import Schema


@dataclass(frozen=True, eq=False)
class Table:
    """One party's rows as indices into the value lists of the schema.

    `rows` is int32[rows, attributes]: all columns but the target, in schema order; a column is contiguous in memory.
    `classes`, int32[rows], holds the indices of the target's values. The type is signed and wide, so that index
    arithmetic cannot wrap. `ignored` names the columns of the file that the schema lacks.
    """

    rows: NDArray[np.int32]
    classes: NDArray[np.int32]
    ignored: tuple[str, ...] = ()


def encoded(table: Columns, schema: Schema, target: str) -> Table:
    """Return the rows of a file as category numbers. A file without rows is allowed: that party only learns the result.

    Args:
        table: The cells of the file.
        schema: The public schema.
        target: Name of the class column.

    Raises:
        InputError: A column is missing, or a value is outside the schema; the message then names line and column.
    """
    table.require(list(schema.attributes))
    features = schema.features(target)
    rows = np.empty((len(table.lines), len(features)), dtype=np.int32, order="F")
    for position, name in enumerate(features):
        rows[:, position] = _indices(table, name, schema.attributes[name])
    ignored = tuple(name for name in table.values if name not in schema.attributes)
    return Table(rows, _indices(table, target, schema.attributes[target]), ignored)


def _indices(table: Columns, name: str, values: Sequence[str]) -> NDArray[np.int32]:
    index = {value: i for i, value in enumerate(values)}
    index |= {text: index[value] for text, value in readings(values).items()}
    column = TextColumn.of(table.values[name])
    codes = np.array([index.get(text, -1) for text in column.texts], dtype=np.int32)[column.codes]
    if not len(unknown := np.flatnonzero(codes < 0)):
        return codes
    row = int(unknown[0])
    where = table.where(row, name)
    if column[row] == MISSING:
        raise InputError(f"{where}: no value, and the schema does not list '?' (missing) for this attribute")
    hint = did_you_mean(column[row], values)
    allowed = listed(values)
    raise InputError(f"{where}: {quoted(column[row])} is not in the schema{hint}; allowed: {allowed}")
